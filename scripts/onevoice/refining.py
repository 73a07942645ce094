"""Codes that rooms, devices and speakers change less: the network that makes them learns again, the rest stays.

The bundled network says which codes the plain reading of a text by the voice has. A copy of it learns to find the same
codes in other readings of the text: by other voices and by people, of other sizes, in other rooms and by other devices.
Recordings of people are laid over the reading by dynamic time warping, with the copy as it is by then.
"""

from __future__ import annotations

import time
from io import BytesIO
from pathlib import Path

import numpy as np
import onnx
import torch
from exporting import export_content
from network import Content
from onnx import numpy_helper
from torch import Tensor
from torch.nn import functional
from training import SIZES, disturb

from zeroevidence.protect.voices.cascade import align
from zeroevidence.protect.voices.onevoice import read_weights

FRAMES, BATCH = 96, 48  # codes of an example; examples of a batch, half of them of people
SHARPNESS = 10.0  # of the choice of a code, over the mean square of code vectors
LAID_OVER = (0.0, 0.15, 0.5)  # shares of the training at which recordings are laid over readings
QUIET = 35.0  # dB below the loudest frame: nothing is said
HELD_OUT = 40  # recordings that nothing is learned from


def prepare_pair(job: tuple[Path, str, int, Path, str, str, int]) -> dict[str, np.ndarray]:
    """Return features of a recording in all its versions and of the reading of its text, and where each is loud."""
    import soundfile
    from people import prepare_recording
    from speech import content, load_encoder, read_aloud

    path, text, seed, encoder, flite, voice, copies = job
    versions = prepare_recording((path, seed, encoder, copies))
    reading = read_aloud([flite], voice, text.lower(), 1.1, None, None).wave
    loud = [loud_frames(wave) for wave in (soundfile.read(path, dtype="float32")[0], reading)]
    lengths = [len(part) for part in versions]
    places = [np.minimum(np.arange(n) * len(loud[0]) // n, len(loud[0]) - 1) for n in lengths]
    return {
        "features": np.concatenate(versions),
        "lengths": np.array(lengths),
        "loud": np.concatenate([loud[0][place] for place in places]),
        "reading": content(load_encoder(encoder), reading).astype(np.float16),
        "read_loud": loud[1],
    }


def loud_frames(wave: np.ndarray) -> np.ndarray:
    """Return whether something is said in each frame."""
    from speech import HOP

    frames = -(-len(wave) // HOP)
    power = np.square(np.pad(wave, (0, frames * HOP - len(wave)))).reshape(-1, HOP).mean(1)
    return power > power.max() * 10 ** (-QUIET / 10)


def bundled_content() -> Content:
    """Return the network that is bundled; layers that it lacks add nothing yet."""
    graph = onnx.load_model_from_string(read_weights("content.onnx")).graph
    stored = {
        tensor.name.removesuffix("_half"): torch.from_numpy(numpy_helper.to_array(tensor).astype(np.float32))
        for tensor in graph.initializer
    }
    content = Content(stored["mean"], stored["deviation"])
    for layer in content.layers:
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    missing = content.load_state_dict(stored, strict=False)
    assert not missing.unexpected_keys
    return content


class Recordings:
    """Versions of recordings behind one another, with the vectors of the code of each frame."""

    def __init__(self, pairs: list[dict[str, np.ndarray]], first: Content) -> None:
        self.pairs = pairs
        self.features = torch.from_numpy(np.concatenate([pair["features"] for pair in pairs]))
        self.loud = np.concatenate([pair["loud"] for pair in pairs])
        self.lengths = np.concatenate([pair["lengths"] for pair in pairs])
        self.ends = np.cumsum(self.lengths)
        self.of_pair = np.repeat(np.arange(len(pairs)), [len(pair["lengths"]) for pair in pairs])
        with torch.no_grad():
            self.read = [first(torch.from_numpy(pair["reading"]).float()[None])[0].numpy() for pair in pairs]
        quiet = np.concatenate([z[~pair["read_loud"]] for z, pair in zip(self.read, pairs, strict=True)])
        self.silence = quiet.mean(0)
        self.goal = torch.zeros(len(self.features), self.silence.size)

    @torch.no_grad()
    def lay_over(self, content: Content) -> float:
        """Lay each version over the reading of its text; return the mean cosine."""
        cosines = []
        for number, end, length in zip(self.of_pair, self.ends, self.lengths, strict=True):
            here = slice(end - length, end)
            z = content(self.features[None, here].float())[0].numpy()
            goal = np.tile(self.silence, (length, 1))
            loud, read = self.loud[here], self.read[number][self.pairs[number]["read_loud"]]
            goal[loud] = read[align(z[loud], read)]
            self.goal[here] = torch.from_numpy(goal.astype(np.float32))
            cosines.append(float(functional.cosine_similarity(torch.from_numpy(z), self.goal[here]).mean()))
        return float(np.mean(cosines))

    def cut(self, number: int) -> tuple[Tensor, Tensor]:
        """Return features and goals of random examples; short versions go on with what follows them."""
        at = torch.randint(len(self.features) - FRAMES, (number,))[:, None] + torch.arange(FRAMES)
        return self.features[at].float(), self.goal[at]


class Readings:
    """Readings by several voices on the time axis of the plain one, and the vectors of the code of each frame."""

    def __init__(self, folder: Path, first: Content) -> None:
        parts = [np.load(path)["features"] for path in sorted(folder.glob("part-*.npz"))]
        self.features = torch.from_numpy(np.concatenate(parts, axis=1))
        with torch.no_grad():
            self.goal = torch.cat([first(part[None].float())[0] for part in self.features[0].split(5000)])

    def cut(self, number: int) -> tuple[Tensor, Tensor]:
        """Return features of random readings and their goals."""
        at = torch.randint(len(self.goal) - FRAMES, (number,))[:, None] + torch.arange(FRAMES)
        reading = torch.randint(len(self.features), (number, 1))
        return self.features[reading, at].float(), self.goal[at]


def refine(folder: Path, weights: Path, minutes: float, seed: int) -> None:
    """Train for a number of minutes and write the network, its codebooks and the card into the folder of weights."""
    torch.manual_seed(seed)
    first, content = bundled_content(), bundled_content()
    with np.load(folder / "pairs.npz", allow_pickle=True) as data:
        pairs = list(data["pairs"])
    people, held_out = Recordings(pairs[HELD_OUT:], first), Recordings(pairs[:HELD_OUT], first)
    voices = Readings(folder, first)
    held_out.lay_over(first)
    books = [torch.from_numpy(book) for size, book in bundled_codebooks().items() if size in (32, 128, 512)]
    scale = float(np.mean([book.square().sum(1).mean() for book in books]))
    optimiser = torch.optim.AdamW(content.parameters(), 5e-4, weight_decay=0.01)
    begin, step, laid = time.monotonic(), 0, 0
    mean = 0.0
    while (share := (time.monotonic() - begin) / (60 * minutes)) < 1:
        if laid < len(LAID_OVER) and share >= LAID_OVER[laid]:
            content.eval()
            print(f"{time.monotonic() - begin:5.0f} s  laid over: cosine {people.lay_over(content):.3f}", flush=True)
            laid += 1
        for group in optimiser.param_groups:
            group["lr"] = 5e-4 * (min(1.0, (step + 1) / 100) * (0.5 + 0.5 * np.cos(np.pi * min(share, 1.0))) + 0.01)
        recorded, read = people.cut(BATCH // 2), voices.cut(BATCH // 2)
        features, goal = (torch.cat(both) for both in zip(recorded, read, strict=True))
        z = content(disturb(features, content.deviation))
        loss = functional.mse_loss(z, goal) * z.shape[2] / scale
        for book in books:
            codes = _choice(goal, book, scale).argmax(1)
            loss = loss + functional.cross_entropy(_choice(z, book, scale), codes) / len(books)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(content.parameters(), 5.0)
        optimiser.step()
        step += 1
        mean = 0.95 * mean + 0.05 * loss.item() if step > 1 else loss.item()
        if step % 100 == 0:
            print(
                f"{time.monotonic() - begin:5.0f} s  step {step}  loss {mean:.3f}  {_assess(content, held_out, books)}",
                flush=True,
            )
    torch.save(content.state_dict(), folder / "content.pt")
    export_content(content.eval(), bundled_codebooks(), folder, weights)


def bundled_codebooks() -> dict[int, np.ndarray]:
    """Return the vectors of the codes by the size of the codebook."""
    with np.load(BytesIO(read_weights("codebooks.npz"))) as data:
        return {size: data[f"codes_{size}"] for size in SIZES}


def _choice(z: Tensor, book: Tensor, scale: float) -> Tensor:
    flat = z.reshape(-1, z.shape[-1])
    return SHARPNESS / scale * (2.0 * flat @ book.T - book.square().sum(1))


@torch.no_grad()
def _assess(content: Content, held_out: Recordings, books: list[Tensor]) -> str:
    """Return how often versions of one recording have the code of the reading."""
    content.eval()
    parts = held_out.features.split(held_out.lengths.tolist())
    z = torch.cat([content(part[None].float())[0] for part in parts])
    codes = [[_choice(vectors, book, 1.0).argmax(1) for vectors in (z, held_out.goal)] for book in books]
    shares = [float((heard == goal).float().mean()) for heard, goal in codes]
    return "held out " + " ".join(f"{100 * share:.1f}" for share in shares) + " %"
