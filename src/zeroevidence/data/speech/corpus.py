"""Corpora of speech: utterances, whose they are, what part they play, and which file holds each."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.data.files.errors import is_file
from zeroevidence.errors import InputError, Problem

ROLES = ("enrol", "trial", "train")
SPLITS = ("dev", "eval")
SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3")
UNDECODED = (".m4a", ".aac", ".mp4", ".wma", ".amr", ".3gp", ".webm")  # speech that nothing here can decode
SEGMENT_RATE = 16_000  # `start` and `end` count samples at this rate, whatever the file's own

_Place = tuple[Path, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One utterance of one speaker.

    Parameters
    ----------
    id, speaker
        Names; a speaker's name is the same person throughout a corpus.
    path
        The audio file.
    role
        "enrol" (known to the attacker), "trial" (intercepted) or "train" (of other people, to build the attacker).
    split
        "dev" (calibrates the attacker) or "eval" (measured); training utterances have none.
    attributes
        Words about it: sex, accent, ...
    start, end
        The part of the file that it is, in samples at 16 kHz, end exclusive; the whole file unless given.
    """

    id: str
    speaker: str
    path: Path
    role: str | None = None
    split: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        if not self.id or not self.speaker:
            raise InputError(f"utterance {self.id!r} of speaker {self.speaker!r}: expected names that are not empty")
        if self.role is not None and self.role not in ROLES:
            raise InputError(f"{self.id!r}: unknown role {self.role!r}; expected {', '.join(ROLES)}")
        if self.split is not None and self.split not in SPLITS:
            raise InputError(f"{self.id!r}: unknown split {self.split!r}; expected {', '.join(SPLITS)}")
        start, end = self.start or 0, self.end
        if start < 0 or (end is not None and end <= start):
            raise InputError(f"{self.id!r}: samples {self.start} to {end}; expected 0 <= start < end")
        object.__setattr__(self, "path", Path(self.path))
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))

    def __hash__(self) -> int:
        return hash((self.id, self.speaker, self.path))

    def __reduce__(self) -> tuple[type[Utterance], tuple[object, ...]]:
        values = (self.id, self.speaker, self.path, self.role, self.split, dict(self.attributes), self.start, self.end)
        return type(self), values


