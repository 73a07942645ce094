"""Checkpoints: the state of a training on disk, from which an interrupted one continues. No pickle is used."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from zeroevidence.attack.training.history import Epoch, TrainedNetwork
from zeroevidence.data.files import reading_file
from zeroevidence.data.json_values import plain, read_json, typed
from zeroevidence.data.writing import write_atomically
from zeroevidence.errors import InputError
from zeroevidence.optional import optional

_WEIGHTS = "training.safetensors"


@dataclass(frozen=True, slots=True)
class _Facts:
    """The content of a checkpoint beside tensors."""

    settings: Mapping[str, Any]
    data: tuple[str, ...]
    best: int
    epochs: tuple[Epoch, ...]
    schedule: int
    rates: tuple[float, ...]
    momenta: tuple[tuple[float, ...], ...]


def save_checkpoint(folder: Path, training: Any, result: TrainedNetwork, weights: dict[str, torch.Tensor]) -> None:
    """Write everything that the next epoch of a `TrainingRun` depends on, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {f"network.{name}": value for name, value in training.network.state_dict().items()}
    arrays |= {f"kept.{name}": value for name, value in weights.items()}
    arrays |= {f"head.{name}": value for name, value in training.head.state_dict().items()}
    for number, state in training.optimiser.state_dict()["state"].items():
        arrays |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    arrays["random"] = torch.get_rng_state()
    if training.place.type == "cuda":
        arrays["random.cuda"] = torch.cuda.get_rng_state(training.place)
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in arrays.items()}
    groups = training.optimiser.param_groups
    facts = _Facts(
        settings=training.settings.to_dict(),
        data=training.digests,
        best=result.best,
        epochs=tuple(result.epochs),
        schedule=training.schedule.last_epoch,
        rates=tuple(group["lr"] for group in groups),
        momenta=tuple(tuple(group["betas"]) for group in groups),
    )
    # The facts go into the same file as the weights: there is one moment at which the state changes.
    metadata = {"facts": json.dumps(plain(asdict(facts)), allow_nan=False)}
    safetensors = optional("safetensors.torch", "flow", "a checkpoint of a training")
    write_atomically(folder / _WEIGHTS, lambda path: safetensors.save_file(tensors, path, metadata=metadata))


def remove_checkpoints(home: Path) -> None:
    """Remove the checkpoints in the folders of a folder, and those folders where nothing else is in them."""
    for file in home.glob(f"*/{_WEIGHTS}"):
        file.unlink()
        if not any(file.parent.iterdir()):
            file.parent.rmdir()


def load_checkpoint(folder: Path, training: Any) -> tuple[TrainedNetwork, dict[str, torch.Tensor]] | None:
    """Put a `TrainingRun` back into the state of a checkpoint; None where there is no checkpoint.

    Returned are its history and the weights of its best epoch.

    Raises
    ------
    InputError
        Naming the file, when it is damaged, or of another training.
    """
    file = folder / _WEIGHTS
    if not file.is_file():
        return None
    with reading_file(file, "a checkpoint"):
        facts, arrays = _read(file)
        if facts.settings != training.settings.to_dict():
            raise InputError("is of a training with other settings; give another folder or remove it")
        if facts.data != training.digests:
            raise InputError("is of a training on other speech; give another folder or remove it")
        _restore(training, facts, arrays)
    return TrainedNetwork(training.network, list(facts.epochs), facts.best), _part(arrays, "kept.")


def _read(file: Path) -> tuple[_Facts, dict[str, torch.Tensor]]:
    """Return the content of a checkpoint, checked as far as it can be by itself."""
    from safetensors import safe_open

    with safe_open(file, framework="pt") as opened:
        facts = typed(_Facts, read_json(opened.metadata()["facts"], file), "facts")
        arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (no mapping)
    if [epoch.number for epoch in facts.epochs] != list(range(len(facts.epochs))):
        raise InputError("facts.epochs: expected each epoch once, in order")
    if not any(epoch.number == facts.best and epoch.development is not None for epoch in facts.epochs):
        raise InputError(f"facts.best: no epoch {facts.best} that was evaluated")
    if not all(map(math.isfinite, (*facts.rates, *chain.from_iterable(facts.momenta)))):
        raise InputError("facts.rates, facts.momenta: expected finite numbers")
    for name, value in arrays.items():
        if not bool(torch.isfinite(value).all()):
            raise InputError(f"{name} has entries that are not finite numbers")
    return facts, arrays


def _part(arrays: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _restore(training: Any, facts: _Facts, arrays: Mapping[str, torch.Tensor]) -> None:
    training.network.load_state_dict(_part(arrays, "network."))
    training.head.load_state_dict(_part(arrays, "head."))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in _part(arrays, "optimiser.").items():
        number, _, field = name.partition(".")
        state.setdefault(int(number), {})[field] = value
    whole = training.optimiser.state_dict()
    training.optimiser.load_state_dict({**whole, "state": state})
    training.schedule.last_epoch = facts.schedule
    for group, rate, betas in zip(training.optimiser.param_groups, facts.rates, facts.momenta, strict=True):
        group["lr"], group["betas"] = rate, betas
    torch.set_rng_state(arrays["random"])
    if "random.cuda" in arrays:
        torch.cuda.set_rng_state(arrays["random.cuda"], training.place)
