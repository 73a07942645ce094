"""Trials that were recorded in a session which their speaker is enrolled from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings, require_speakers


@dataclass(frozen=True, slots=True)
class SharedSessions:
    """How many of the evaluated trials are of a session that their speaker is enrolled from."""

    trials: int
    total: int


def shared_sessions(folds: Sequence[EmbeddingSets]) -> SharedSessions | None:
    """Return how many trials share a session with their speaker's enrolment; None where sessions are not known.

    Parameters
    ----------
    folds
        The speech of each fold of people, with the attribute `session`.

    Examples
    --------
    >>> import numpy as np
    >>> names = np.repeat(["a", "b", "c", "d", "e", "f"], 2)
    >>> def sets_of(sessions):
    ...     embeddings = Embeddings(np.eye(12), np.arange(12).astype(str), names, {"session": sessions})
    ...     split, role = np.repeat(["train", "dev", "eval"], 4), np.tile(["enrol", "trial"], 6)
    ...     return EmbeddingSets.from_roles(embeddings, split, role)
    >>> shared_sessions([sets_of(names)])
    SharedSessions(trials=2, total=2)
    >>> shared_sessions([sets_of(np.arange(12).astype(str))])
    SharedSessions(trials=0, total=2)
    """
    trials = total = 0
    for sets in folds:
        enrolled, tried = (_sessions(part) for part in (sets.eval_enrol, sets.eval_trial))
        if enrolled is None or tried is None:
            return None
        known = set(enrolled)
        trials += sum(session in known for session in tried)
        total += len(tried)
    return SharedSessions(trials, total)


def _sessions(part: Embeddings) -> list[tuple[str, str]] | None:
    """Return speaker and session of each embedding, None where a session is not known."""
    sessions = part.attributes.get("session")
    if sessions is None or (sessions == "").any():
        return None
    return list(zip(require_speakers(part).tolist(), sessions.tolist(), strict=True))
