"""Networks: content features to codes, codes and an excitation to the waveform of one voice."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

FEATURES, CODE, WIDTH, DEPTH = 288, 64, 320, 8
WINDOW, STEP, PER_CODE = 512, 128, 3
RATE = 16_000
BINS = WINDOW // 2 + 1


class Content(nn.Module):
    """Reduces features of the content encoder to few numbers per frame, which a codebook then quantises."""

    def __init__(self, mean: Tensor, deviation: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)
        self.wide = nn.Conv1d(FEATURES, 256, 5, padding=2)
        self.layers = nn.ModuleList(nn.Conv1d(256, 256, 3, padding=gap, dilation=gap) for gap in (1, 2, 4, 8, 16))
        self.narrow = nn.Conv1d(256, CODE, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return vectors (sequences x frames x numbers) of features in the same layout."""
        x = ((features - self.mean) / self.deviation).transpose(1, 2)
        x = functional.gelu(self.wide(x), approximate="tanh")
        for layer in self.layers:
            x = x + functional.gelu(layer(x), approximate="tanh")
        return self.narrow(x).transpose(1, 2)


class Codebook(nn.Module):
    """Vectors that follow the averages of what is assigned to them; codes that nothing uses start anew."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("vectors", torch.zeros(size, CODE))
        self.register_buffer("counts", torch.ones(size))
        self.register_buffer("sums", torch.zeros(size, CODE))

    def start(self, z: Tensor, rounds: int = 15) -> None:
        """Begin with k-means of a sample."""
        self.vectors.copy_(z[torch.randperm(len(z), device=z.device)[: len(self.vectors)]])
        for _ in range(rounds):
            self.counts.zero_()
            self.sums.zero_()
            self.follow(z, self.assign(z), 0.0)
        self.counts.clamp_(min=1.0)

    def assign(self, z: Tensor) -> Tensor:
        """Return the nearest code of each vector."""
        distance = self.vectors.square().sum(1) - 2.0 * z @ self.vectors.T
        return distance.argmin(1)

    def follow(self, z: Tensor, codes: Tensor, decay: float) -> None:
        """Move each code towards the mean of its vectors."""
        count = torch.bincount(codes, minlength=len(self.vectors)).float()
        total = torch.zeros_like(self.sums).index_add_(0, codes, z)
        self.counts.mul_(decay).add_(count, alpha=1 - decay)
        self.sums.mul_(decay).add_(total, alpha=1 - decay)
        self.vectors.copy_(
            torch.where(self.counts[:, None] > 1e-4, self.sums / self.counts[:, None].clamp(min=1e-4), self.vectors)
        )
        unused = self.counts < 0.01 * len(z) / len(self.vectors) / 10
        replacement = z[torch.randint(len(z), (len(self.vectors),), device=z.device)]
        self.vectors.copy_(torch.where(unused[:, None], replacement, self.vectors))
        self.counts.copy_(torch.where(unused, torch.full_like(self.counts, len(z) / len(self.vectors)), self.counts))
        self.sums.copy_(torch.where(unused[:, None], replacement * self.counts[:, None], self.sums))


class Block(nn.Module):
    """A convolution over time for each channel, then a network over channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.over_time = nn.Conv1d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 3 * width)
        self.down = nn.Linear(3 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 1.0 / DEPTH))

    def forward(self, x: Tensor) -> Tensor:
        """Add what the block computes."""
        y = self.norm(self.over_time(x).transpose(1, 2))
        y = self.down(functional.gelu(self.up(y), approximate="tanh")) * self.scale
        return x + y.transpose(1, 2)


