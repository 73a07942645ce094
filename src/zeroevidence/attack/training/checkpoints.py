"""Checkpoints: the state of a training in a store, from which an interrupted one continues."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from zeroevidence.attack.training.history import Epoch, TrainedNetwork
from zeroevidence.data.json_values import plain, typed
from zeroevidence.data.store import Store, digest


@dataclass(frozen=True, slots=True)
class _Facts:
    """The content of a checkpoint beside tensors."""

    best: int
    epochs: tuple[Epoch, ...]
    schedule: int
    rates: tuple[float, ...]
    momenta: tuple[tuple[float, ...], ...]


def checkpoint_key(training: Any) -> str:
    """Return the key of a `TrainingRun` that has not begun: all that its result depends on."""
    weights = [(name, value.cpu().numpy()) for name, value in training.network.state_dict().items()]
    settings = json.dumps(training.settings.to_dict(), sort_keys=True)
    data = (training.training.data.digest, training.development.data.digest)
    return digest(settings, *data, *(part for weight in weights for part in weight))


def save_checkpoint(
    store: Store, key: str, training: Any, result: TrainedNetwork, weights: dict[str, torch.Tensor]
) -> None:
    """Keep everything that the next epoch of a `TrainingRun` depends on."""
    tensors = {f"network.{name}": value for name, value in training.network.state_dict().items()}
    tensors |= {f"kept.{name}": value for name, value in weights.items()}
    tensors |= {f"head.{name}": value for name, value in training.head.state_dict().items()}
    for number, state in training.optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    tensors["random"] = torch.get_rng_state()
    if training.place.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(training.place)
    groups = training.optimiser.param_groups
    facts = _Facts(
        best=result.best,
        epochs=tuple(result.epochs),
        schedule=training.schedule.last_epoch,
        rates=tuple(group["lr"] for group in groups),
        momenta=tuple(tuple(group["betas"]) for group in groups),
    )
    arrays = {name: value.detach().cpu().numpy() for name, value in tensors.items()}
    store.save_arrays(key, {**arrays, "facts": np.array(json.dumps(plain(asdict(facts)), allow_nan=False))})


def load_checkpoint(store: Store, key: str, training: Any) -> tuple[TrainedNetwork, dict[str, torch.Tensor]] | None:
    """Put a `TrainingRun` back into the state of a checkpoint; None where there is no checkpoint.

    Returned are its history and the weights of its best epoch.
    """
    arrays = store.load_arrays(key)
    if arrays is None:
        return None
    facts = typed(_Facts, json.loads(str(arrays.pop("facts"))), "facts")
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    training.network.load_state_dict(_part(tensors, "network."))
    training.head.load_state_dict(_part(tensors, "head."))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in _part(tensors, "optimiser.").items():
        number, _, field = name.partition(".")
        state.setdefault(int(number), {})[field] = value
    whole = training.optimiser.state_dict()
    training.optimiser.load_state_dict({**whole, "state": state})
    training.schedule.last_epoch = facts.schedule
    for group, rate, betas in zip(training.optimiser.param_groups, facts.rates, facts.momenta, strict=True):
        group["lr"], group["betas"] = rate, betas
    torch.set_rng_state(tensors["random"])
    if "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"], training.place)
    return TrainedNetwork(training.network, list(facts.epochs), facts.best), _part(tensors, "kept.")


def _part(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
