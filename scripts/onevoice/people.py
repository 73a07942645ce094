"""Recordings of people with transcripts: they teach the network that makes codes how people sound, never the voice.

`pack` writes them small, with the sounds of each transcript; `prepare` runs the content encoder over them; `align` lays
the sounds over the frames.
"""

from __future__ import annotations

import csv
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

SILENCE = "pau"


def sounds_of(text: str, flite: str, voice: str) -> list[str]:
    """Return the sounds of a text without the silence around it."""
    command = [flite, "-psdur", "-voice", voice, "-t", text.lower(), "-o", "/dev/null"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [name for part in said.split() if (name := part.rsplit(":", 1)[0]) != SILENCE]


def transcribe(text: str, flite: str, voice: str) -> tuple[list[str], list[bool]]:
    """Return the sounds of a transcript, with silence around them, and for each whether it may be skipped.

    People pause between words; where the sounds of single words add up to those of the sentence, such pauses may be
    there.
    """
    whole, words = sounds_of(text, flite, voice), [sounds_of(word, flite, voice) for word in text.split()]
    sounds, optional = [SILENCE], [False]
    fits = sum(map(len, words)) == len(whole)
    ends = set(np.cumsum([len(word) for word in words]).tolist()) if fits else set()
    for number, sound in enumerate(whole, start=1):
        sounds.append(sound)
        optional.append(False)
        if number in ends and number < len(whole):
            sounds.append(SILENCE)
            optional.append(True)
    return [*sounds, SILENCE], [*optional, False]


def recordings_of(corpus: Path, people: int) -> list[dict[str, str]]:
    """Return the rows of a number of people, drawn as the benchmarks draw those to learn from."""
    with (corpus / "utterances.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    order = np.random.default_rng(0).permutation(np.unique([row["speaker"] for row in rows]))
    return [row for row in rows if row["speaker"] in order[:people]]


def pack(corpus: Path, folder: Path, flite: str, voice: str, people: int) -> None:
    """Write the recordings of some people, compressed, and their sounds."""
    import soundfile

    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for row in recordings_of(corpus, people):
        wave, rate = soundfile.read(corpus / row["path"], dtype="float32")
        soundfile.write(
            folder / f"{row['utterance']}.ogg", wave, rate, subtype="OPUS", format="OGG", compression_level=0.9
        )
        sounds, optional = transcribe(row["text"], flite, voice)
        listed.append({"utterance": row["utterance"], "sounds": sounds, "optional": optional})
    (folder / "sounds.json").write_text(json.dumps(listed))


def prepare_recording(job: tuple[Path, int, Path, int]) -> list[np.ndarray]:
    """Return features of a recording: as it is, then in other sizes and rooms."""
    import soundfile
    from speech import Reading, change_room, change_size, content, load_encoder

    path, seed, encoder_path, copies = job
    encoder, source = load_encoder(encoder_path), np.random.default_rng(seed)
    wave, _ = soundfile.read(path, dtype="float32")
    wave = wave / max(float(np.abs(wave).max()), 1e-4) * 0.5
    features = [content(encoder, wave)]
    for _ in range(copies):
        changed = change_size(Reading(wave, (), np.zeros(0)), source.uniform(0.85, 1.2)).wave
        features.append(content(encoder, change_room(changed, source)))
    return [part.astype(np.float16) for part in features]


@dataclass
class People:
    """Features of recordings on the device, padded, and the sounds that each holds in order."""

    features: Tensor
    lengths: Tensor
    sounds: Tensor
    skips: Tensor
    n_sounds: Tensor

    @staticmethod
    def load(path: Path, names: list[str], device: torch.device) -> People:
        """Read what `prepare` wrote; recordings with sounds that the voice does not have are left out."""
        index = {name: k for k, name in enumerate(names)}
        with np.load(path, allow_pickle=False) as data:
            parts = np.split(data["features"], np.cumsum(data["lengths"])[:-1])
            texts = json.loads(str(data["sounds"]))
            recording = data["recording"].tolist()
        rows = [
            (part, texts[number])
            for part, number in zip(parts, recording, strict=True)
            if all(sound in index for sound in texts[number]["sounds"]) and len(part) > len(texts[number]["sounds"]) + 4
        ]
        most, states = max(len(part) for part, _ in rows), max(len(text["sounds"]) for _, text in rows)
        features = np.zeros((len(rows), most, parts[0].shape[1]), np.float16)
        sounds, skips = np.zeros((len(rows), states), np.int64), np.zeros((len(rows), states), bool)
        for k, (part, text) in enumerate(rows):
            features[k, : len(part)] = part
            sounds[k, : len(text["sounds"])] = [index[sound] for sound in text["sounds"]]
            skips[k, 1 : 1 + len(text["sounds"]) - 1] = text["optional"][: len(text["sounds"]) - 1]

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device)

        return People(
            tensor(features),
            tensor(np.array([len(part) for part, _ in rows])),
            tensor(sounds),
            tensor(skips),
            tensor(np.array([len(text["sounds"]) for _, text in rows])),
        )

    def cut(self, labels: Tensor, number: int, frames: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return random examples: features, the sound of each frame, and whether the frame is there."""
        device = self.features.device
        row = torch.randint(len(self.features), (number,), device=device)
        room = (self.lengths[row] - frames).clamp(min=0)
        first = (torch.rand(number, device=device) * (room + 1)).long()
        at = first[:, None] + torch.arange(frames, device=device)
        there = at < self.lengths[row][:, None]
        at = at.clamp(max=self.features.shape[1] - 1)
        return self.features[row[:, None], at].float(), labels[row[:, None], at], there


@torch.no_grad()
def align(people: People, log_shares: Tensor) -> Tensor:
    """Return the sound of each frame on the best path through the sounds of each recording (rows x frames).

    Parameters
    ----------
    people
        The recordings.
    log_shares
        Rows x frames x sounds: logarithms of what the network thinks.
    """
    rows, frames, _ = log_shares.shape
    states = people.sounds.shape[1]
    device = log_shares.device
    never = -1e9
    score = torch.full((rows, states), never, device=device)
    score[:, 0] = 0.0
    came = torch.zeros((frames, rows, states), dtype=torch.int8, device=device)
    for t in range(frames):
        emitted = log_shares[:, t].gather(1, people.sounds)
        if t:
            one = torch.cat([torch.full((rows, 1), never, device=device), score[:, :-1]], 1)
            two = torch.cat([torch.full((rows, 2), never, device=device), score[:, :-2]], 1)
            # the state before may be left out where it is a pause that need not be there
            two = torch.where(people.skips, two, torch.full_like(two, never))
            best, came[t] = (lambda m: (m.values, m.indices.to(torch.int8)))(torch.stack([score, one, two]).max(0))
            moving = (t < people.lengths)[:, None]
            score = torch.where(moving, best + emitted, score)
            came[t] = torch.where(moving, came[t], torch.zeros_like(came[t]))
        else:
            score = score + emitted
    state = people.n_sounds - 1
    labels = torch.zeros((rows, frames), dtype=torch.int64, device=device)
    for t in range(frames - 1, -1, -1):
        labels[:, t] = people.sounds.gather(1, state[:, None])[:, 0]
        state = state - came[t].gather(1, state[:, None])[:, 0].long()
    return labels
