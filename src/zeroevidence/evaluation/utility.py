"""Utility of protected speech with intervals by speaker: of transcripts and lengths, and of the kits of a challenge."""

from __future__ import annotations

import filecmp
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.audio import read_header
from zeroevidence.data.corpus import SEGMENT_RATE, Corpus, Utterance
from zeroevidence.data.files import is_folder
from zeroevidence.data.formats.lists import read_classes, read_transcripts
from zeroevidence.data.formats.voiceprivacy_tables import KitTranscripts, find_kit_transcripts, find_tables
from zeroevidence.data.threat import Training
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.evaluation.results import is_result, read_published
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag, resampling_flags
from zeroevidence.evaluation.rows.measure_result import results_by_unit
from zeroevidence.evaluation.rows.setup import Options, Resampling, Setup, digest
from zeroevidence.evaluation.score_files import ScoreFile
from zeroevidence.measure.measures import compute_family
from zeroevidence.measure.utility import LengthView, RecallView, TranscriptView
from zeroevidence.optional import optional
from zeroevidence.run import Run
from zeroevidence.uncertainty.groups import draw_groups
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import Spread, effective_number, estimate_spreads

_KINDS = {"substitute": 0, "delete": 1, "insert": 2}


@dataclass(frozen=True, slots=True)
class UtilityRowSettings:
    """What a row of utility is called, whose speech it is of, and how intervals are made."""

    labels: Mapping[str, str]
    speech: Training
    options: Options
    run: Run


def evaluate_transcripts(
    said: Mapping[str, str],
    heard: Mapping[str, str],
    *,
    speakers: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    speech: Training = "anonymised",
    options: Options = Options(),
    run: Run = Run(),
) -> Evaluation:
    """Word error rate of a recogniser, and its parts: words that became others, were lost, or were added.

    Beside it stands the rate of wrong characters, for languages that are written without blanks. Words are compared as
    they are written; write both sides alike.

    Parameters
    ----------
    said
        The words of each utterance.
    heard
        The words that the recogniser wrote.
    speakers
        Who speaks; intervals leave speakers out, or single utterances where nobody says.
    labels
        Labels of the row.
    speech
        Whether the recogniser heard original or anonymised speech.
    options
        Intervals.
    run
        Seed and level.

    Raises
    ------
    MissingExtra
        Without jiwer, which aligns the words.
    """
    names = _common(said, heard, "transcript")
    silent = [name for name in names if not said[name].split()]
    if silent:
        raise InputError(f"no words in the transcript of {silent[0]!r}; expected what was said")
    both = [said[name] for name in names], [heard[name] for name in names]
    errors = np.hstack((word_errors(*both), character_errors(*both)))
    how = UtilityRowSettings(labels or {}, speech, options, run)
    counts = {"utterances": len(names), "words": int(errors[:, 3].sum())}
    return utility_row(
        errors, errors[:, 3], lambda sums: TranscriptView(*sums), who_speaks(names, speakers), counts, how
    )


def word_errors(said: Sequence[str], heard: Sequence[str]) -> FloatArray:
    """For each utterance its substitutions, deletions, insertions, and the words that were said."""
    jiwer = optional("jiwer", "utility", "word error rates")
    return _aligned_errors(jiwer.process_words(list(said), list(heard)).alignments)


def character_errors(said: Sequence[str], heard: Sequence[str]) -> FloatArray:
    """For each utterance its errors of characters, blanks among them, and the characters that were said."""
    jiwer = optional("jiwer", "utility", "character error rates")
    errors = _aligned_errors(jiwer.process_characters(list(said), list(heard)).alignments)
    return np.stack((errors[:, :3].sum(axis=1), errors[:, 3]), axis=1)


def _aligned_errors(alignments: Sequence[Any]) -> FloatArray:
    errors = np.zeros((len(alignments), 4))
    for place, chunks in enumerate(alignments):
        for chunk in chunks:
            of_said, of_heard = chunk.ref_end_idx - chunk.ref_start_idx, chunk.hyp_end_idx - chunk.hyp_start_idx
            errors[place, 3] += of_said
            if chunk.type in _KINDS:
                errors[place, _KINDS[chunk.type]] += max(of_said, of_heard)
    return errors


