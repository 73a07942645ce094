"""Who is behind the identifiers, and the Scores that result.

In Kaldi-style data an enrolment is an identity, so its speaker is itself, and a trial's speaker is the
enrolment that it is a target for. In VoxCeleb-style data both sides are utterances, and nobody is known
unless a file says.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.formats.lists.speakers import Speakers, uncovered
from zeroevidence.data.formats.scores.reading.join import JoinedTrials
from zeroevidence.data.formats.scores.reading.table import Problems, Table
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import Problem


def build(
    joined: JoinedTrials, scores: Table, key: Table | None, speakers: Speakers | None
) -> tuple[Scores | None, list[Problem]]:
    """Scores with identifiers and speakers, or why the speakers are not known."""
    people, problems = _people(joined, scores, key, speakers)
    if problems:
        return None, problems
    target = joined.label
    return (
        Scores(
            target=joined.score[target],
            nontarget=joined.score[~target],
            target_pairs=Pairs(joined.enrol[target], joined.trial[target]),
            nontarget_pairs=Pairs(joined.enrol[~target], joined.trial[~target]),
            enrolments=_strings(joined.enrolments),
            trials=_strings(joined.trials),
            enrolment_speakers=people[0],
            trial_speakers=people[1],
        ),
        [],
    )


def _strings(ids: pl.Series) -> StrArray:
    return np.array(ids.to_list(), dtype=np.str_)


def _people(
    joined: JoinedTrials, scores: Table, key: Table | None, speakers: Speakers | None
) -> tuple[tuple[StrArray | None, StrArray | None], list[Problem]]:
    identities = SCORE_FORMATS[(key or scores).format].identities
    if speakers is not None:
        enrolments, trials = joined.enrolments.to_list(), joined.trials.to_list()
        problems = uncovered(trials, speakers, "trial")
        if not identities:
            problems += uncovered(enrolments, speakers, "enrolment")
        behind = [speakers.of.get(one, one) for one in enrolments]
        return (
            np.array(behind, np.str_),
            np.array([speakers.of.get(one, "") for one in trials], np.str_),
        ), problems
    named = {column: _column(column, joined, scores, key) for column in ("enrol_speaker", "trial_speaker")}
    problems = [problem for _, found in named.values() for problem in found]
    said = named["enrol_speaker"][0], named["trial_speaker"][0]
    if problems or not identities or any(names is not None for names in said):
        return said, problems
    return (_strings(joined.enrolments), _owners(joined)), []


def _column(
    column: str, joined: JoinedTrials, scores: Table, key: Table | None
) -> tuple[StrArray | None, list[Problem]]:
    """The speakers that a table's own column gives, one for each identifier."""
    table, rows = (scores, joined.score_row) if key is None or not key.has(column) else (key, joined.key_row)
    if not table.has(column):
        return None, []
    ids, codes = (joined.enrolments, joined.enrol) if column == "enrol_speaker" else (joined.trials, joined.trial)
    names = table.frame[column]
    _, first = np.unique(codes, return_index=True)
    speakers = names.gather(rows[first])
    problems = Problems(table.name)
    wrong = np.flatnonzero((names.gather(rows) != speakers.gather(codes)).to_numpy())

    def reason(at: int) -> str:
        code = int(codes[wrong[at]])
        here, before = names[int(rows[wrong[at]])], speakers[code]
        return f"{column} of {ids[code]!r} is {here!r} here but {before!r} elsewhere; expected one speaker"

    problems.each(table, rows[wrong], reason)
    return _strings(speakers), problems.all()


def _owners(joined: JoinedTrials) -> StrArray:
    """For each trial the one enrolment that it is a target for, "" where there is none or more than one."""
    trial, enrol = joined.trial[joined.label], joined.enrol[joined.label]
    count = np.bincount(trial, minlength=len(joined.trials))
    owner: IntArray = np.full(len(joined.trials), -1, np.int64)
    owner[trial] = enrol
    owner[count != 1] = -1
    return np.append(_strings(joined.enrolments), "")[owner]
