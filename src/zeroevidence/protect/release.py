"""A release of anonymised speech: the card of its protector, the digests of its recordings, and its lists."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from zeroevidence.data.corpus import Utterance
from zeroevidence.data.files import is_file, reading_file
from zeroevidence.data.formats.corpus_files import CorpusRows, UtteranceRow
from zeroevidence.data.json_values import load_json, typed
from zeroevidence.data.printable import labelled_lines
from zeroevidence.data.writing import write_file
from zeroevidence.errors import InputError, ZeroEvidenceError
from zeroevidence.protect.voices import (
    ProtectorPart,
    VoiceProtector,
    find_voice_protectors,
    load_protector,
    protector_parts,
)

_DEFENCE = "Keep recordings from being linked to the people who speak in them."
_OPPORTUNITY = (
    "Full control of the recordings before anybody else has them: every one is changed before it is released.",
    "Knowledge that attackers compare voices with speaker encoders.",
)
_ELSEWHERE = "Not known here: the speech was protected elsewhere."


# whose random numbers a protector uses: none, those of a seed, or those of a program outside this package
Draws: TypeAlias = Literal["none", "seeded", "program"]


@dataclass(frozen=True, slots=True)
class RefusedRecording:
    """A recording that could not be anonymised.

    Parameters
    ----------
    utterance
        Its identifier.
    reason
        Why it was refused.
    """

    utterance: str
    reason: str


@dataclass(frozen=True, slots=True)
class Release:
    """How a folder of anonymised speech was made.

    Parameters
    ----------
    version
        Version of this package.
    rate
        Sample rate that was asked for, None where each file kept its own.
    format
        Suffix of files that was asked for, None where each file kept its own.
    draws
        Whose random numbers the protector used.
    seed
        The seed of the draws, None where it was not kept or nothing is drawn.
    recordings
        Number of recordings that were written.
    refused
        The recordings that could not be anonymised and were not written.
    original
        SHA-256 of the list of identifiers and digests of the original recordings.
    digests
        SHA-256 of the file that lists the digests of the anonymised recordings.
    mixed
        Number of recordings whose channels were averaged into one.
    silenced
        Number of pieces of long recordings that could not be anonymised and are silent.
    """

    version: str
    rate: int | None
    format: str | None
    draws: Draws
    seed: int | None
    recordings: int
    refused: tuple[RefusedRecording, ...]
    original: str
    digests: str
    mixed: int = 0
    silenced: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The facts in words."""
        rate = "rates kept" if self.rate is None else f"{self.rate} Hz"
        format_text = "formats kept" if self.format is None else f"{self.format} files"
        draws = {
            "none": "Nothing is drawn: the same recording gives the same speech again.",
            "seeded": "Drawn by a seed that was not kept." if self.seed is None else f"Drawn by seed {self.seed}.",
            "program": "Random choices, if any, are those of the program.",
        }[self.draws]
        count = f"{self.recordings} recording{'s'[: self.recordings != 1]}"
        refused = f", {len(self.refused)} refused" if self.refused else ""
        mixed = (f"{self.mixed} of several channels, which were averaged into one.",) if self.mixed else ()
        silent = (
            "1 piece of a long recording was refused and is"
            if self.silenced == 1
            else (f"{self.silenced} pieces of long recordings were refused and are")
        )
        silenced = (f"{silent} silent, as pieces.csv lists.",) if self.silenced else ()
        return (f"{count}{refused}; {rate}, {format_text}; zeroevidence {self.version}.", *mixed, *silenced, draws)


