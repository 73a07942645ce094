"""The state of a training on disk, so that one that was cut off goes on: safetensors and JSON, no pickle."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from zeroevidence.attack.training.disclosure import DevelopmentScore
from zeroevidence.attack.training.history import Epoch, Trained
from zeroevidence.attack.training.settings import TrainingSettings
from zeroevidence.data.writing import write_whole
from zeroevidence.errors import InputError, MissingExtra

_WEIGHTS = "training.safetensors"


class Running(Protocol):
    """What a training has that the next epoch depends on."""

    network: Any
    head: Any
    optimiser: Any
    schedule: Any
    settings: TrainingSettings
    place: Any
    digests: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Restored:
    """Where a training stood."""

    epochs: list[Epoch]
    best: int
    best_score: DevelopmentScore
    kept: dict[str, torch.Tensor]


def _tensors() -> Any:
    try:
        import safetensors.torch
    except ImportError:
        raise MissingExtra("flow", "a checkpoint of a training") from None
    return safetensors.torch


def save_checkpoint(folder: Path, training: Running, result: Trained, kept: dict[str, torch.Tensor]) -> None:
    """Write everything that the next epoch depends on; a reader sees the state before or after, never a part."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {f"network.{name}": value for name, value in training.network.state_dict().items()}
    arrays |= {f"kept.{name}": value for name, value in kept.items()}
    arrays |= {f"head.{name}": value for name, value in training.head.state_dict().items()}
    for number, state in training.optimiser.state_dict()["state"].items():
        arrays |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    arrays["random"] = torch.get_rng_state()
    if training.place.type == "cuda":
        arrays["random.cuda"] = torch.cuda.get_rng_state(training.place)
    plain = {name: value.detach().cpu().contiguous().clone() for name, value in arrays.items()}
    facts = {
        "settings": training.settings.to_dict(),
        "data": list(training.digests),
        "best": result.best,
        "epochs": [
            {
                "number": one.number,
                "loss": None if math.isnan(one.loss) else one.loss,
                "development": None if one.development is None else asdict(one.development),
            }
            for one in result.epochs
        ],
        "schedule": training.schedule.last_epoch,
        "rates": [group["lr"] for group in training.optimiser.param_groups],
        "momenta": [list(group["betas"]) for group in training.optimiser.param_groups],
    }
    # The facts go into the same file as the weights: there is one moment at which the state changes.
    metadata = {"facts": json.dumps(facts)}
    write_whole(folder / _WEIGHTS, lambda path: _tensors().save_file(plain, path, metadata=metadata))


def load_checkpoint(folder: Path, training: Running) -> Restored | None:
    """Put a training back to where it stood; None where there is nothing."""
    from safetensors import SafetensorError, safe_open

    file = folder / _WEIGHTS
    if not file.is_file():
        return None
    try:
        with safe_open(file, framework="pt") as opened:
            facts = json.loads(opened.metadata()["facts"])
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot be read as a checkpoint: {error}", path=file) from None
    if facts["settings"] != training.settings.to_dict():
        raise InputError("is of a training with other settings; give another folder or remove it", path=file)
    if facts["data"] != list(training.digests):
        raise InputError("is of a training on other speech; give another folder or remove it", path=file)

    def part(prefix: str) -> dict[str, torch.Tensor]:
        return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}

    training.network.load_state_dict(part("network."))
    training.head.load_state_dict(part("head."))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in part("optimiser.").items():
        number, _, field = name.partition(".")
        state.setdefault(int(number), {})[field] = value
    whole = training.optimiser.state_dict()
    training.optimiser.load_state_dict({**whole, "state": state})
    training.schedule.last_epoch = facts["schedule"]
    for group, rate, betas in zip(training.optimiser.param_groups, facts["rates"], facts["momenta"], strict=True):
        group["lr"], group["betas"] = rate, tuple(betas)
    torch.set_rng_state(arrays["random"])
    if "random.cuda" in arrays:
        torch.cuda.set_rng_state(arrays["random.cuda"], training.place)
    epochs = [
        Epoch(
            one["number"],
            math.nan if one["loss"] is None else one["loss"],
            None if one["development"] is None else DevelopmentScore(**one["development"]),
        )
        for one in facts["epochs"]
    ]
    scores = {one.number: one.development for one in epochs}
    best = scores[facts["best"]]
    assert best is not None
    return Restored(epochs, facts["best"], best, part("kept."))
