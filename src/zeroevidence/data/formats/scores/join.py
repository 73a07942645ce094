"""Join of scores with their key on (enrolment, trial) identifiers, never by position, and the speakers behind these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
import polars as pl

from zeroevidence._typing import BoolArray, IntArray, StrArray
from zeroevidence.data.formats.lists import SpeakerList
from zeroevidence.data.formats.scores.layout import Table, label_text, labels_differ
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Duplicates, ReadingOptions
from zeroevidence.data.loaded_scores import RelaxedRule, composed_rule
from zeroevidence.data.preparing import acquired_scores
from zeroevidence.data.scores import Pairs, Scores, distinct_speakers, frozen
from zeroevidence.errors import Problem
from zeroevidence.parallel import compute_beside

Rows: TypeAlias = IntArray | slice

_ALL = slice(None)
_NAMES = ("enrol", "trial", "enrol_speaker", "trial_speaker")
_ROOM = 3  # an array over all possible pairs is used up to this multiple of the pairs that there are


@dataclass(frozen=True, slots=True)
class JoinedTrials:
    """The joined trials.

    Parameters
    ----------
    enrolments
        Distinct identifiers of enrolments.
    trials
        Distinct identifiers of trials.
    enrol
        Position of each trial's enrolment among the enrolments.
    trial
        Position of its trial identifier among the trials.
    score_row
        Its row of the score file.
    key_row
        Its row of the key, or of the score file where that has the labels.
    relaxed
        The rules that were relaxed.
    """

    enrolments: pl.Series
    trials: pl.Series
    enrol: IntArray
    trial: IntArray
    score_row: Rows
    key_row: Rows
    relaxed: tuple[RelaxedRule, ...]


def join(scores: Table, key: Table | None, options: ReadingOptions) -> tuple[JoinedTrials | None, list[Problem]]:
    """Return the joined trials, or the problems in the way.

    Parameters
    ----------
    scores
        The table of scores.
    key
        The table of the key; None where the scores have labels.
    options
        Rules for pairs that occur twice and for trials that one of the tables lacks.
    """
    base = scores if key is None else key
    numbered = compute_beside(*(partial(_numbered, base.frame[side]) for side in ("enrol", "trial")))
    (enrolments, enrol), (trials, trial) = numbered
    pair, size = enrol * len(trials) + trial, len(enrolments) * len(trials)
    score_pair = pair if key is None else _pairs(scores, enrolments, trials)
    again, first = _repeated(pair, size)
    if not len(again) and np.array_equal(score_pair, pair):  # the usual case: both files in the same order
        problems = [] if key is None else _contradictions(scores, key, np.arange(len(pair)))
        joined = JoinedTrials(enrolments, trials, enrol, trial, _ALL, _ALL, ())
        return None if problems else joined, problems
    place = _first_rows(score_pair, pair, size)  # row of each score in the key
    if not len(again) and len(place) == len(pair) and place.min() >= 0:
        score_row = np.full(len(pair), -1)
        score_row[place] = np.arange(len(place))
        if score_row.min() >= 0:  # every trial has one score
            problems = [] if key is None else _contradictions(scores, key, place)
            joined = JoinedTrials(enrolments, trials, enrol, trial, score_row, _ALL, ())
            return None if problems else joined, problems
    problems = _repetitions(base, again, first, options.duplicates)
    key_row, dropped = np.delete(np.arange(len(pair)), again), len(again)
    (in_key,), (not_in_key,) = np.nonzero(place >= 0), np.nonzero(place < 0)
    score_row = np.full(len(pair), -1)
    score_row[place[in_key]] = in_key  # the last of several stays
    missing = score_row[key_row] < 0
    if key is not None:
        again, first = _repeated(place[in_key], len(pair))
        problems = _repetitions(scores, in_key[again], in_key[first], options.duplicates) + problems
        problems += _absent(scores, key, key_row[missing], not_in_key, options.allow_missing)
        problems += _contradictions(scores, key, place)
        dropped += len(again)
    if problems:
        return None, problems
    left_out = int(missing.sum()) + len(not_in_key)
    if left_out:
        key_row = key_row[~missing]
    enrol, trial = enrol[key_row], trial[key_row]
    if left_out:
        (enrolments, enrol), (trials, trial) = _compact(enrolments, enrol), _compact(trials, trial)
    rules = (RelaxedRule("duplicates", dropped, how="keep-last"), RelaxedRule("missing", left_out))
    relaxed = tuple(rule for rule in rules if rule.count)
    return JoinedTrials(enrolments, trials, enrol, trial, score_row[key_row], key_row, relaxed), []


def compose_tables(
    scores: Table, key: Table | None, names: Iterable[str] = ()
) -> tuple[Table, Table | None, tuple[RelaxedRule, ...]]:
    """Return tables with the names of recordings and people in NFC, and the rule about those, and further names."""
    spellings = set(names)

    def compose_names(table: Table) -> Table:
        changed = []
        for column in [name for name in _NAMES if name in table.frame.columns]:
            distinct = table.frame[column].unique(maintain_order=True).cast(pl.String).drop_nulls()  # quicker in order
            foreign = distinct.filter(distinct.str.len_bytes() != distinct.str.len_chars())
            spellings.update(foreign.to_list())
            if (foreign != foreign.str.normalize("NFC")).any():
                changed.append(pl.col(column).cast(pl.String).str.normalize("NFC"))
        return replace(table, frame=table.frame.with_columns(changed)) if changed else table

    scores, key = compose_names(scores), None if key is None else compose_names(key)
    return scores, key, composed_rule(spellings)


def _pairs(scores: Table, enrolments: pl.Series, trials: pl.Series) -> IntArray:
    """Return the number of each pair among all pairs of the key's identifiers, -1 where it has others."""
    sides = ("enrol", enrolments), ("trial", trials)
    enrol, trial = compute_beside(*(partial(_positions, scores.frame[side], names) for side, names in sides))
    pair: IntArray = enrol * len(trials) + trial
    pair[(enrol < 0) | (trial < 0)] = -1
    return pair