@dataclass(frozen=True, slots=True)
class Corpus:
    """Utterances, each identifier once; `root` is the folder that their paths are relative to in other versions."""

    utterances: tuple[Utterance, ...]
    root: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "utterances", tuple(self.utterances))
        if not self.utterances:
            raise InputError("no utterances; expected at least one")
        seen: set[str] = set()
        for one in self.utterances:
            if one.id in seen:
                raise InputError(f"utterance {one.id!r} occurs twice; expected each identifier once")
            seen.add(one.id)

    def __len__(self) -> int:
        return len(self.utterances)

    def __iter__(self) -> Iterator[Utterance]:
        return iter(self.utterances)

    def __repr__(self) -> str:
        return f"Corpus({len(self)} utterances of {len(self.speakers)} speakers)"

    @property
    def speakers(self) -> StrArray:
        """Distinct speakers in alphabetical order."""
        return np.array(sorted({one.speaker for one in self.utterances}), dtype=np.str_)

    @property
    def single(self) -> tuple[str, ...]:
        """Speakers of one recording only, who cannot be both enrolled and tried."""
        return tuple(sorted(name for name, mine in by_speaker(self.utterances).items() if len(recordings(mine)) < 2))

    def select(self, role: str | None = None, split: str | None = None) -> tuple[Utterance, ...]:
        """The utterances of a role, a split, or both, in order; perhaps none."""
        for value, known in ((role, ROLES), (split, SPLITS)):
            if value is not None and value not in known:
                raise InputError(f"unknown {value!r}; expected one of {', '.join(known)}")
        return tuple(
            one
            for one in self.utterances
            if (role is None or one.role == role) and (split is None or one.split == split)
        )

    def only(self, utterances: Iterable[Utterance]) -> Corpus:
        """A corpus of these utterances under the same root."""
        return Corpus(tuple(utterances), self.root)

    def replaced(self, folder: str | Path) -> Corpus:
        """The same utterances, read from the folder that an external anonymiser wrote.

        Each file is looked for under its path relative to `root`, then as ``<utterance id>``, with any audio suffix.
        A part of a file (`start`, `end`) is looked for under its own identifier first: such a file is the part itself,
        while a file under the old path is cut at the same samples.

        Raises
        ------
        InputError
            Naming a file that is missing, and how many more are.
        """
        found, problems = self.counterparts(folder)
        if problems:
            raise InputError.of(problems)
        return Corpus(tuple(found.values()), Path(folder))

    def counterparts(self, folder: str | Path) -> tuple[dict[str, Utterance], list[Problem]]:
        """The utterances that `replaced` would read, by identifier, and what is wrong with the others."""
        home = Path(folder)
        if not home.is_dir():
            raise InputError("no such folder; expected anonymised speech", path=folder)
        found: dict[str, Utterance] = {}
        problems = []
        for one in self.utterances:
            there = _counterpart(one, self.root, home)
            if there is not None and one.path.exists() and there.path.samefile(one.path):
                problems.append(Problem(str(there.path), None, "is the original file; expected anonymised speech"))
            elif there is None:
                expected = f"{_relative(one, self.root)} or {one.id}.wav ({', '.join(SUFFIXES[1:])})"
                problems.append(Problem(str(folder), None, f"no audio for utterance {one.id!r}; expected {expected}"))
            else:
                found[one.id] = there
        return found, problems

    def cut(self, segments: Mapping[str, Sequence[tuple[int, int]]], count: int = 1, *, role: str = "trial") -> Corpus:
        """The same corpus with the utterances of a role cut into parts of `count` consecutive segments.

        Parameters
        ----------
        segments
            For each utterance where its pieces start and end, in samples at 16 kHz.
        count
            How many pieces make a part; what is left over at the end is dropped.
        """
        if count < 1:
            raise InputError(f"{count} segments; expected at least one")
        parts: list[Utterance] = []
        for one in self.utterances:
            if one.role != role:
                parts.append(one)
                continue
            if one.id not in segments:
                raise InputError(f"no segments for utterance {one.id!r}")
            pieces, base = segments[one.id], one.start or 0
            for at in range(0, len(pieces) - count + 1, count):
                start, end = base + pieces[at][0], base + pieces[at + count - 1][1]
                parts.append(replace(one, id=f"{one.id}-{at:02d}", start=start, end=end))
        return Corpus(tuple(parts), self.root)

    def assign(self, seed: int = 0, *, train: float = 0.3, dev: float = 0.3) -> Corpus:
        """Roles and splits for the utterances that have none; what is given stays.

        Speakers are shared out, so that none is in two of train, dev and eval, in equal shares of each sex where it is
        known. The recordings of a dev or eval speaker are halved into enrolment and trials (parts of one file stay
        together). The result depends on names and seed, not on the order of utterances. Speakers with one recording
        (`single`) can only be trained on.

        Parameters
        ----------
        train, dev
            Share of the speakers; the rest is eval. Nobody is added to training where some utterances have that role.

        Raises
        ------
        InputError
            When eval, or a dev that was asked for, is left with fewer than two speakers.
        """
        if min(train, dev) < 0 or train + dev >= 1:
            raise InputError(f"shares train {train} and dev {dev}; expected them to leave something for eval")
        people = by_speaker(self.utterances)
        places = _places(people, seed, train, dev)
        filled = {
            one.id: one for name, mine in people.items() for one in with_place(mine, places.get(name), f"{seed}:{name}")
        }
        result = Corpus(tuple(filled[one.id] for one in self.utterances), self.root)
        for split in SPLITS if places and dev else ("eval",):
            trying = {one.speaker for one in result.select("trial", split)}
            if len(trying & {one.speaker for one in result.select("enrol", split)}) < 2:
                raise InputError(
                    f"{len(people)} speakers, {len(self.single)} of them with one recording, leave fewer than two with "
                    f"enrolment and trials in {split}; expected more speakers, or roles and splits to be given"
                )
        return result


def by_speaker(utterances: Iterable[Utterance]) -> dict[str, list[Utterance]]:
    """Utterances by whose they are."""
    people: dict[str, list[Utterance]] = defaultdict(list)
    for one in utterances:
        people[one.speaker].append(one)
    return people