def shown_fields(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return a card as `ProtectorCard.to_dict` returns it, with its parts and its release in words."""
    shown = {name: value for name, value in card.items() if name != "sha256"}
    if card.get("parts"):
        shown["parts"] = [str(ProtectorPart(**part)) for part in card["parts"]]
    if card.get("release"):
        shown["release"] = list(Release(**card["release"]).sentences)
    return shown


@dataclass(frozen=True, slots=True)
class ProtectorCard:
    """Defence, method, utility, opportunity and resources of a protector, in sentences, and how a release was made."""

    name: str
    defence: str
    method: str
    utility: str
    opportunity: tuple[str, ...]
    resources: tuple[str, ...]
    parts: tuple[ProtectorPart, ...] = ()
    release: Release | None = None

    @property
    def recognises(self) -> bool:
        """Whether a recogniser writes down the words that are spoken."""
        return any(part.role == "recogniser" for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain values, for JSON; without parts and a release where there are none.

        That of a release has the SHA-256 of all that it says, by which a card that was changed is told.
        """
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        values = {name: value for name, value in values.items() if name not in ("parts", "release") or value}
        digest = {"sha256": text_digest(json.dumps(values, sort_keys=True))} if self.release else {}
        return values | digest

    def to_text(self, width: int | None = None) -> str:
        """Return the card as lines, one field each, wrapped to a `width` unless it is None."""
        return labelled_lines("protector", shown_fields(self.to_dict()), width)


def protector_card(text: str) -> ProtectorCard:
    """Return the card of a voice protector, by its name on the command line.

    Examples
    --------
    >>> card = protector_card("mcadams:0.7+pitch:2")
    >>> card.method
    'Moves the resonances of the vocal tract. Then: Moves the pitch; formants stay.'
    >>> card.resources
    ('No training, and no speech of others.',)
    """
    kinds = find_voice_protectors(text)
    method = " Then: ".join(kind.description for kind in kinds)
    keeps, needs = (tuple(dict.fromkeys(getattr(kind, name) for kind in kinds)) for name in ("keeps", "needs"))
    return ProtectorCard(text, _DEFENCE, method, " ".join(keeps), _OPPORTUNITY, needs, protector_parts(text))


def unknown_protector_card(name: str) -> ProtectorCard:
    """Return the card of a system that wrote its protected speech elsewhere.

    Examples
    --------
    >>> unknown_protector_card("b5").method
    'Not known here: the speech was protected elsewhere.'
    """
    return ProtectorCard(name, _DEFENCE, _ELSEWHERE, _ELSEWHERE, _OPPORTUNITY, (_ELSEWHERE,))


CARD = "protector.json"
DIGESTS = "digests.txt"
_LINE = re.compile(r"(\\?)([0-9a-f]{64})  (.+)")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_UNESCAPED = {escaped: character for character, escaped in _ESCAPES.items()}


def protector_without_draws(card: ProtectorCard) -> VoiceProtector | None:
    """Return the protector of a release whose card says that it draws nothing, unless it is a program of others."""
    if card.release is None or card.release.draws != "none":
        return None
    try:
        kinds = find_voice_protectors(card.name)
        return None if any(kind.name == "command" for kind in kinds) else load_protector(card.name)
    except ZeroEvidenceError:  # not installed, or not known here
        return None


def digest_list(digests: Mapping[str, str]) -> str:
    r"""Return the lines of a list of digests by name.

    Examples
    --------
    >>> digest_list({"b.wav": "00", "a\\.wav": "ff"})
    '\\ff  a\\\\.wav\n00  b.wav\n'
    """
    lines = []
    for name, digest in sorted(digests.items()):
        escaped = re.sub(r"[\\\n\r]", lambda match: _ESCAPES[match[0]], name)
        lines.append(f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n")
    return "".join(lines)


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None


def write_release(folder: Path, card: ProtectorCard, digests: str) -> None:
    """Write the list of digests, and last the card."""
    write_file(folder / DIGESTS, digests.encode("utf-8", "surrogateescape"))
    write_file(folder / CARD, json.dumps(card.to_dict(), indent=1, ensure_ascii=False) + "\n")


def read_card(folder: str | Path) -> ProtectorCard | None:
    """Return the card in a folder of anonymised speech or of an audit, None where there is none."""
    file = Path(folder) / CARD
    if not is_file(file):
        return None
    with reading_file(file, "card"):
        values = load_json(file)
        digest = values.pop("sha256", None) if isinstance(values, dict) else None
        card = typed(ProtectorCard, values, "card")
        if digest is not None and card.to_dict().get("sha256") != digest:  # cards of earlier versions have none
            raise InputError("was changed after it was written: its sha256 is of another card", path=file)
        return card


def refused_recordings(folder: str | Path) -> tuple[RefusedRecording, ...]:
    """Return the recordings that the card in a folder of anonymised speech lists as refused."""
    card = read_card(folder)
    return () if card is None or card.release is None else card.release.refused


def release_card(folder: str | Path, recordings: Sequence[Path], say: Callable[[str], None]) -> ProtectorCard:
    """Return the card of anonymised speech: the one in its folder, where it describes these recordings.

    ``digests.txt`` has the form of ``sha256sum``, which can check it; the card names its digest. So a card is believed
    only where the recordings are those that it describes.

    Parameters
    ----------
    folder
        The folder of anonymised speech.
    recordings
        Its recordings that are used.
    say
        Called with a message where a card describes others.
    """
    home, card = Path(folder), read_card(folder)
    digests: dict[str, str] = {}
    if card is None:
        return unknown_protector_card(home.name)
    file = home / DIGESTS
    if card.release is not None and is_file(file):
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() == card.release.digests:
            lines = data.decode("utf-8", "surrogateescape").split("\n")
            for match in filter(None, map(_LINE.fullmatch, lines)):
                name = re.sub(r"\\[\\nr]", lambda escape: _UNESCAPED[escape[0]], match[3]) if match[1] else match[3]
                digests[name] = match[2]
    for path in dict.fromkeys(recordings):  # parts may share a file
        if digests.get(path.relative_to(home).as_posix()) != file_digest(path):
            say(f"note: {path}: is not the recording that {CARD} describes; the card is left out")
            return unknown_protector_card(home.name)
    return card


_KALDI = ("wav.scp", "segments")  # files that name the utterances of a Kaldi data folder
_KALDI_COPIES = ("spk2gender", "enrolls", "trials", "text", "utt2emo")
_COPIES = ("speakers.tsv", "text", "utt2emo")  # of a tree or a table
_BESIDE = (".txt", ".lab", ".normalized.txt")  # transcripts of one recording
_CHAPTER = "*.trans.txt"  # transcripts of the recordings of a folder
_FIELDS = ("utterance", "speaker", "path", "role", "split")


def write_lists(rows: CorpusRows, source: Path, home: Path, targets: Mapping[str, Path]) -> None:
    """Write the lists of an anonymised corpus.

    Speakers, roles, splits, attributes and transcripts are those of the original. Files that describe original audio,
    such as lengths, features and segments, are not copied.

    Parameters
    ----------
    rows
        The original corpus.
    source
        Its folder or table.
    home
        Folder of the anonymised speech.
    targets
        Path of each recording that was written, below `home`, by identifier.
    """
    written = [row for row in rows.rows if row.utterance.id in targets]
    kaldi = [row for row in written if Path(row.name).name in _KALDI and row.line is not None]
    table = [row for row in written if row.line is not None and Path(row.name).name not in _KALDI]
    _write_kaldi(kaldi, source, home, targets)
    folder = source if source.is_dir() else source.parent
    if not kaldi:
        _copy((folder / name, home / name) for name in _COPIES)
        _copy(_transcripts((row.utterance for row in written), targets, home))
    if table:
        write_file(home / "utterances.tsv", _table(table, targets))


def _write_kaldi(rows: list[UtteranceRow], source: Path, home: Path, targets: Mapping[str, Path]) -> None:
    folders: dict[Path, list[Utterance]] = defaultdict(list)
    for row in rows:
        folders[Path(row.name).parent].append(row.utterance)
    for folder, utterances in folders.items():
        place = home / folder.relative_to(source)
        speakers: dict[str, list[str]] = defaultdict(list)
        for each in utterances:
            speakers[each.speaker].append(each.id)
        paths = {each.id: os.path.relpath(home / targets[each.id], place) for each in utterances}
        write_file(place / "wav.scp", _lines(paths))
        write_file(place / "utt2spk", _lines({each.id: each.speaker for each in utterances}))
        write_file(place / "spk2utt", _lines({name: " ".join(sorted(ids)) for name, ids in speakers.items()}))
        _copy((folder / name, place / name) for name in _KALDI_COPIES)


def _lines(values: Mapping[str, str]) -> str:
    return "".join(f"{name} {value}\n" for name, value in sorted(values.items()))


def _table(rows: list[UtteranceRow], targets: Mapping[str, Path]) -> str:
    attributes = list(dict.fromkeys(name for row in rows for name in row.utterance.attributes))
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerow([*_FIELDS, *attributes])
    for row in rows:
        each = row.utterance
        fields = (each.id, each.speaker, targets[each.id].as_posix(), each.role or "", each.split or "")
        writer.writerow([*fields, *(each.attributes.get(name, "") for name in attributes)])
    return buffer.getvalue()


def _transcripts(
    utterances: Iterable[Utterance], targets: Mapping[str, Path], home: Path
) -> Iterable[tuple[Path, Path]]:
    """Yield the transcripts beside recordings, and where they go."""
    for each in utterances:
        place = home / targets[each.id]
        yield from ((each.path.with_suffix(suffix), place.with_suffix(suffix)) for suffix in _BESIDE)
        yield from ((file, place.parent / file.name) for file in sorted(each.path.parent.glob(_CHAPTER)))


def _copy(pairs: Iterable[tuple[Path, Path]]) -> None:
    for file, target in dict.fromkeys(pairs):
        if file.is_file():
            write_file(target, file.read_bytes())
