"""A stand-in for the speaker encoder."""

import numpy as np


class Spectrum:
    """An encoder that sees the spectrum of a voice, enough to tell synthetic speakers apart, and counts recordings."""

    name, sample_rate, dim, fingerprint = "spectrum", 16_000, 24, "spectrum:1"

    def __init__(self):
        self.calls = 0

    def embed(self, waves):
        self.calls += len(waves)
        power = [np.abs(np.fft.rfft(wave, 4096))[:480] ** 2 for wave in waves]
        bands = [[part.sum() for part in np.array_split(each, self.dim)] for each in power]
        return np.log(np.array(bands) + 1e-6).astype(np.float32)
