"""Lists of an anonymised corpus: the files that make its folder a corpus of the same kind as the original.

Speakers, roles, splits, attributes and transcripts are those of the original. Files that describe original audio, such
as lengths, features and segments, are not copied.
"""

from __future__ import annotations

import csv
import io
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from zeroevidence.data.files.writing import write_atomically
from zeroevidence.data.formats.corpora.corpus_files import CorpusRows, UtteranceRow
from zeroevidence.data.speech.corpus import Utterance

_KALDI = ("wav.scp", "segments")  # files that name the utterances of a Kaldi data folder
_KALDI_COPIES = ("spk2gender", "enrolls", "trials", "text", "utt2emo")
_COPIES = ("speakers.tsv", "text", "utt2emo")  # of a tree or a table
_BESIDE = (".txt", ".lab", ".normalized.txt")  # transcripts of one recording
_CHAPTER = "*.trans.txt"  # transcripts of the recordings of a folder
_FIELDS = ("utterance", "speaker", "path", "role", "split")


def write_lists(rows: CorpusRows, source: Path, home: Path, targets: Mapping[str, Path]) -> None:
    """Write the lists of an anonymised corpus.

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
        _write(home / "utterances.tsv", _table(table, targets))


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
        _write(place / "wav.scp", _lines(paths))
        _write(place / "utt2spk", _lines({each.id: each.speaker for each in utterances}))
        _write(place / "spk2utt", _lines({name: " ".join(sorted(ids)) for name, ids in speakers.items()}))
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
            data = file.read_bytes()
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, lambda temporary, data=data: temporary.write_bytes(data))  # type: ignore[misc]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))
