"""Training of the one voice, for a number of minutes, from the prepared speech."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from network import PER_CODE, STEP, Codebook, Content, Decoder, MelDistance, excite, istft, stft
from people import People, align
from torch import Tensor, nn
from torch.nn import functional

SIZES = (32, 64, 128, 256, 512, 1024)
FRAMES = 48  # codes of a training example
HELD_OUT = 4  # sentences
HEARD, HEARD_FROM, ALIGNED_EVERY = 64, 2000, 1000  # examples of people in a batch; steps: from when, and of alignment
START = 400  # steps without a codebook


@dataclass
class Speech:
    """All sentences behind one another, on the device."""

    wave: Tensor
    pitch: Tensor
    sounds: Tensor
    features: Tensor
    starts: Tensor
    lengths: Tensor
    names: list[str]

    @staticmethod
    def load(folder: Path, device: torch.device) -> Speech:
        """Join the parts that were prepared."""
        parts = [np.load(path, allow_pickle=False) for path in sorted(folder.glob("part-*.npz"))]
        names = sorted(set(np.concatenate([part["sounds"] for part in parts]).tolist()))
        index = {name: k for k, name in enumerate(names)}
        lengths = np.concatenate([part["lengths"] for part in parts])
        sounds = np.concatenate([np.array([index[name] for name in part["sounds"].tolist()]) for part in parts])
        arrays = {
            name: np.concatenate([part[name] for part in parts], axis=1 if name == "features" else 0)
            for name in ("wave", "pitch", "features")
        }
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device)

        return Speech(
            tensor(arrays["wave"]),
            tensor(arrays["pitch"]),
            tensor(sounds),
            tensor(arrays["features"]),
            tensor(starts),
            tensor(lengths),
            names,
        )

    def cut(self, sentences: Tensor, frames: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return random examples of sentences: waveform, pitch, sounds, features of a random reading."""
        device = self.wave.device
        number = len(sentences)
        room = (self.lengths[sentences] - frames).clamp(min=0)
        first = self.starts[sentences] + (torch.rand(number, device=device) * (room + 1)).long()
        at = (first[:, None] + torch.arange(frames, device=device)).clamp(max=self.features.shape[1] - 1)
        reading = torch.randint(self.features.shape[0], (number,), device=device)
        features = self.features[reading[:, None], at].float()
        fine = (first[:, None] * PER_CODE + torch.arange(frames * PER_CODE, device=device)).clamp(
            max=len(self.pitch) - 1
        )
        size = STEP * PER_CODE
        sample = (first[:, None] * size + torch.arange(frames * size, device=device)).clamp(max=len(self.wave) - 1)
        return self.wave[sample].float() / 32767, self.pitch[fine].float(), self.sounds[at], features


class Voice(nn.Module):
    """Everything that is trained, but for the critics."""

    def __init__(self, mean: Tensor, deviation: Tensor, n_sounds: int) -> None:
        super().__init__()
        self.content = Content(mean, deviation)
        self.codebooks = nn.ModuleList(Codebook(size) for size in SIZES)
        self.decoder = Decoder()
        self.name_sound = nn.Conv1d(64, n_sounds, 3, padding=1)


def quantise(voice: Voice, z: Tensor, learn: bool) -> tuple[Tensor, Tensor]:
    """Return vectors of codes, each sequence from another codebook, and how far the vectors were from them."""
    flat = z.detach().reshape(-1, z.shape[2])
    result = torch.empty_like(z)
    for k, book in enumerate(voice.codebooks):
        codes = book.assign(flat)
        if learn:
            book.follow(flat, codes, 0.99)
        result[k :: len(SIZES)] = book.vectors[codes].reshape(z.shape)[k :: len(SIZES)]
    return z + (result - z).detach(), functional.mse_loss(z, result.detach())


def disturb(features: Tensor, deviation: Tensor) -> Tensor:
    """Shift and scale features of each example as a whole, as another voice would; add noise, drop some for a while."""
    number, _frames, width = features.shape
    device = features.device
    strength = torch.rand(number, 1, 1, device=device)
    shift = 0.5 * strength * torch.randn(number, 1, width, device=device)
    scale = 1 + 0.15 * strength * torch.randn(number, 1, width, device=device)
    noise = 0.3 * torch.rand(number, 1, 1, device=device) * torch.randn_like(features)
    centre = features.mean(1, keepdim=True)
    changed = (features - centre) * scale + centre + (shift + noise) * deviation
    kept = (torch.rand(number, 1, width, device=device) > 0.1 * torch.rand(number, 1, 1, device=device)).float()
    return changed * kept + centre * (1 - kept)


@torch.no_grad()
def name_frames(voice: Voice, features: Tensor) -> Tensor:
    """Return logarithms of what the network thinks that each frame is."""
    parts = [
        voice.name_sound(voice.content(part.float()).transpose(1, 2)).log_softmax(1).transpose(1, 2)
        for part in features.split(256)
    ]
    return torch.cat(parts)


def synthesise(voice: Voice, vectors: Tensor, pitch: Tensor) -> Tensor:
    """Return waveforms of code vectors and pitch."""
    excitation = stft(excite(pitch, torch.rand(len(pitch), device=pitch.device)))
    with torch.autocast(pitch.device.type, torch.bfloat16, enabled=pitch.device.type == "cuda"):
        output = voice.decoder(vectors, excitation)
    return istft(output.float())