def evaluate_classes(
    truth: Mapping[str, str],
    recognised: Mapping[str, str],
    *,
    speakers: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    speech: Training = "anonymised",
    options: Options = Options(),
    run: Run = Run(),
) -> list[Evaluation]:
    """Unweighted average recall of classes such as emotions, then the recall of each (label ``emotion``).

    Parameters
    ----------
    truth
        The class of each utterance.
    recognised
        The class that was recognised.
    speakers
        As in `evaluate_transcripts`.
    labels
        As in `evaluate_transcripts`.
    speech
        As in `evaluate_transcripts`.
    options
        As in `evaluate_transcripts`.
    run
        As in `evaluate_transcripts`.
    """
    names = _common(truth, recognised, "class")
    classes = sorted({truth[name] for name in names})
    total = np.array([[truth[name] == category for category in classes] for name in names], dtype=np.float64)
    right = total * np.array([[recognised[name] == category for category in classes] for name in names])
    who, how = who_speaks(names, speakers), UtilityRowSettings(labels or {}, speech, options, run)

    def view(sums: FloatArray) -> RecallView:
        return RecallView(*np.split(sums, 2))

    counts = {"utterances": len(names)}
    rows = [utility_row(np.hstack((right, total)), np.ones(len(names)), view, who, counts, how)]
    for place, category in enumerate(classes):
        mine = replace(how, labels={**how.labels, "emotion": category})
        columns = np.stack((right[:, place], total[:, place]), axis=1)
        counts = {"utterances": int(total[:, place].sum())}
        rows.append(utility_row(columns, total[:, place], view, who, counts, mine))
    return rows


def evaluate_lengths(
    original: Corpus,
    anonymised: Corpus,
    *,
    labels: Mapping[str, str] | None = None,
    options: Options = Options(),
    run: Run = Run(),
) -> Evaluation:
    """How much longer or shorter utterances became, as a share of how long they were."""
    both = utterance_pairs(original, anonymised)
    pairs = np.array([[_seconds(before), _seconds(after)] for before, after in both])
    columns = np.stack((np.abs(pairs[:, 1] - pairs[:, 0]), pairs[:, 0]), axis=1)
    names = [before.id for before, _ in both]
    who = who_speaks(names, {before.id: before.speaker for before, _ in both})
    how = UtilityRowSettings(labels or {}, "anonymised", options, run)
    return utility_row(columns, pairs[:, 0], lambda sums: LengthView(*sums), who, {"utterances": len(names)}, how)


def utterance_pairs(original: Corpus, anonymised: Corpus) -> list[tuple[Utterance, Utterance]]:
    """Utterances that both corpora have, in alphabetical order."""
    before, after = ({utterance.id: utterance for utterance in corpus.utterances} for corpus in (original, anonymised))
    names = sorted(before.keys() & after.keys())
    if not names:
        raise InputError("no utterance is in both corpora; expected the same")
    return [(before[name], after[name]) for name in names]


def _seconds(utterance: Utterance) -> float:
    """How long an utterance is, which may be a part of its file."""
    end = read_header(utterance.path)[1] if utterance.end is None else utterance.end / SEGMENT_RATE
    return end - (utterance.start or 0) / SEGMENT_RATE


def _common(said: Mapping[str, str], heard: Mapping[str, str], what: str) -> list[str]:
    """Utterances in alphabetical order; both sides must have the same."""
    for here, there, problem in ((said, heard, f"no recognised {what}"), (heard, said, f"no {what}")):
        lacking = sorted(here.keys() - there.keys())
        if lacking:
            more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
            raise InputError(
                f"{problem} for utterance {lacking[0]!r}{more}; expected the same utterances on both sides"
            )
    if not said:
        raise InputError("no utterances; expected at least one")
    return sorted(said)


