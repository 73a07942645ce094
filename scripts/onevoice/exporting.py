"""What the package bundles: the reduction of content features with its codebooks, and the decoder, as ONNX."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from training import SIZES, Voice

CARD = {
    "name": "onevoice",
    "licence": "MIT",
    "made_by": "scripts/onevoice/make.py",
    "voice": "Speech of Flite 2.2, voice slt (Carnegie Mellon University; free for any use with its notice), of "
    "sentences that the script makes. The decoder has learned from it alone.",
    "codes": "The reduction to codes has learned from readings by Flite's voices slt, rms, awb and kal16 at other "
    "sizes, rates, in other rooms and by other devices, and from 480 recordings of 60 people of speechocean762 (CC BY "
    "4.0) with their transcripts, laid over readings of these by slt.",
    "input": "Features of the encoder of Moonshine tiny, English (Useful Sensors, MIT), which is no part of these "
    "files.",
}


def export(weights: Path, folder: Path) -> None:
    """Write `content.onnx`, `decoder.onnx` and `codebooks.npz`."""
    saved = torch.load(weights, map_location="cpu", weights_only=True)
    voice = Voice(torch.zeros(288), torch.ones(288), len(saved["sounds"]))
    voice.load_state_dict(
        {name: value.float() if value.is_floating_point() else value for name, value in saved["state"].items()}
    )
    voice.eval()
    folder.mkdir(parents=True, exist_ok=True)
    inputs = (torch.zeros(1, 10, 64), torch.zeros(1, 30, 514))
    axes = {"vectors": {1: "codes"}, "excitation": {1: "frames"}, "spectrum": {1: "frames"}}
    _export(voice.decoder, inputs, folder / "decoder.onnx", ["vectors", "excitation"], "spectrum", axes)
    books = {size: book.vectors.numpy() for size, book in zip(SIZES, voice.codebooks, strict=True)}
    export_content(voice.content, books, weights.parent, folder)


@torch.no_grad()
def export_content(content: torch.nn.Module, books: dict[int, np.ndarray], readings: Path, folder: Path) -> None:
    """Write `content.onnx` and `codebooks.npz` beside the decoder, and the card of all."""
    vectors = np.concatenate(
        [
            content(torch.from_numpy(np.load(path)["features"][:1]).float())[0].numpy()
            for path in sorted(readings.glob("part-*.npz"))
        ]
    )
    arrays = {f"codes_{size}": book.astype(np.float32) for size, book in books.items()}
    arrays |= {f"frames_{size}": usual_frames(vectors, book).astype(np.float32) for size, book in books.items()}
    np.savez(folder / "codebooks.npz", **arrays)
    axes = {"features": {1: "frames"}, "vectors": {1: "frames"}}
    _export(content, (torch.zeros(1, 10, 288),), folder / "content.onnx", ["features"], "vectors", axes)
    files = ("content.onnx", "decoder.onnx", "codebooks.npz")
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    (folder / "card.json").write_text(json.dumps({**CARD, "sha256": digests}, indent=2) + "\n", encoding="utf-8")


def usual_frames(vectors: np.ndarray, book: np.ndarray) -> np.ndarray:
    """Return for how many frames each code lasts on average; one for codes that never occur."""
    codes = (np.square(book).sum(1) - 2.0 * vectors @ book.T).argmin(1)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = np.diff(np.append(starts, len(codes)))
    number, total = (np.bincount(codes[starts], weights, minlength=len(book)) for weights in (None, lengths))
    return np.where(number > 0, total / np.maximum(number, 1), 1.0)


def _export(module: torch.nn.Module, inputs: tuple, path: Path, names: list[str], output: str, axes: dict) -> None:
    torch.onnx.export(
        module,
        inputs,
        path,
        input_names=names,
        output_names=[output],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    model = onnx.load(path)
    _halve(model.graph)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def _halve(graph: onnx.GraphProto) -> None:
    """Store large weights in half precision, with a cast back in front of their use: computation stays single."""
    casts = []
    for tensor in list(graph.initializer):
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < 1000:
            continue
        values = numpy_helper.to_array(tensor).astype(np.float16)
        graph.initializer.remove(tensor)
        graph.initializer.append(numpy_helper.from_array(values, tensor.name + "_half"))
        casts.append(helper.make_node("Cast", [tensor.name + "_half"], [tensor.name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
