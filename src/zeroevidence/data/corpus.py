"""Corpora of speech: utterances with speakers, roles, and the same utterances in another folder."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from types import MappingProxyType

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.data.files import is_file, unreadable_reason
from zeroevidence.data.printable import compose
from zeroevidence.errors import InputError, Problem


@dataclass(frozen=True, slots=True)
class Affix:
    """What stands before and behind the names of originals.

    Examples
    --------
    >>> Affix(after="_anon").renamed(PurePath("ann/one"))
    PurePosixPath('ann/one_anon')
    """

    before: str = ""
    after: str = ""

    def renamed(self, name: PurePath) -> PurePath:
        """Return a name, without its ending, as the anonymiser wrote it."""
        return name.with_name(f"{self.before}{name.name}{self.after}")

    def __str__(self) -> str:
        parts = [(self.before, "before"), (self.after, "behind")]
        return " and ".join(f"{text!r} {where}" for text, where in parts if text)


def find_affix(names: Sequence[PurePath], files: Collection[PurePath]) -> Affix | None:
    """Return the one affix with which every name is that of a file; None where there is none, or several.

    Parameters
    ----------
    names
        Names of originals, without endings.
    files
        Those of files, in the same folders.

    Examples
    --------
    >>> find_affix([PurePath("ann/one"), PurePath("bob/two")], {PurePath("ann/one_anon"), PurePath("bob/two_anon")})
    Affix(before='', after='_anon')
    """
    if not names or not all(name.name for name in names):
        return None
    first, there = names[0], set(files)
    beside = [file.name for file in there if file.parent == first.parent and first.name in file.name]
    # what stands around the name, for each place that it may have
    places = [(name, at) for name in beside for at in range(len(name)) if name.startswith(first.name, at)]
    affixes = {Affix(name[:at], name[at + len(first.name) :]) for name, at in places}
    fitting = [affix for affix in affixes if all(affix.renamed(name) in there for name in names)]
    return fitting[0] if len(fitting) == 1 else None


ROLES = ("enrol", "trial", "train")
SPLITS = ("dev", "eval")
SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3")
UNDECODED = (".m4a", ".aac", ".mp4", ".wma", ".amr", ".3gp", ".webm")  # speech that cannot be decoded here
SEGMENT_RATE = 16_000  # `start` and `end` count samples at this rate, whatever the file's own

_SHARES = {"eval": 1.0 - 0.3 - 0.3, "dev": 0.3, "train": 0.3}  # of the speakers who are drawn
_Span = tuple[Path, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One utterance of one speaker.

    Parameters
    ----------
    id
        Its identifier.
    speaker
        Its speaker; a name is the same person throughout a corpus.
    path
        The audio file.
    role
        "enrol" (known to the attacker), "trial" (intercepted) or "train" (other speakers, to train the attacker).
    split
        "dev" (calibrates the attacker) or "eval" (measured); training utterances have none.
    attributes
        Its labels: sex, session, accent, ...
    start
        Where it starts in the file, in samples at 16 kHz; at the beginning unless given.
    end
        Where it ends, exclusive; at the end of the file unless given.
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
        object.__setattr__(self, "id", compose(self.id))
        object.__setattr__(self, "speaker", compose(self.speaker))
        object.__setattr__(self, "path", Path(self.path))
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))

    def __hash__(self) -> int:
        return hash((self.id, self.speaker, self.path))

    def __reduce__(self) -> tuple[type[Utterance], tuple[object, ...]]:
        values = (self.id, self.speaker, self.path, self.role, self.split, dict(self.attributes), self.start, self.end)
        return type(self), values


@dataclass(frozen=True, slots=True)
class Corpus:
    """Utterances, each identifier once.

    Parameters
    ----------
    utterances
        The utterances.
    root
        The folder to which paths are relative in anonymised versions of the corpus.
    """

    utterances: tuple[Utterance, ...]
    root: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "utterances", tuple(self.utterances))
        if not self.utterances:
            raise InputError("no utterances; expected at least one")
        ids: set[str] = set()
        for utterance in self.utterances:
            if utterance.id in ids:
                raise InputError(f"utterance {utterance.id!r} occurs twice; expected each identifier once")
            ids.add(utterance.id)

    def __len__(self) -> int:
        return len(self.utterances)

    def __iter__(self) -> Iterator[Utterance]:
        return iter(self.utterances)

    def __repr__(self) -> str:
        return f"Corpus({len(self)} utterances of {len(self.speakers)} speakers)"

    @property
    def speakers(self) -> StrArray:
        """Distinct speakers in alphabetical order."""
        return np.array(sorted({utterance.speaker for utterance in self.utterances}), dtype=np.str_)

    @property
    def by_session(self) -> bool:
        """Whether enrolment and trials are drawn from different sessions: where some speaker has two."""
        sessions = (set(map(session_of, utterances)) for utterances in by_speaker(self.utterances).values())
        if not any(len(names - {""}) > 1 for names in sessions):
            return False
        unknown = next((item.id for item in self.utterances if item.role is None and not session_of(item)), None)
        if unknown is not None:
            raise InputError(f"utterance {unknown!r} has no session, but others have one; expected one for each")
        return True

    @property
    def single(self) -> tuple[str, ...]:
        """Speakers of one recording, or one session where these are apart, who cannot have enrolment and trials."""
        apart, speakers = self.by_session, by_speaker(self.utterances).items()
        return tuple(sorted(name for name, items in speakers if len(occasions(items, by_session=apart)) < 2))

    def select(self, role: str | None = None, split: str | None = None) -> tuple[Utterance, ...]:
        """Return the utterances of a role, a split, or both, in order; perhaps none."""
        for value, allowed in ((role, ROLES), (split, SPLITS)):
            if value is not None and value not in allowed:
                raise InputError(f"unknown {value!r}; expected one of {', '.join(allowed)}")
        items = (item for item in self.utterances if role in (None, item.role))
        return tuple(item for item in items if split in (None, item.split))

    def only(self, utterances: Iterable[Utterance]) -> Corpus:
        """Return a corpus of these utterances under the same root."""
        return Corpus(tuple(utterances), self.root)

    def replaced(self, folder: str | Path) -> Corpus:
        """Return the same utterances, read from the folder that an external anonymiser wrote.

        Each file is looked for under its path relative to `root`, then as ``<utterance id>``, with any audio suffix.
        Where no utterance has such a file, and the names of all have the same letters before or behind them, as in
        ``<name>_anon.wav``, those files are read.
        A part of a file (`start`, `end`) is looked for under its own identifier first: such a file is the part itself,
        while a file under the old path is cut at the same samples.

        Raises
        ------
        InputError
            Naming a file that is missing, and how many more are.
        """
        counterparts, problems = self.counterparts(folder)
        if problems:
            raise InputError.of(problems)
        return Corpus(tuple(counterparts.values()), Path(folder))

    def counterparts(self, folder: str | Path) -> tuple[dict[str, Utterance], list[Problem]]:
        """Return the utterances that `replaced` would read, by identifier, and the problems of the others."""
        home = Path(folder)
        reason = unreadable_reason(home, folder=True)
        if reason:
            raise InputError(f"{reason}; expected anonymised speech", path=folder)
        counterparts: dict[str, Utterance] = {}
        problems, affix = [], self.affix(folder) or Affix()
        for original in self.utterances:
            name, other = original.id, _counterpart(original, self.root, home, affix)
            if other is not None and original.path.exists() and other.path.samefile(original.path):
                problems.append(Problem(str(other.path), None, "is the original file; expected anonymised speech"))
            elif other is None:
                expected = f"{path_below(original, self.root)} or {name}.wav ({', '.join(SUFFIXES[1:])})"
                problems.append(Problem(str(folder), None, f"no audio for utterance {name!r}; expected {expected}"))
            else:
                counterparts[name] = other
        return counterparts, problems

    def affix(self, folder: str | Path) -> Affix | None:
        """Return what an anonymiser put before or behind the names of all files; None where names are kept."""
        home = Path(folder)
        if any(_counterpart(utterance, self.root, home) is not None for utterance in self.utterances):
            return None
        files = {file.relative_to(home).with_suffix("") for file in home.rglob("*") if file.suffix.lower() in SUFFIXES}
        names = [path_below(utterance, self.root) for utterance in self.utterances]
        stems = [name.with_suffix("") if name.suffix.lower() in SUFFIXES else name for name in names]
        return find_affix(stems, files) or find_affix([Path(utterance.id) for utterance in self.utterances], files)

    def cut(self, segments: Mapping[str, Sequence[tuple[int, int]]], count: int = 1) -> Corpus:
        """Return the corpus with the utterances of a role cut into parts of `count` consecutive segments.

        Parameters
        ----------
        segments
            Start and end of each segment of each utterance, in samples at 16 kHz.
        count
            How many segments make a part; a shorter part at the end is dropped.
        """
        if count < 1:
            raise InputError(f"{count} segments; expected at least one")
        parts: list[Utterance] = []
        for utterance in self.utterances:
            if utterance.role != "trial":
                parts.append(utterance)
                continue
            if utterance.id not in segments:
                raise InputError(f"no segments for utterance {utterance.id!r}")
            spans, base = segments[utterance.id], utterance.start or 0
            for at in range(0, len(spans) - count + 1, count):
                start, end = base + spans[at][0], base + spans[at + count - 1][1]
                parts.append(replace(utterance, id=f"{utterance.id}-{at:02d}", start=start, end=end))
        return Corpus(tuple(parts), self.root)

    def assign(self, seed: int = 0) -> Corpus:
        """Return the corpus with roles and splits for the utterances that have none.

        Every speaker is in one of train, dev and eval, in equal shares of each sex where it is known; nobody is added
        to train where some utterances have that role. The recordings of
        a dev or eval speaker are halved into enrolment and trials: parts of one file stay together, and so do those of
        a session where some speaker has two. The result depends on names and seed, not on the order of utterances.
        Speakers with one recording or session (`single`) are for training only.

        Parameters
        ----------
        seed
            Decides which speakers are in which part, and which recordings are enrolment.

        Raises
        ------
        InputError
            When eval, or dev where speakers were drawn, is left with fewer than two speakers.
        """
        speakers, apart = by_speaker(self.utterances), self.by_session
        parts = _draw_parts(speakers, seed, by_session=apart)
        assigned = {
            utterance.id: utterance
            for name, utterances in speakers.items()
            for utterance in assign_roles(utterances, parts.get(name), f"{seed}:{name}", by_session=apart)
        }
        result = Corpus(tuple(assigned[utterance.id] for utterance in self.utterances), self.root)
        for split in SPLITS if parts else ("eval",):
            enrolled, tried = ({item.speaker for item in result.select(role, split)} for role in ("enrol", "trial"))
            if len(enrolled & tried) < 2:
                once = f"{len(self.single)} of them with one {'session' if apart else 'recording'}"
                reason = f"{len(speakers)} speakers, {once}, leave fewer than two with enrolment and trials in {split}"
                raise InputError(f"{reason}; expected more speakers, or roles and splits to be given")
        return result


def by_speaker(utterances: Iterable[Utterance]) -> dict[str, list[Utterance]]:
    """Return the utterances of each speaker."""
    speakers: dict[str, list[Utterance]] = defaultdict(list)
    for utterance in utterances:
        speakers[utterance.speaker].append(utterance)
    return speakers


def session_of(utterance: Utterance) -> str:
    """Return the session that an utterance was recorded in, "" where it is unknown."""
    return utterance.attributes.get("session", "")


def occasions(utterances: Iterable[Utterance], *, by_session: bool) -> dict[str, list[Utterance]]:
    """Return the utterances of one speaker that are enrolled or tried together: those of a file, or of a session."""
    groups: dict[str, list[Utterance]] = defaultdict(list)
    for utterance in utterances:
        groups[session_of(utterance) if by_session else str(utterance.path)].append(utterance)
    return groups


def sex_of(utterances: Iterable[Utterance]) -> str:
    """Return the sex of one speaker, "" where it is unknown."""
    return next((item.attributes["sex"] for item in utterances if item.attributes.get("sex")), "")


def random_key(text: str) -> bytes:
    """Return a sort key for a random order that depends on this text alone."""
    return hashlib.sha256(text.encode()).digest()


def _draw_parts(speakers: Mapping[str, Sequence[Utterance]], seed: int, *, by_session: bool) -> dict[str, str]:
    """Return train, dev or eval for each speaker with utterances that have no role or split."""
    trained = any(item.role == "train" for utterances in speakers.values() for item in utterances)
    parts: dict[str, str] = {}
    free: list[tuple[str, bytes, str, bool]] = []
    for name, utterances in speakers.items():
        if all(item.role == "train" or (item.role is not None and item.split is not None) for item in utterances):
            continue
        splits = sorted({item.split for item in utterances if item.split is not None})
        role_free = all(item.role is None for item in utterances)
        if splits:
            parts[name] = splits[0]
        elif role_free and len(occasions(utterances, by_session=by_session)) < 2:
            parts[name] = "train"
        else:
            free.append((sex_of(utterances), random_key(f"{seed}:{name}"), name, role_free and not trained))
    counts = {True: dict.fromkeys(("eval", "dev", "train"), 0.0), False: dict.fromkeys(("eval", "dev"), 0.0)}
    for _, _, name, trainable in sorted(free):
        count = counts[trainable]
        total = sum(count.values()) + 1.0
        share = {part: _SHARES[part] / sum(_SHARES[other] for other in count) for part in count}
        part = max(count, key=lambda at: share[at] * total - count[at])
        count[part] += 1
        parts[name] = part
    return parts


def assign_roles(
    utterances: Sequence[Utterance], part: str | None, key: str, *, by_session: bool = False
) -> list[Utterance]:
    """Return one speaker's utterances with roles and splits.

    Parameters
    ----------
    utterances
        All utterances of the speaker.
    part
        train, dev or eval; None leaves them as they are.
    key
        Text that decides which recordings are enrolment.
    by_session
        Whether enrolment and trials are of different sessions.
    """
    if part is None:
        return list(utterances)
    if part == "train":
        return [item if item.role is not None else replace(item, role="train", split=None) for item in utterances]
    groups = occasions((item for item in utterances if item.role is None), by_session=by_session)
    order = sorted(groups, key=lambda group: (random_key(f"{key}:{min(item.id for item in groups[group])}"), group))
    enrolment = {item.id for group in order[: (len(order) + 1) // 2] for item in groups[group]}
    result = []
    for item in utterances:
        role = item.role or ("enrol" if item.id in enrolment else "trial")
        result.append(replace(item, role=role, split=item.split or (None if role == "train" else part)))
    return result


def path_below(utterance: Utterance, root: Path | None) -> Path:
    """Return the path below the root, or the name alone where it lies elsewhere."""
    if root is not None:
        for path, home in ((utterance.path, root), (utterance.path.absolute(), root.absolute())):
            if path.is_relative_to(home) and ".." not in path.relative_to(home).parts:
                return path.relative_to(home)
    return Path(utterance.path.name)


def _counterpart(utterance: Utterance, root: Path | None, home: Path, affix: Affix | None = None) -> Utterance | None:
    """Return the utterance with its anonymised file, None where there is none."""
    start, end, affix = utterance.start, utterance.end, affix or Affix()
    same: list[_Span] = [(file, start, end) for file in _with_suffixes(home / path_below(utterance, root), affix)]
    name = Path(f"{utterance.id}.wav")
    # An identifier may be a path, but not one that leads out of the folder (perhaps back to the original).
    safe = not name.is_absolute() and ".." not in name.parts
    named: list[_Span] = [(file, None, None) for file in _with_suffixes(home / name, affix)] if safe else []
    whole = start is None and end is None
    for file, start, end in same + named if whole else named + same:
        if is_file(file):
            return replace(utterance, path=file, start=start, end=end)
    return None


def _with_suffixes(file: Path, affix: Affix) -> list[Path]:
    ending = file.suffix if file.suffix.lower() in SUFFIXES else ""
    stem = f"{affix.before}{file.name.removesuffix(ending)}{affix.after}"
    return list(dict.fromkeys(file.with_name(stem + suffix) for suffix in (ending, *SUFFIXES)))
