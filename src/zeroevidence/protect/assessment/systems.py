"""Assessment of several protectors: attacks on each protector's output beside unprotected vectors, and verification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Flag, Options, flag_rows
from zeroevidence.evaluation.rows.about import Role
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.protect.assessment.choice import add_choice_flags, order_by_strength
from zeroevidence.protect.assessment.maps import FigureData
from zeroevidence.protect.assessment.roles import Roles
from zeroevidence.protect.assessment.verification import verification
from zeroevidence.registry import Named, Registry

_POINT_MASS = 0.01  # share of zeros from which a protector cannot do its work
T = TypeVar("T", bound=Named)


@dataclass(frozen=True, slots=True)
class AttackedSystem:
    """One system under attack: vectors through a protector, or unprotected ones.

    Parameters
    ----------
    protector
        The fitted protector; None for unprotected vectors.
    attack
        Protected vectors that attackers learn from.
    test
        Protected vectors that attackers are tested on.
    labels
        Labels of its rows.
    done
        To be called with the number of further attacks that are done.
    """

    protector: Any
    attack: Embeddings
    test: Embeddings
    labels: Mapping[str, str]
    done: Callable[[int], None]

    @property
    def role(self) -> Role:
        """The role of its rows."""
        return "control" if self.labels["system"] == UNPROTECTED else "attack"


# rows on one attribute in one system's vectors, and figures
AttackGroup: TypeAlias = tuple[Sequence[Evaluation], FigureData]


def assess_systems(
    protectors: Mapping[str, Any],
    roles: Roles,
    attack: Callable[[AttackedSystem], Iterator[AttackGroup]],
    *,
    attacks: int,
    verify: bool,
    options: Options,
    dataset: str,
    progress: Callable[[int, int], None] | None,
    measure: str,
) -> list[Evaluation]:
    """Return the rows of attacks and verification of every system, unprotected vectors first.

    Parameters
    ----------
    protectors
        Fitted transformers by name.
    roles
        Who is used for what.
    attack
        Attacks one system.
    attacks
        Number of attacks on each system.
    verify
        Whether to verify speakers too.
    options
        How to measure verification.
    dataset
        A label of all rows.
    progress
        Called with the number of attacks done and to be done.
    measure
        The measure by which attackers are compared.
    """
    if UNPROTECTED in protectors:
        raise UsageError(f"{UNPROTECTED!r} is the name of unprotected vectors; call the protector something else")
    systems: dict[str, Any] = {UNPROTECTED: None, **protectors}
    total, done = len(systems) * (attacks + verify), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None and count:
            progress(done, total)

    rows: list[Evaluation] = []
    groups: list[tuple[slice, FigureData]] = []
    for name, protector in systems.items():
        sides = {side: protect(getattr(roles, side), protector) for side in ("attack", "test")}
        labels = {"system": name, **({"dataset": dataset} if dataset else {})}
        for group, figures in attack(AttackedSystem(protector, **sides, labels=labels, done=advance)):
            groups.append((slice(len(rows), len(rows) + len(group)), figures))
            rows += group
        if verify:
            rows.append(verification(roles.train, sides, options, labels))
            advance(1)
    return add_choice_flags(flag_rows(order_by_strength(rows, groups)), [place for place, _ in groups], measure)


def find_attackers(registry: Registry[T], noun: str, names: Sequence[str] | None) -> list[T]:
    """Return the registered attackers of these names, all of them if None; each once."""
    chosen = tuple(registry) if names is None else tuple(names)
    if not chosen:
        raise UsageError(f"expected at least one {noun} of {', '.join(registry)}")
    return [registry.find(name) for name in dict.fromkeys(chosen)]


def protect(embeddings: Embeddings, protector: Any) -> Embeddings:
    """Return embeddings through a fitted protector; as they are if it is None."""
    vectors = np.asarray(embeddings.vectors, dtype=np.float64)
    if protector is not None:
        vectors = np.asarray(protector.transform(vectors), dtype=np.float64)
    return Embeddings(vectors, embeddings.ids, embeddings.speakers, embeddings.attributes)


def zero_entry_flags(vectors: FloatArray) -> tuple[Flag, ...]:
    """Return a warning where many entries are exactly zero, as after a ReLU."""
    share = float(np.mean(np.asarray(vectors) == 0.0))
    return (flag("zeros", percent=100 * share),) if share >= _POINT_MASS else ()