def recordings(utterances: Iterable[Utterance]) -> dict[Path, list[Utterance]]:
    """Utterances by file: parts of one file are one recording."""
    files: dict[Path, list[Utterance]] = defaultdict(list)
    for one in utterances:
        files[one.path].append(one)
    return files


def sex_of(utterances: Iterable[Utterance]) -> str:
    """The sex of one speaker, "" where nobody said."""
    return next((one.attributes["sex"] for one in utterances if one.attributes.get("sex")), "")


def drawn(words: str) -> bytes:
    """A place in a random order that depends on these words alone."""
    return hashlib.sha256(words.encode()).digest()


def _places(people: Mapping[str, Sequence[Utterance]], seed: int, train: float, dev: float) -> dict[str, str]:
    """For each speaker who needs one, train, dev or eval."""
    trained = any(one.role == "train" for mine in people.values() for one in mine)
    places: dict[str, str] = {}
    free: list[tuple[str, bytes, str, bool]] = []
    for name, mine in people.items():
        open_ones = [one for one in mine if one.role is None or (one.role != "train" and one.split is None)]
        if not open_ones:
            continue
        known = sorted({one.split for one in mine if one.split is not None})
        role_free = all(one.role is None for one in mine)
        if known:
            places[name] = known[0]
        elif role_free and len(recordings(mine)) < 2:
            places[name] = "train"
        else:
            free.append((sex_of(mine), drawn(f"{seed}:{name}"), name, role_free and not trained))
    counts = {True: dict.fromkeys(("eval", "dev", "train"), 0.0), False: dict.fromkeys(("eval", "dev"), 0.0)}
    for _, _, name, trainable in sorted(free):
        shares = {"eval": 1.0 - train - dev, "dev": dev, "train": train}
        count = counts[trainable]
        total = sum(count.values()) + 1.0
        share = {place: shares[place] / sum(shares[at] for at in count) for place in count}
        place = max(count, key=lambda at: share[at] * total - count[at])
        count[place] += 1
        places[name] = place
    return places


def with_place(mine: Sequence[Utterance], place: str | None, words: str) -> list[Utterance]:
    """One speaker's utterances with roles and splits, for training, dev or eval; `words` decide who is enrolment."""
    if place is None:
        return list(mine)
    if place == "train":
        return [one if one.role is not None else replace(one, role="train", split=None) for one in mine]
    waiting = recordings(one for one in mine if one.role is None)
    order = sorted(waiting, key=lambda file: (drawn(f"{words}:{min(one.id for one in waiting[file])}"), file))
    half = {one.id for file in order[: (len(order) + 1) // 2] for one in waiting[file]}
    result = []
    for one in mine:
        role = one.role or ("enrol" if one.id in half else "trial")
        result.append(replace(one, role=role, split=one.split or (None if role == "train" else place)))
    return result


def _relative(one: Utterance, root: Path | None) -> Path:
    """The path below the root, or the name alone where it lies elsewhere."""
    if root is not None:
        for path, home in ((one.path, root), (one.path.absolute(), root.absolute())):
            if path.is_relative_to(home) and ".." not in path.relative_to(home).parts:
                return path.relative_to(home)
    return Path(one.path.name)


def _counterpart(one: Utterance, root: Path | None, home: Path) -> Utterance | None:
    part = one.start is not None or one.end is not None
    same: list[_Place] = [(file, one.start, one.end) for file in _with_suffixes(home / _relative(one, root))]
    name = Path(f"{one.id}.wav")
    # An identifier may be a path, but not one that leads out of the folder (perhaps back to the original).
    safe = not name.is_absolute() and ".." not in name.parts
    named: list[_Place] = [(file, None, None) for file in _with_suffixes(home / name)] if safe else []
    for file, start, end in named + same if part else same + named:
        if is_file(file):
            return replace(one, path=file, start=start, end=end)
    return None


def _with_suffixes(file: Path) -> list[Path]:
    stem = file.name.removesuffix(file.suffix) if file.suffix.lower() in SUFFIXES else file.name
    return list(dict.fromkeys([file, *(file.with_name(stem + suffix) for suffix in SUFFIXES)]))