def _positions(ids: pl.Series, names: pl.Series) -> IntArray:
    """Return the position of each row's identifier among names, -1 where it is not among them."""
    distinct, number = _numbered(ids)
    among = distinct.cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int64).fill_null(-1)
    positions: IntArray = among.to_numpy()[number]
    return positions


def _numbered(ids: pl.Series) -> tuple[pl.Series, IntArray]:
    """Return the distinct identifiers, in the order in which they come, and the number of each row's among them."""
    if ids.dtype == pl.String():
        ids = ids.cast(pl.Categorical(pl.Categories.random()))
    distinct, codes = ids.unique(maintain_order=True), ids.to_physical().to_numpy()
    by_code = np.empty(int(codes.max()) + 1, dtype=np.int64)
    by_code[distinct.to_physical().to_numpy()] = np.arange(len(distinct))
    return distinct.cast(pl.String), by_code[codes]


def _first_rows(pair: IntArray, among: IntArray, size: int) -> IntArray:
    """Return for each pair the first row `among` others that has it, -1 where none has."""
    if size <= _ROOM * len(among):  # several times as fast as a join
        narrow = np.int32 if len(among) < 1 << 31 else np.int64  # more of the array stays in the cache
        rows = np.full(size + 1, -1, narrow)  # the last entry is that of the pair -1
        rows[among[::-1]] = np.arange(len(among) - 1, -1, -1, dtype=narrow)  # backwards: the last assignment stays
        return rows[pair].astype(np.int64)
    others = pl.DataFrame({"pair": among}).with_row_index("row").unique("pair", keep="first")
    both = pl.DataFrame({"pair": pair}).join(others, on="pair", how="left", maintain_order="left")
    return both["row"].cast(pl.Int64).fill_null(-1).to_numpy()


