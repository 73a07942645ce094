"""Comparisons of one session: left out of values and nulls, and counted."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.data.loaded_scores import SameSession
from zeroevidence.data.preparing import leave_out_same_session
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError

OPTIONS = ze.Options(intervals=0, null=99, linkability="pav")


def recorded(people=20, sessions=2, *, voice=0.0, room=0.0, seed=0):
    """Scores of all recordings against all, an enrolment and a trial in each session of a person; and the sessions."""
    rng = np.random.default_rng(seed)
    speaker, session = np.repeat(np.arange(people), sessions), np.tile(np.arange(sessions), people)
    same = speaker[:, None] == speaker
    scores = rng.normal(size=same.shape) + 0.5 * rng.normal(size=(1, len(speaker))) + voice * same
    scores += room * (same & (session[:, None] == session))
    names = [f"p{person:02d}-{sitting}" for person, sitting in zip(speaker, session, strict=True)]
    pairs, others = (np.nonzero(mask) for mask in (same, ~same))
    sides, speakers = ([f"{kind}-{name}" for name in names] for kind in "et"), [name[:3] for name in names]
    data = Scores(scores[pairs], scores[others], Pairs(*pairs), Pairs(*others), *sides, speakers, speakers)
    return data, {f"{kind}-{name}": name for kind in "et" for name in names}


def codes(row):
    return {flag.code for flag in row.flags}


def test_where_only_the_session_is_shared_sessions_show_that_nothing_leaks():
    scores, sessions = recorded(room=3.0)
    leak = ze.evaluate(scores, options=OPTIONS)
    assert leak["d_ece"].p_value == 0.01
    assert leak.setup.same_session is None
    none = ze.evaluate(leave_out_same_session(scores, sessions), options=OPTIONS)
    assert none["d_ece"].p_value > 0.05
    assert none["d_ece"].value < leak["d_ece"].value / 3
    assert none.setup.same_session == SameSession(target=40, nontarget=0)
    assert "same-session:40+0" in none.signature
    assert "same-session" in codes(none)
    assert "same-session" not in codes(leak)


def test_the_null_has_as_many_targets_as_were_observed():
    """With twice as many its values would be too low, and every third list of recordings without a leak a leak."""
    p_values = []
    for seed in range(20):
        scores, sessions = recorded(room=3.0, seed=seed)
        p_values.append(ze.evaluate(leave_out_same_session(scores, sessions), options=OPTIONS)["d_ece"].p_value)
    assert sum(p_value <= 0.05 for p_value in p_values) <= 3


def test_a_voice_is_found_in_other_sessions():
    scores, sessions = recorded(voice=2.0)
    assert ze.evaluate(leave_out_same_session(scores, sessions), options=OPTIONS)["d_ece"].p_value == 0.01


def test_sessions_of_several_people_and_of_several_days():
    scores, sessions = recorded(people=4)
    sessions |= {"e-p00-0": {"p00-0", "p00-1"}, "t-p01-0": "p02-0"}
    same = leave_out_same_session(scores, sessions).same_session
    # p00-0 is enrolled from both sessions, so t-p00-1 is lost; t-p01-0 is of the session of e-p02-0, not of its own
    assert same == SameSession(target=8, nontarget=1)
    everything_known = leave_out_same_session(scores, {name: name for name in sessions})
    assert everything_known.same_session == SameSession(0, 0)
    assert everything_known.data is scores


def searched():
    """A search in which a person is enrolled from one session and tried from two."""
    rng = np.random.default_rng(0)
    mated = np.repeat(np.arange(12), 2)
    names = np.array([f"p{i:02d}" for i in range(12)])
    trials = np.array([f"{names[i]}-{k}" for i, k in zip(mated, np.tile([0, 1], 12), strict=True)])
    scores = rng.normal(size=(24, 12))
    scores[np.arange(24), mated] += 2.0
    sessions = {trial: trial for trial in trials} | {name: f"{name}-0" for name in names}
    return ze.ScoreMatrix(scores, mated, trials, names, names[mated], names), sessions


def test_a_search_counts_the_trials_that_it_lost_apart():
    matrix, sessions = searched()
    loaded = leave_out_same_session(matrix, sessions)
    assert loaded.same_session == SameSession(target=12, nontarget=0, trials=12)
    row = ze.evaluate(loaded, options=ze.Options(intervals=0, null=0, linkability="pav"))
    assert row.counts["trials"] == row.counts["same_session"] == 12
    assert "incomplete" not in row.counts
    assert "incomplete-rows" not in codes(row)
    (sentence,) = (flag.sentence for flag in row.flags if flag.code == "same-session")
    assert sentence.startswith("12 target and 0 non-target pairs are of one session and are left out")
    assert sentence.endswith("the search is without 12 trials for the same reason.")
    alone = matrix.take(np.arange(1, 24, 2))
    assert row["top1"].value == ze.evaluate(alone, options=ze.Options(intervals=0, null=0))["top1"].value


def test_what_cannot_be_told_is_refused():
    scores, sessions = recorded(people=4)
    with pytest.raises(InputError, match=r"no session for trial 't-p03-1'; expected one for every enrolment and every"):
        leave_out_same_session(scores, {name: sessions[name] for name in sessions if name != "t-p03-1"})
    with pytest.raises(InputError, match=r"all 16 target pairs are of one session each, so the room cannot be told"):
        leave_out_same_session(scores, {name: name.split("-")[1] for name in sessions})
    with pytest.raises(InputError, match="all 16 target pairs"):
        leave_out_same_session(scores, dict.fromkeys(sessions, "monday"))
    with pytest.raises(InputError, match="do not name what was compared"):
        leave_out_same_session(Scores([1.0], [0.0]), sessions)