def train(folder: Path, result: Path, minutes: float, batch: int, seed: int) -> None:
    """Train, and save after every minute; where recordings of people are prepared, they teach what sounds are."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    speech = Speech.load(folder, device)
    flat = speech.features[:, ::7].reshape(-1, speech.features.shape[2]).float()
    voice = Voice(flat.mean(0), flat.std(0), len(speech.names)).to(device)
    distance = MelDistance().to(device)
    print(
        f"{len(speech.lengths)} sentences, {len(speech.wave) / 16000 / 3600:.2f} h, "
        f"{speech.features.shape[0]} readings; "
        f"{sum(p.numel() for p in voice.parameters()) / 1e6:.2f} M parameters",
        flush=True,
    )
    optimiser = torch.optim.AdamW(voice.parameters(), 6e-4, betas=(0.8, 0.98), weight_decay=0.01)
    weights = (speech.lengths[HELD_OUT:].float()).clamp(min=FRAMES)
    begin, saved, step, quantised = time.monotonic(), 0.0, 0, False
    means: dict[str, float] = {}
    people = People.load(folder / "people.npz", speech.names, device) if (folder / "people.npz").exists() else None
    labels: Tensor | None = None
    while (share := (time.monotonic() - begin) / (60 * minutes)) < 1:
        rate = min(1.0, (step + 1) / 300) * (0.5 + 0.5 * np.cos(np.pi * min(share, 1.0))) + 0.01
        for group in optimiser.param_groups:
            group["lr"] = 6e-4 * rate
        sentences = torch.multinomial(weights, batch, replacement=True) + HELD_OUT
        wave, pitch, sounds, features = speech.cut(sentences, FRAMES)
        z = voice.content(disturb(features, voice.content.deviation))
        if not quantised and step == START:
            sample = z.detach().reshape(-1, z.shape[2])
            for _ in range(7):
                more = speech.cut(torch.multinomial(weights, batch, replacement=True) + HELD_OUT, FRAMES)[3]
                sample = torch.cat([sample, voice.content(more).detach().reshape(-1, z.shape[2])])
            for book in voice.codebooks:
                book.start(sample)
            quantised = True
        vectors, away = quantise(voice, z, True) if quantised else (z, z.square().mean() * 0.01)
        made = synthesise(voice, vectors, pitch)
        mel = distance(made, wave)
        naming = functional.cross_entropy(voice.name_sound(vectors.transpose(1, 2)), sounds)
        loss = 15.0 * mel + 1.0 * naming + 0.5 * away
        if people is not None and step >= HEARD_FROM:
            if labels is None or step % ALIGNED_EVERY == 0:
                labels = align(people, name_frames(voice, people.features))
            recorded, goal, there = people.cut(labels, HEARD, FRAMES)
            codes, off = quantise(voice, voice.content(disturb(recorded, voice.content.deviation)), False)
            heard = functional.cross_entropy(voice.name_sound(codes.transpose(1, 2)), goal, reduction="none")[
                there
            ].mean()
            loss = loss + heard + 0.5 * off
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(voice.parameters(), 10.0)
        optimiser.step()
        step += 1
        if step % 50 == 0:
            shown = {"mel": mel, "naming": naming, "away": away} | ({} if labels is None else {"people": heard})
            for name, value in shown.items():
                means[name] = 0.8 * means.get(name, value.item()) + 0.2 * value.item()
        if step % 500 == 0 or step in (10, 50):
            print(
                f"{time.monotonic() - begin:6.0f} s  step {step}  "
                + "  ".join(f"{k} {v:.3f}" for k, v in means.items()),
                flush=True,
            )
        if time.monotonic() - begin > saved + 60:
            saved = time.monotonic() - begin
            save(voice, speech, result)
    save(voice, speech, result)
    assess(voice, speech, distance)


def save(voice: Voice, speech: Speech, path: Path) -> None:
    """Write weights in half precision and the names of the sounds."""
    state = {
        name: value.half() if value.is_floating_point() and "codebooks" not in name else value
        for name, value in voice.state_dict().items()
    }
    torch.save({"state": state, "sounds": speech.names}, path)


@torch.no_grad()
def assess(voice: Voice, speech: Speech, distance: MelDistance) -> None:
    """Print how far held-out speech is from its copy and how many sounds are named, for each codebook."""
    for k, size in enumerate(SIZES):
        torch.manual_seed(1)
        wave, pitch, sounds, features = speech.cut(torch.arange(HELD_OUT, device=speech.wave.device).repeat(4), FRAMES)
        z = voice.content(features)
        book = voice.codebooks[k]
        codes = book.assign(z.reshape(-1, z.shape[2]))
        vectors = book.vectors[codes].reshape(z.shape)
        named = (voice.name_sound(vectors.transpose(1, 2)).argmax(1) == sounds).float().mean()
        mel = distance(synthesise(voice, vectors, pitch), wave)
        print(
            f"codes {size}: used {len(codes.unique())}, mel {float(mel):.3f}, sounds named {100 * float(named):.1f} %",
            flush=True,
        )
