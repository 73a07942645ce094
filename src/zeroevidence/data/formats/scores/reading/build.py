"""Speakers behind the identifiers of joined trials, and the `Scores` that result.

In Kaldi-style data an enrolment is an identity, so its speaker is itself, and a trial's speaker is the enrolment that
it is a target for. In VoxCeleb-style data both sides are utterances, and speakers are unknown unless a file lists
them.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from zeroevidence._typing import BoolArray, IntArray, StrArray
from zeroevidence.data.formats.lists.speakers import SpeakerList
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.join import JoinedTrials
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import Problem


def build_scores(
    joined: JoinedTrials, scores: Table, key: Table | None, speakers: SpeakerList | None
) -> tuple[Scores | None, list[Problem]]:
    """Return scores with identifiers and speakers, or the problems of labels and speakers."""
    labelled = scores if key is None else key
    score, target = (
        scores.frame["score"].to_numpy()[joined.score_row],
        labelled.frame["label"].to_numpy()[joined.key_row],
    )
    problem = one_class_problem(labelled.name, target)
    if problem:
        return None, [problem]
    (enrolment_speakers, trial_speakers), problems = _speakers(joined, target, scores, key, speakers)
    if problems:
        return None, problems
    data = Scores(
        score[target],
        score[~target],
        Pairs(joined.enrol[target], joined.trial[target]),
        Pairs(joined.enrol[~target], joined.trial[~target]),
        _strings(joined.enrolments),
        _strings(joined.trials),
        enrolment_speakers,
        trial_speakers,
    )
    return data, []


def one_class_problem(name: str, target: BoolArray) -> Problem | None:
    """Return the problem of a file whose trials are all targets, or all non-targets."""
    if target.any() and not target.all():
        return None
    kind = "target" if target.any() else "nontarget"
    return Problem(name, None, f"all {len(target)} trials are {kind}; expected both target and nontarget trials")


def _strings(ids: pl.Series) -> StrArray:
    return np.array(ids.to_list(), dtype=np.str_)


def _speakers(
    joined: JoinedTrials, target: BoolArray, scores: Table, key: Table | None, speakers: SpeakerList | None
) -> tuple[tuple[StrArray | None, StrArray | None], list[Problem]]:
    """Return the speaker of each enrolment and of each trial: from a list, from columns, or from the format."""
    identities = SCORE_FORMATS[(key or scores).format].identities
    if speakers is not None:
        enrolments, trials = joined.enrolments.to_list(), joined.trials.to_list()
        problems = speakers.missing(trials, "trial")
        if not identities:
            problems += speakers.missing(enrolments, "enrolment")
        enrolment_speakers = np.array([speakers.speakers.get(name, name) for name in enrolments], np.str_)
        return (enrolment_speakers, np.array([speakers.speakers.get(name, "") for name in trials], np.str_)), problems
    enrolled, enrolment_problems = _speaker_column("enrol_speaker", joined, scores, key)
    tried, trial_problems = _speaker_column("trial_speaker", joined, scores, key)
    problems = enrolment_problems + trial_problems
    if problems or not identities or enrolled is not None or tried is not None:
        return (enrolled, tried), problems
    return (_strings(joined.enrolments), _target_enrolments(joined, target)), []


def _speaker_column(
    column: str, joined: JoinedTrials, scores: Table, key: Table | None
) -> tuple[StrArray | None, list[Problem]]:
    """Return the speakers that a column of the table gives, one for each identifier."""
    table, chosen = (scores, joined.score_row) if key is None or not key.has(column) else (key, joined.key_row)
    if not table.has(column):
        return None, []
    rows = np.arange(len(table.frame))[chosen]
    ids, codes = (joined.enrolments, joined.enrol) if column == "enrol_speaker" else (joined.trials, joined.trial)
    names = table.frame[column]
    _, first = np.unique(codes, return_index=True)
    speakers = names.gather(rows[first])
    problems = FileProblems(table.name)
    wrong = np.flatnonzero((names.gather(rows) != speakers.gather(codes)).to_numpy())

    def reason(at: int) -> str:
        code = int(codes[wrong[at]])
        here, before = names[int(rows[wrong[at]])], speakers[code]
        return f"{column} of {ids[code]!r} is {here!r} here but {before!r} elsewhere; expected one speaker"

    problems.add_rows(table, rows[wrong], reason)
    return _strings(speakers), problems.all()


def _target_enrolments(joined: JoinedTrials, target: BoolArray) -> StrArray:
    """Return for each trial the one enrolment that it is a target for, "" where there is none or more than one."""
    trial, enrol = joined.trial[target], joined.enrol[target]
    count = np.bincount(trial, minlength=len(joined.trials))
    enrolment: IntArray = np.full(len(joined.trials), -1, np.int64)
    enrolment[trial] = enrol
    enrolment[count != 1] = -1
    return np.append(_strings(joined.enrolments), "")[enrolment]
