"""Settings of the flow: valid values, the published configuration, and defaults that depend on the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.attributes.flows.linear_map import LinearMapKind

Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
# shared: classes differ in one latent coordinate; classes: each has its own variances in all of them
Covariances: TypeAlias = Literal["shared", "classes"]
# balanced: classes have equal weight, and people in a class; none: vectors have equal weight
Weights: TypeAlias = Literal["balanced", "none"]
_CHOICES = {"linear_map": LinearMapKind, "covariances": Covariances, "weights": Weights, "precision": Precision}
MANY = 200_000  # vectors from which training takes large batches
_ROWS_PER_DIMENSION = 20  # with fewer, only the leading components are transformed
_FEW_COMPONENTS = 64
FEW_PEOPLE = 100
# as published: all dimensions, Adam 1e-4, mu from 10, vectors have equal weight; the paper gives no batch size, number
# of passes or held-out people
PAPER: dict[str, Any] = {
    "linear_map": "none",
    "weights": "none",
    "batch": 64,
    "learning_rate": 1e-4,
    "weight_decay": 0.0,
    "epochs": 100,
    "held_out": 0.0,
}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse invalid settings, by the name of the parameter."""
    for name in ("layers", "epochs", "patience"):
        if settings[name] != "auto" and settings[name] < 1:
            raise UsageError(f"{name}: expected at least 1, got {settings[name]}")
    for name, kinds in _CHOICES.items():
        choices = get_args(kinds)
        if settings[name] not in choices:
            there = f"{', '.join(choices[:-1])} or {choices[-1]}"
            raise UsageError(f"{name}: expected {there}, got {settings[name]!r}")
    for name in ("shrinkage", "held_out"):
        if settings[name] != "auto" and not 0.0 <= settings[name] < 1.0:
            raise UsageError(f"{name}: expected a share from 0 to below 1, got {settings[name]}")


def transformed_width(rows: int, dimension: int, components: int | Literal["auto"], linear_map: LinearMapKind) -> int:
    """Return the number of components that the flow transforms."""
    if components != "auto":
        return min(components, dimension)
    few = rows < _ROWS_PER_DIMENSION * dimension and linear_map != "none"
    return min(_FEW_COMPONENTS, dimension) if few else dimension


def batch_size(rows: int) -> int:
    """Return the size of a batch, from 64 to 2048: an epoch has about fifty to two hundred steps."""
    return next((size for size, most in ((64, 5_000), (256, 20_000), (1024, MANY)) if rows < most), 2048)


def coordinate_order(width: int, evidence: int) -> IntArray:
    """Return an order: evidence, every second coordinate, the others; so both halves get strong components."""
    rest = np.arange(evidence, width)
    return np.concatenate([np.arange(evidence), rest[0::2], rest[1::2]])
