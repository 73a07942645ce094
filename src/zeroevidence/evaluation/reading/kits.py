"""Folders of a challenge's kits: utility beside the scores, and rows that several folders have in common."""

from __future__ import annotations

import filecmp
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path

from zeroevidence.data.files.errors import is_folder
from zeroevidence.data.formats.lists.transcripts import read_classes, read_transcripts
from zeroevidence.data.formats.voiceprivacy.utility_files import KitTranscripts, find_kit_transcripts, find_tables
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.evaluation.reading.published import read_published
from zeroevidence.evaluation.reading.results import is_result
from zeroevidence.evaluation.reading.score_files import ScoreFile
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.scores.utility import evaluate_transcripts


def utility_in_folders(
    scores: Sequence[str], keys: Sequence[str] = (), *, systems: Sequence[str] = (), options: Options | None = None
) -> list[Evaluation]:
    """Word error rates and recall of emotions that are in result folders beside their scores.

    Word error rates are measured, with intervals by speaker, where the recogniser's texts and the transcripts are
    there; else they are what the kit's tables say, as recall of emotions always is.

    Parameters
    ----------
    scores
        As in `score_files`; only folders are searched.
    keys
        As in `score_files`.
    systems
        As in `score_files`.
    options
        Intervals and seed.
    """
    how, rows = options or Options(), dict[Hashable, Evaluation]()
    for place, path in enumerate(scores):
        if path == "-" or not is_folder(path) or is_result(path):
            continue
        key = keys[place if len(keys) == len(scores) else 0] if keys else None
        utility_rows = [
            row for text in find_kit_transcripts(path, key=key) if (row := _measured(text, how)) is not None
        ]
        utility_rows += [
            row for table in find_tables(path) for row in read_published(table) if row.about.role == "utility"
        ]
        for row in utility_rows:
            if systems:
                row = replace(row, labels={**row.labels, "system": systems[place]})
            rows.setdefault(_subject(row), row)
    return list(rows.values())


def _measured(text: KitTranscripts, options: Options) -> Evaluation | None:
    """The word error rate of one set, over the utterances that both sides have; None without what aligns words."""
    said, heard = read_transcripts(text.said), read_transcripts(text.heard)
    common = said.keys() & heard.keys()
    if not common:
        raise InputError(f"no utterance of {text.said}; expected the same utterances", path=text.heard)
    speakers = None if text.speakers is None else read_classes(text.speakers)
    both = ({name: side[name] for name in common} for side in (said, heard))
    try:
        return evaluate_transcripts(*both, speakers=speakers, labels=text.labels, speech=text.speech, options=options)
    except MissingExtra:
        return None  # what the kit's table says is left


def _subject(row: Evaluation) -> Hashable:
    """What a row of utility is about: two that agree in it say the same thing."""
    kind = next((name for name in ("wer", "uar", "recall") if name in row), "")
    return kind, row.about.speech, tuple(sorted(row.labels.items()))


def without_copies(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """The files without those that are copies of another with the same name: original speech, in every kit's folder."""
    distinct: list[ScoreFile] = []
    for file in files:
        same = (other for other in distinct if (other.labels, other.about) == (file.labels, file.about))
        if not any(_copied(other, file) for other in same):
            distinct.append(file)
    return distinct


def _copied(file: ScoreFile, other: ScoreFile) -> bool:
    if file.parts or other.parts:
        pairs = zip(file.parts, other.parts, strict=False)
        return len(file.parts) == len(other.parts) and all(_copied(*pair) for pair in pairs)
    if (file.dev, file.calibrate) != (other.dev, other.calibrate) or "-" in (file.scores, other.scores):
        return False
    both = ((file.scores, other.scores), (file.key, other.key), (file.nontargets, other.nontargets))
    return all(
        first == second or (first is not None and second is not None and _same(first, second)) for first, second in both
    )


def _same(first: str, second: str) -> bool:
    return Path(first).is_file() and Path(second).is_file() and filecmp.cmp(first, second, shallow=False)