def who_speaks(names: Sequence[str], speakers: Mapping[str, str] | None) -> tuple[IntArray, str]:
    """Return the group of each utterance that is left out together, and the unit of the groups."""
    if speakers is None:
        return np.arange(len(names)), "utterance"
    unknown = [name for name in names if name not in speakers]
    if unknown:
        raise InputError(f"no speaker for utterance {unknown[0]!r}; expected one for every utterance")
    return np.unique([speakers[name] for name in names], return_inverse=True)[1], "speaker"


def utility_row(
    columns: FloatArray,
    weight: FloatArray,
    view: Callable[[FloatArray], object],
    who: tuple[IntArray, str],
    counts: dict[str, int],
    how: UtilityRowSettings,
) -> Evaluation:
    """Measures of sums over utterances, with intervals from the sums without each speaker.

    Parameters
    ----------
    columns
        What is summed, a row for each utterance.
    weight
        How much each utterance counts.
    view
        What measures see of the sums.
    who
        As `who_speaks` says it.
    counts
        Counts of the row.
    how
        Labels, speech and options of the row.
    """
    code, unit = who
    sums = columns.sum(axis=0)
    values = compute_family("utility", view(sums))
    most, seed = how.options.intervals, how.run.seed
    clusters = int(code.max()) + 1
    spreads: dict[str, Spread] = {}
    number = min(most, clusters)
    flags: list[Flag] = []
    if most:
        people = effective_number(np.bincount(code, weights=weight).astype(np.float64))
        unnamed = [flag("speakers-unknown", unit=unit, remedy="name --speakers")]
        flags = unnamed if unit == "utterance" else resampling_flags(unit, clusters, people)
    if most and clusters >= LEAST_PEOPLE:
        group = draw_groups(clusters, most, seed)[code]
        fewer = (sums - columns[group == g].sum(axis=0) for g in range(number))
        without = [compute_family("utility", view(sums_left)) for sums_left in fewer]
        shares = np.bincount(group, weights=weight, minlength=number) / weight.sum()
        spreads = estimate_spreads(values, without, shares, people)
    intervals, data = Resampling(unit, number) if most else None, digest([columns.ravel(), code])
    return Evaluation(
        metrics=results_by_unit(values, spreads, how.run.level, unit),
        counts=counts | ({"speakers": clusters} if unit == "speaker" else {}),
        setup=Setup(families=("utility",), intervals=intervals, level=how.run.level, seed=seed, data=data),
        labels=how.labels,
        about=About(role="utility", speech=how.speech),
        flags=tuple(flags),
    )


def utility_in_folders(
    scores: Sequence[str],
    keys: Sequence[str] = (),
    *,
    systems: Sequence[str] = (),
    options: Options = Options(),
    run: Run = Run(),
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
        Intervals.
    run
        Seed and level.
    """
    rows = dict[Hashable, Evaluation]()
    for place, path in enumerate(scores):
        if path == "-" or not is_folder(path) or is_result(path):
            continue
        key = keys[place if len(keys) == len(scores) else 0] if keys else None
        utility_rows = [
            row for text in find_kit_transcripts(path, key=key) if (row := _measured(text, options, run)) is not None
        ]
        utility_rows += [
            row for table in find_tables(path) for row in read_published(table) if row.about.role == "utility"
        ]
        for row in utility_rows:
            if systems:
                row = replace(row, labels={**row.labels, "system": systems[place]})
            rows.setdefault(_subject(row), row)
    return list(rows.values())


def _measured(text: KitTranscripts, options: Options, run: Run) -> Evaluation | None:
    """The word error rate of one set, over the utterances that both sides have; None without what aligns words."""
    said, heard = read_transcripts(text.said), read_transcripts(text.heard)
    common = said.keys() & heard.keys()
    if not common:
        raise InputError(f"no utterance of {text.said}; expected the same utterances", path=text.heard)
    speakers = None if text.speakers is None else read_classes(text.speakers)
    both = ({name: side[name] for name in common} for side in (said, heard))
    try:
        return evaluate_transcripts(
            *both, speakers=speakers, labels=text.labels, speech=text.speech, options=options, run=run
        )
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