def _repeated(number: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the rows whose number, below `size`, occurs before, and for each the row where it is first."""
    if size <= _ROOM * len(number):
        present = np.zeros(size, bool)
        present[number] = True
        distinct = int(np.count_nonzero(present))
    else:
        ordered = np.sort(number)
        distinct = int(np.count_nonzero(ordered[1:] != ordered[:-1])) + 1
    if distinct == len(number):
        return number[:0], number[:0]
    return repeated_rows(pl.DataFrame({"number": number}), ["number"])


def repeated_rows(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Return the rows that occur before, as far as these columns tell, and for each the row where it is first."""
    rows = frame.select(*columns, row=pl.int_range(pl.len())).with_columns(first=pl.col("row").first().over(columns))
    rows = rows.filter(pl.col("row") != pl.col("first"))
    return rows["row"].to_numpy(), rows["first"].to_numpy()


def label_conflicts(table: Table, columns: Sequence[str]) -> list[Problem]:
    """Return the problems of rows that have the same identifiers in these columns and different labels."""
    return _repetitions(table, *repeated_rows(table.frame, columns), "keep-last")


def _repetitions(table: Table, again: IntArray, first: IntArray, duplicates: Duplicates) -> list[Problem]:
    """Return the problems of pairs that occur twice."""
    now, before = table.labels(again), table.labels(first)
    contradict = labels_differ(now, before)
    advice = ", or --trial-columns with what tells them apart" if len(table.titles) > len(table.frame.columns) else ""
    reported = np.flatnonzero(contradict | (duplicates == "error"))

    def reason(at: int) -> str:
        i = int(reported[at])
        name, earlier = table.pair(int(again[i])), table.earlier(int(first[i]))
        if contradict[i]:
            labels = f"is {label_text(now, i)} here but {label_text(before, i)} before"
            return f"{name!r} {labels}{earlier}; expected one label"
        return f"duplicate of {name!r}{earlier}; expected each pair once{advice}"

    return table.problems_of(again[reported], reason)


def _absent(
    scores: Table, key: Table, without_score: IntArray, without_key: IntArray, allow_missing: bool
) -> list[Problem]:
    """Return the problems of trials that scores or key lack."""
    if len(without_key) == len(scores.frame):
        # One message instead of one per line: the wrong key, or columns that were swapped.
        pairs = f"first here {scores.pair(0)!r}, first there {key.pair(0)!r}"
        reason = f"no trial of this file is in the key {key.name} ({pairs}); expected the same pairs in both"
        return [Problem(scores.name, scores.line(0), reason)]
    if allow_missing:
        return []
    reason = f"is not in the key {key.name}; expected a trial of the key"
    lacking = f"has no score in {scores.name}; expected one"
    here = scores.problems_of(without_key, lambda at: f"{scores.pair(int(without_key[at]))!r} {reason}")
    return here + key.problems_of(without_score, lambda at: f"{key.pair(int(without_score[at]))!r} {lacking}")


def _contradictions(scores: Table, key: Table, place: IntArray) -> list[Problem]:
    """Return the problems of labels that differ between the files; `place` is the row of each score in the key."""
    rows = np.flatnonzero(place >= 0) if scores.has("label") or scores.has("key") else place[:0]
    ours, theirs = scores.labels(rows), key.labels(place[rows])
    differing = np.flatnonzero(labels_differ(ours, theirs))

    def reason(at: int) -> str:
        i = int(differing[at])
        row, where = int(rows[i]), key.where(int(place[rows[i]]))
        labels = f"is {label_text(ours, i)} here but {label_text(theirs, i)} in {where}"
        return f"{scores.pair(row)!r} {labels}; expected the same label"

    return scores.problems_of(rows[differing], reason)


def _compact(ids: pl.Series, codes: IntArray) -> tuple[pl.Series, IntArray]:
    """Return only the identifiers that are left, still in their order."""
    used, codes = np.unique(codes, return_inverse=True)
    return ids[used], codes


def build_scores(
    joined: JoinedTrials, scores: Table, key: Table | None, speakers: SpeakerList | None
) -> tuple[Scores | None, tuple[RelaxedRule, ...], list[Problem]]:
    """Return scores with identifiers and speakers, how these were inferred, and the problems of labels and speakers."""
    labelled = scores if key is None else key
    score = scores.frame["score"].to_numpy()[joined.score_row]
    target = labelled.frame["label"].to_numpy()[joined.key_row]
    problem = one_class_problem(labelled.name, target)
    if problem:
        return None, (), [problem]
    speakers_of_sides, inferred, problems = _speakers(joined, target, scores, key, speakers)
    if problems:
        return None, (), problems
    pairs, other_pairs = (Pairs(frozen(joined.enrol[side]), frozen(joined.trial[side])) for side in (target, ~target))
    about = pairs, other_pairs, _strings(joined.enrolments), _strings(joined.trials), *speakers_of_sides
    data, failures = acquired_scores(frozen(score[target]), frozen(score[~target]), *about)
    return data, (*inferred, *failures), []


def one_class_problem(name: str, target: BoolArray) -> Problem | None:
    """Return the problem of a file whose trials are all targets, or all non-targets."""
    if target.any() and not target.all():
        return None
    kind = "target" if target.any() else "nontarget"
    return Problem(name, None, f"all {len(target)} trials are {kind}; expected both target and nontarget trials")


def _strings(ids: pl.Series) -> StrArray:
    return np.array(ids.to_list(), dtype=np.str_)


_Sides: TypeAlias = tuple[StrArray | None, StrArray | None]  # the speakers of enrolments, and of trials


def _speakers(
    joined: JoinedTrials, target: BoolArray, scores: Table, key: Table | None, speakers: SpeakerList | None
) -> tuple[_Sides, tuple[RelaxedRule, ...], list[Problem]]:
    """Return the speakers: from a list or rule, from columns, from target pairs of recordings, or from the format."""
    enrolments, trials = joined.enrolments.to_list(), joined.trials.to_list()
    linked = None if set(enrolments).isdisjoint(trials) else _linked_people(joined, target, shared=True)
    identities = SCORE_FORMATS[(key or scores).format].identities and linked is None
    if speakers is not None:
        problems = speakers.missing(trials, "trial")
        if not identities:
            problems += speakers.missing(enrolments, "enrolment")
        enrolment_speakers = np.array([speakers.speaker(name) or name for name in enrolments], np.str_)
        return (enrolment_speakers, np.array([speakers.speaker(name) or "" for name in trials], np.str_)), (), problems
    enrolled, enrolment_problems = _speaker_column("enrol_speaker", joined, scores, key)
    tried, trial_problems = _speaker_column("trial_speaker", joined, scores, key)
    problems = enrolment_problems + trial_problems
    if problems or enrolled is not None or tried is not None:
        return (enrolled, tried), (), problems
    names, trial, enrolment = _strings(joined.enrolments), joined.trial[target], joined.enrol[target]
    targets = np.bincount(trial, minlength=len(trials))
    if identities and 2 * np.count_nonzero(targets > 1) > np.count_nonzero(targets):  # then enrolments are recordings
        linked, identities = _linked_people(joined, target, shared=False), False
    if linked is not None:
        people = distinct_speakers(*linked)
        return linked, (RelaxedRule("people-linked", 0 if people is None else len(people)),), []
    if not identities:
        return (None, None), (), []
    # the speaker of a trial is its only target enrolment
    heard = np.full(len(targets), "", names.dtype)
    alone = targets[trial] == 1
    heard[trial[alone]] = names[enrolment[alone]]
    if (targets == 0).any() and targets.any():
        strangers = _prefixes(trials, heard.tolist())
        heard = np.where((targets == 0) & ~np.isin(strangers, names), strangers, heard)
    return (names, heard), (), []


def _linked_people(joined: JoinedTrials, target: BoolArray, *, shared: bool) -> tuple[StrArray, StrArray] | None:
    """The person of each enrolment and of each trial, by the first of the recordings that target pairs connect.

    Identifiers on both sides are one recording where `shared`; None where that would make one person of a non-target
    pair, as of numbers that mean something else on either side.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count, both = len(joined.enrolments), np.concatenate((_strings(joined.enrolments), _strings(joined.trials)))
    recording = np.unique(both, return_inverse=True)[1] if shared else np.arange(len(both))
    enrolment, trial = recording[:count][joined.enrol], recording[count:][joined.trial]
    links = coo_array((np.ones(target.sum()), (enrolment[target], trial[target])), shape=(len(both), len(both)))
    person = connected_components(links, directed=False)[1]
    if shared and (person[enrolment] == person[trial])[~target].any():
        return None
    _, first, number = np.unique(person[recording], return_index=True, return_inverse=True)
    people = both[first][number]
    heard = np.bincount(joined.trial[target], minlength=len(joined.trials)) > 0
    return people[:count], np.where(heard | shared, people[count:], "")


def _prefixes(trials: Sequence[str], speakers: Sequence[str]) -> StrArray:
    """What each identifier begins with, where that is the speaker of all that have one, as Kaldi asks; else ""."""
    for mark in "-_":
        parts = {speaker.count(mark) + 1 for speaker in speakers if speaker}
        if len(parts) == 1 and all(trial.count(mark) >= max(parts) for trial in trials):
            prefixes = [mark.join(trial.split(mark)[: max(parts)]) for trial in trials]
            if all(speaker in ("", prefix) for speaker, prefix in zip(speakers, prefixes, strict=True)):
                return np.array(prefixes, np.str_)
    return np.full(len(trials), "")


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
    wrong = np.flatnonzero((names.gather(rows) != speakers.gather(codes)).to_numpy())

    def reason(at: int) -> str:
        code = int(codes[wrong[at]])
        here, before = names[int(rows[wrong[at]])], speakers[code]
        return f"{column} of {ids[code]!r} is {here!r} here but {before!r} elsewhere; expected one speaker"

    return _strings(speakers), table.problems_of(rows[wrong], reason)
