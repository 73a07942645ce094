"""A speaker encoder of the architecture of the bundled one, with few weights: it is trained in a moment."""

import json
from pathlib import Path

DIM = 12


def save_small_encoder(folder: Path) -> Path:
    """Write the encoder, with random weights, and its card; the path of the card."""
    import torch

    from zeroevidence.attack.networks import ARCHITECTURES
    from zeroevidence.attack.networks.onnx_layers import save_onnx

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = {"bands": 80, "front": 4, "width": 16, "growth": 32, "layers": (2, 3, 2), "dim": DIM}
        save_onnx(ARCHITECTURES["campplus"].make(**sizes), folder / "small.onnx")
    card = {"sample_rate": 16_000, "front_end": "kaldi-fbank", "input": "feats", "output": "embedding", "dim": DIM}
    (folder / "small.json").write_text(json.dumps({**card, "file": "small.onnx"}))
    return folder / "small.json"
