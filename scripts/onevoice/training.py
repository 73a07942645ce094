"""Training of the one voice, for a number of minutes, from the prepared speech."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from network import PER_CODE, STEP, Codebook, Content, Critic, Decoder, MelDistance, excite, istft, stft

SIZES = (32, 64, 128, 256, 512, 1024)
FRAMES = 48  # codes of a training example
HELD_OUT = 40  # sentences
CRITICISED = 24  # examples of a batch that the critics see
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
        arrays = {name: np.concatenate([part[name] for part in parts], axis=1 if name == "features" else 0) for name in ("wave", "pitch", "features")}
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device)

        return Speech(tensor(arrays["wave"]), tensor(arrays["pitch"]), tensor(sounds), tensor(arrays["features"]), tensor(starts), tensor(lengths), names)

    def cut(self, sentences: Tensor, frames: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return random examples of sentences: waveform, pitch, sounds, features of a random reading."""
        device = self.wave.device
        number = len(sentences)
        room = (self.lengths[sentences] - frames).clamp(min=0)
        first = self.starts[sentences] + (torch.rand(number, device=device) * (room + 1)).long()
        at = (first[:, None] + torch.arange(frames, device=device)).clamp(max=self.features.shape[1] - 1)
        reading = torch.randint(self.features.shape[0], (number,), device=device)
        features = self.features[reading[:, None], at].float()
        fine = (first[:, None] * PER_CODE + torch.arange(frames * PER_CODE, device=device)).clamp(max=len(self.pitch) - 1)
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
    return z + (result - z).detach(), F.mse_loss(z, result.detach())


def disturb(features: Tensor, deviation: Tensor) -> Tensor:
    """Shift and scale features of each example as a whole, as another voice would; add noise, drop some for a while."""
    number, frames, width = features.shape
    device = features.device
    strength = torch.rand(number, 1, 1, device=device)
    shift = 0.5 * strength * torch.randn(number, 1, width, device=device)
    scale = 1 + 0.15 * strength * torch.randn(number, 1, width, device=device)
    noise = 0.3 * torch.rand(number, 1, 1, device=device) * torch.randn_like(features)
    centre = features.mean(1, keepdim=True)
    changed = (features - centre) * scale + centre + (shift + noise) * deviation
    kept = (torch.rand(number, 1, width, device=device) > 0.1 * torch.rand(number, 1, 1, device=device)).float()
    return changed * kept + centre * (1 - kept)


def synthesise(voice: Voice, vectors: Tensor, pitch: Tensor) -> Tensor:
    """Return waveforms of code vectors and pitch."""
    excitation = stft(excite(pitch, torch.rand(len(pitch), device=pitch.device)))
    with torch.autocast(pitch.device.type, torch.bfloat16, enabled=pitch.device.type == "cuda"):
        output = voice.decoder(vectors, excitation)
    return istft(output.float())


def train(folder: Path, result: Path, minutes: float, batch: int, seed: int, alone: float = 1.0) -> None:
    """Train, and save after every minute; for the first part of the time without critics."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    speech = Speech.load(folder, device)
    flat = speech.features[:, ::7].reshape(-1, speech.features.shape[2]).float()
    voice = Voice(flat.mean(0), flat.std(0), len(speech.names)).to(device)
    critic, distance = Critic().to(device), MelDistance().to(device)
    print(f"{len(speech.lengths)} sentences, {len(speech.wave) / 16000 / 3600:.2f} h, {speech.features.shape[0]} readings; "
          f"{sum(p.numel() for p in voice.parameters()) / 1e6:.2f} M parameters", flush=True)
    own = torch.optim.AdamW(voice.parameters(), 6e-4, betas=(0.8, 0.98), weight_decay=0.01)
    other = torch.optim.AdamW(critic.parameters(), 4e-4, betas=(0.8, 0.98), weight_decay=0.01)
    weights = (speech.lengths[HELD_OUT:].float()).clamp(min=FRAMES)
    begin, saved, step, quantised = time.monotonic(), 0.0, 0, False
    means: dict[str, float] = {}
    while (share := (time.monotonic() - begin) / (60 * minutes)) < 1:
        rate = min(1.0, (step + 1) / 300) * (0.5 + 0.5 * np.cos(np.pi * min(share, 1.0))) + 0.01
        for optimiser, base in ((own, 6e-4), (other, 4e-4)):
            for group in optimiser.param_groups:
                group["lr"] = base * rate
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
        naming = F.cross_entropy(voice.name_sound(vectors.transpose(1, 2)), sounds)
        loss = 15.0 * mel + 1.0 * naming + 0.5 * away
        judged = share > alone
        if judged:
            few = slice(0, CRITICISED)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                real, fake = critic(wave[few]), critic(made[few].detach())
            other.zero_grad(set_to_none=True)
            critic_loss = sum(F.relu(1 - a[-1].float()).mean() + F.relu(1 + b[-1].float()).mean() for a, b in zip(real, fake, strict=True))
            critic_loss.backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 10.0)
            other.step()
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                real, fake = critic(wave[few]), critic(made[few])
            fooled = sum(-b[-1].float().mean() for b in fake)
            match = sum((x.detach().float() - y.float()).abs().mean() for a, b in zip(real, fake, strict=True) for x, y in zip(a[:-1], b[:-1], strict=True))
            loss = loss + fooled + 1.0 * match
        own.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(voice.parameters(), 10.0)
        own.step()
        step += 1
        if step % 50 == 0:
            shown = {"mel": mel, "naming": naming, "away": away} | ({"critic": critic_loss, "match": match} if judged else {})
            for name, value in shown.items():
                means[name] = 0.8 * means.get(name, value.item()) + 0.2 * value.item()
        if step % 500 == 0 or step in (10, 50):
            print(f"{time.monotonic() - begin:6.0f} s  step {step}  " + "  ".join(f"{k} {v:.3f}" for k, v in means.items()), flush=True)
        if time.monotonic() - begin > saved + 60:
            saved = time.monotonic() - begin
            save(voice, speech, result)
    save(voice, speech, result)
    assess(voice, speech, distance)


def save(voice: Voice, speech: Speech, path: Path) -> None:
    """Write weights in half precision and the names of the sounds."""
    state = {name: value.half() if value.is_floating_point() and "codebooks" not in name else value for name, value in voice.state_dict().items()}
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
        print(f"codes {size}: used {len(codes.unique())}, mel {float(mel):.3f}, sounds named {100 * float(named):.1f} %", flush=True)
