"""Checks of the source that are taken away on purpose, to see whether the fuzzer notices that they are gone."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Door:
    """A check, and what stands in its place once it is broken.

    `place` is a module and, after a colon, the name there of a function, a constant, or a class and its method;
    `broken` makes the replacement from the original.
    """

    name: str
    place: str
    broken: Callable[[Any], Any]

    def original(self) -> Any:
        """What is broken."""
        holder, name = self._holder()
        return getattr(holder, name)

    def open(self) -> None:
        """Break it in this process, also where it was imported by name."""
        holder, name = self._holder()
        original = getattr(holder, name)
        replacement = self.broken(original)
        setattr(holder, name, replacement)
        for module in list(sys.modules.values()):
            if getattr(module, name, None) is original:
                setattr(module, name, replacement)

    def _holder(self) -> tuple[Any, str]:
        module, _, path = self.place.partition(":")
        *outer, name = path.split(".")
        holder = importlib.import_module(f"zeroevidence.{module}")
        for part in outer:
            holder = getattr(holder, part)
        return holder, name


def _nothing(result: Any = None) -> Callable[[Any], Any]:
    """A check that finds nothing wrong."""
    return lambda _: lambda *_arguments, **_settings: result


def _same(_: Any) -> Any:
    return lambda value, *_arguments, **_settings: value


def _any_score(original: Any) -> Any:
    def parse_score(token: str, **settings: Any) -> float:
        score = original(token, **settings)
        return score if isinstance(score, float) else 0.0

    return parse_score


class _AnyLabel(dict[str, bool]):
    def get(self, label: Any, default: Any = None) -> Any:
        return super().get(label, False)


def _any_bytes(_: Any) -> Any:
    return lambda line: (line.decode("utf-8", "replace"), None)


class _AnyDigest(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


def _any_digest(original: Any) -> Any:
    return lambda *arguments: replace(original(*arguments), sha256=_AnyDigest())


def _unnamed(_: Any) -> Any:
    return lambda *_arguments: contextlib.nullcontext()


def _lock_that_stays(_: Any) -> Any:
    @contextlib.contextmanager
    def lock_folder(folder: Any, **_: Any) -> Iterator[None]:
        Path(folder).absolute().with_name(".out.lock").touch()
        yield

    return lock_folder


def _shifted(original: Any) -> Any:
    return lambda trial, enrol: (original(trial, enrol) + 1) % len(enrol)


def _off_by_little(original: Any) -> Any:
    return lambda counts: original(counts) + 1e-6


def _unchecked_bytes(_: Any) -> Any:
    return lambda file, **_: file.read_bytes()


def _anywhere(_: Any) -> Any:
    return lambda card, name, _fields: card.parent / name


def _any_session(original: Any) -> Any:
    return lambda names, sessions, *rest: original(names, dict.fromkeys(names.tolist(), "x") | dict(sessions), *rest)


def _as_many_as_asked(original: Any) -> Any:
    """Scores of another number of attackers, filled up with the first."""
    return lambda folder: (original(folder) * 99)[: len(json.loads((Path(folder) / "result.json").read_text())["rows"])]


def _any_rate(_: Any) -> Any:
    return (0, np.inf)


DOORS = (
    Door("scores that are no numbers", "data.formats.text:parse_score", _any_score),
    Door("labels that are none", "data.formats.text:LABELS", _AnyLabel),
    Door("bytes that are no text", "data.formats.text:decode", _any_bytes),
    Door("trials that occur twice", "data.formats.scores.reading.join:_repetitions", _nothing([])),
    Door("trials without a score", "data.formats.scores.reading.join:_absent", _nothing([])),
    Door("utterances without a speaker", "data.formats.lists.speakers:SpeakerList.missing", _nothing([])),
    Door("recordings without a session", "data.preparing.sessions:_session_codes", _any_session),
    Door("scores of other attackers", "data.formats.attack_scores:read_attack_scores", _as_many_as_asked),
    Door("files that become too large", "data.files.size_limits:check_size", _nothing()),
    Door("errors of libraries", "data.files.errors:reading_file", _unnamed),
    Door("errors without a file", "data.files.errors:naming_file", _unnamed),
    Door("fields that are not known", "data.files.json_values:_check_unconverted", _nothing()),
    Door("numbers that JSON does not have", "data.files.json_values:_refuse_constant", _nothing(float("nan"))),
    Door("models that were changed", "protect.models:_described", _any_digest),
    Door("vectors that are not finite", "data.embeddings:check_finite", _nothing()),
    Door("encoders other than their card says", "attack.onnx_models.files:checked_bytes", _unchecked_bytes),
    Door("encoders outside their folder", "attack.onnx_models.cards:_beside", _anywhere),
    Door("locks that stay", "data.files.locking:lock_folder", _lock_that_stays),
    Door("control characters", "data.printable:printable", _same),
    Door("silence", "data.speech.audio:inaudible_reason", _nothing("")),
    Door("audio that is cut off", "data.speech.audio:sample_bytes", _nothing()),
    Door("rates that no speech has", "data.speech.audio:RATES", _any_rate),
    Door("weights out of range", "linkage.evidence.plan:check_weight", _same),
    Door("the wrong person", "data.embeddings:mated_rows", _shifted),
    Door("an error rate that is slightly off", "measure.pairs.verification:eer_of", _off_by_little),
)