class Decoder(nn.Module):
    """Code vectors and the spectrum of an excitation to logarithmic magnitudes and phases."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Conv1d(CODE, WIDTH, 7, padding=3)
        self.excite = nn.Conv1d(2 * BINS, WIDTH, 3, padding=1)
        self.blocks = nn.ModuleList(Block(WIDTH) for _ in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.leave = nn.Linear(WIDTH, 2 * BINS)

    def forward(self, vectors: Tensor, excitation: Tensor) -> Tensor:
        """Return sequences x frames x 514, of sequences x codes x 64 and an excitation as the result is."""
        x = functional.gelu(self.enter(vectors.transpose(1, 2)), approximate="tanh")
        x = x.repeat_interleave(PER_CODE, dim=2) + self.excite(excitation.transpose(1, 2))
        for block in self.blocks:
            x = block(x)
        return self.leave(self.norm(x.transpose(1, 2)))


def stft(wave: Tensor) -> Tensor:
    """Return real, then imaginary parts (sequences x frames x 514); frame k is centred on sample 128 k + 64."""
    window = torch.hann_window(WINDOW, device=wave.device)
    padded = functional.pad(wave, (WINDOW // 2 - STEP // 2, WINDOW // 2 - STEP // 2))
    spectrum = torch.stft(padded, WINDOW, STEP, window=window, center=False, return_complex=True).transpose(1, 2)
    return torch.cat([spectrum.real, spectrum.imag], 2)


def istft(output: Tensor) -> Tensor:
    """Return the waveform of log magnitudes and phases, by weighted overlap-add."""
    magnitude = output[..., :BINS].clamp(max=6.0).exp()
    phase = output[..., BINS:]
    spectrum = torch.complex(magnitude * phase.cos(), magnitude * phase.sin())
    window = torch.hann_window(WINDOW, device=output.device)
    frames = torch.fft.irfft(spectrum, WINDOW, dim=2) * window
    count = frames.shape[1]
    size = (count - 1) * STEP + WINDOW

    def add(parts: Tensor) -> Tensor:
        return functional.fold(parts.transpose(1, 2), (1, size), (1, WINDOW), stride=(1, STEP))[:, 0, 0]

    total = add(frames)
    weight = add(window.square().expand(1, count, WINDOW))
    cut = WINDOW // 2 - STEP // 2
    return (total / weight.clamp(min=1e-3))[:, cut : size - cut]


def excite(pitch: Tensor, phase: Tensor) -> Tensor:
    """Return a train of band-limited pulses (sequences x samples) of a pitch every 128 samples, in hertz."""
    hertz = functional.interpolate(pitch[:, None], scale_factor=STEP, mode="linear", align_corners=False)[:, 0]
    angle = 2 * math.pi * (torch.cumsum(hertz.double() / RATE, 1) + phase[:, None]).remainder(1.0).float()
    harmonics = torch.floor(0.5 * RATE / hertz) - 1
    half = (angle / 2).sin()
    safe = torch.where(half.abs() < 1e-4, torch.full_like(half, 1e-4), half)
    kernel = torch.where(half.abs() < 1e-4, 2 * harmonics + 1, ((2 * harmonics + 1) * angle / 2).sin() / safe)
    return (kernel - 1) / (2 * harmonics).sqrt() * 0.1


def mel_filters(size: int, number: int) -> Tensor:
    """Return triangular filters (bins x bands), evenly spaced on the mel scale up to half the rate."""

    def mel(hertz: float) -> float:
        return 2595.0 * math.log10(1.0 + hertz / 700.0)

    edges = torch.linspace(mel(30.0), mel(RATE / 2), number + 2)
    hertz = 700.0 * (10.0 ** (edges / 2595.0) - 1.0)
    bins = torch.linspace(0.0, RATE / 2, size // 2 + 1)
    up = (bins[:, None] - hertz[None, :-2]) / (hertz[1:-1] - hertz[:-2])
    down = (hertz[None, 2:] - bins[:, None]) / (hertz[2:] - hertz[1:-1])
    return torch.minimum(up, down).clamp(min=0.0)


class MelDistance(nn.Module):
    """Mean absolute difference of logarithmic mel spectra at several resolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes = ((256, 20), (512, 40), (1024, 80), (2048, 80))
        for size, number in self.sizes:
            self.register_buffer(f"filters_{size}", mel_filters(size, number))

    def forward(self, wave: Tensor, goal: Tensor) -> Tensor:
        """Return the distance of two batches of waveforms."""
        total = wave.new_zeros(())
        for size, _ in self.sizes:
            window = torch.hann_window(size, device=wave.device)
            spectra = [
                torch.stft(x, size, size // 4, window=window, return_complex=True).abs().transpose(1, 2)
                @ getattr(self, f"filters_{size}")
                for x in (wave, goal)
            ]
            total = total + (spectra[0].clamp(min=1e-4).log() - spectra[1].clamp(min=1e-4).log()).abs().mean()
        return total / len(self.sizes)
