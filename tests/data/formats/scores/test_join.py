"""Scores and keys join on identifiers; what is relaxed is said; speakers come from where they should."""

import random

import numpy as np
import pytest

from tests.data.trials import put, trials
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.errors import InputError, UsageError

KEY = ["a u1 target", "a u2 nontarget", "b u1 nontarget", "b u2 target", "b u3 nontarget", "a u3 nontarget"]
SCORES = [f"{line.rsplit(' ', 1)[0]} {i}.5" for i, line in enumerate(KEY)]


def require_speakers(data):
    sides = (data.enrolments, data.enrolment_speakers), (data.trials, data.trial_speakers)
    return tuple(dict(zip(names.tolist(), people.tolist(), strict=True)) for names, people in sides)


@pytest.mark.parametrize("seed", range(5))
def test_order_of_rows_does_not_matter(tmp_path, seed):
    wanted = read_scores(put(tmp_path, "s", SCORES), put(tmp_path, "k", KEY)).data
    shuffle = random.Random(seed).sample
    found = read_scores(put(tmp_path, "s2", shuffle(SCORES, 6)), put(tmp_path, "k2", shuffle(KEY, 6))).data
    assert trials(found) == trials(wanted)
    assert require_speakers(found) == require_speakers(wanted)
    same = read_scores(put(tmp_path, "s3", shuffle(SCORES, 6)), tmp_path / "k").data
    assert np.array_equal(same.target, wanted.target)
    assert np.array_equal(same.nontarget_pairs.trial, wanted.nontarget_pairs.trial)


def test_keep_last_score(tmp_path):
    scores = put(tmp_path, "s", [*SCORES, "a u1 70", "a u2 71", "a u1 72"])
    key = put(tmp_path, "k", KEY)
    assert [problem.line for problem in diagnose(scores, key)] == [7, 8, 9]
    loaded = read_scores(scores, key, ReadingOptions(duplicates="keep-last"))
    assert loaded.relaxed == (RelaxedRule("duplicates", 3, how="keep-last"),)
    assert loaded.data.target.tolist() == [72.0, 3.5]
    assert loaded.data.nontarget.tolist() == [71.0, 2.5, 4.5, 5.5]


def test_contradictions_stay_errors(tmp_path):
    own = put(tmp_path, "o", ["a u 1 target", "a v 2 nontarget", "a u 3 nontarget"])
    found = diagnose(own, options=ReadingOptions(duplicates="keep-last"))
    assert [(p.line, "but target before" in p.reason) for p in found] == [(3, True)]
    key = put(tmp_path, "k", [*KEY, "a u1 nontarget"])
    assert [p.line for p in diagnose(put(tmp_path, "s", SCORES), key, ReadingOptions(duplicates="keep-last"))] == [7]


def test_allow_missing(tmp_path):
    scores = put(tmp_path, "s", [*SCORES[:4], "c u1 9", "a u9 9", "a u9 8"])
    key = put(tmp_path, "k", KEY)
    assert len(diagnose(scores, key)) == 5
    loaded = read_scores(scores, key, ReadingOptions(allow_missing=True))
    assert loaded.relaxed == (RelaxedRule("missing", 5),)
    assert loaded.data.trials.tolist() == ["u1", "u2"]
    found = {("a", "u1"): (0.5, True), ("a", "u2"): (1.5, False), ("b", "u1"): (2.5, False), ("b", "u2"): (3.5, True)}
    assert trials(loaded.data) == found


def test_kaldi_speakers(tmp_path):
    key = [*KEY, "a u4 target", "b u4 target"]
    scores = [*SCORES, "a u4 1", "b u4 1"]
    data = read_scores(put(tmp_path, "s", scores), put(tmp_path, "k", key)).data
    assert require_speakers(data) == ({"a": "a", "b": "b"}, {"u1": "a", "u2": "b", "u3": "", "u4": ""})


def test_known_recordings_with_a_questioned_one_in_common_are_of_one_person(tmp_path):
    """Three people: two recordings of the first, three of the second that share trials in turn, one of the third."""
    same = {"p": "x1 x2", "q": "x1 x2", "r": "y1 y2", "s": "y2 y3", "t": "y1 y3", "u": "z1"}
    known = ("x1", "x2", "y1", "y2", "y3", "z1")
    rows = [f"{one},{trial},{int(one in same[trial].split())},0" for trial in same for one in known]
    table = put(tmp_path, "s", ["known,questioned,same_source,log10LR", *rows])
    people, heard = require_speakers(read_scores(table).data)
    assert people == {"x1": "x1", "x2": "x1", "y1": "y1", "y2": "y1", "y3": "y1", "z1": "z1"}
    assert heard == {"p": "x1", "q": "x1", "r": "y1", "s": "y1", "t": "y1", "u": "z1"}


RECORDINGS = [f"p{person}-{n}" for person in range(4) for n in range(5)]


def recording_pairs():
    """Each recording against the next of its person, and against one of the next person: nobody is a target twice."""
    for place, name in enumerate(RECORDINGS):
        if place % 5 < 4:
            yield name, RECORDINGS[place + 1], 1, 2.0 + place % 3
        yield name, RECORDINGS[(place + 5) % 20], 0, float(place % 3)


@pytest.mark.parametrize("layout", ["kaldi", "labelled", "voxceleb", "speechbrain", "table"])
def test_an_identifier_on_both_sides_is_a_recording(tmp_path, layout):
    """People are the recordings that target pairs connect, which is said; a list or a rule names them instead."""
    lines = {
        "kaldi": "{0} {1} {3}", "labelled": "{0} {1} {3} {2}", "voxceleb": "{3} {0} {1}",
        "speechbrain": "{0} {1} {2} {3}", "table": "{0},{1},{3},{2}",
    }  # fmt: skip
    rows = [lines[layout].format(*pair) for pair in recording_pairs()]
    scores = put(tmp_path, "s", [*(["known,questioned,score,label"] if layout == "table" else []), *rows])
    key = None
    if layout in ("kaldi", "voxceleb"):
        order = "{0} {1} {2}" if layout == "kaldi" else "{2} {0} {1}"
        key = put(tmp_path, "k", [order.format(*pair) for pair in recording_pairs()])
    loaded = read_scores(scores, key)
    people, heard = require_speakers(loaded.data)
    assert all((people | heard)[name] == f"{name[:2]}-0" for name in RECORDINGS)
    assert [str(rule) for rule in loaded.relaxed] == ["people-linked:4"]
    listed = put(tmp_path, "utt2spk", [f"{name} {name[:2]}" for name in RECORDINGS])
    for options in (
        ReadingOptions(speakers=listed),
        ReadingOptions(speaker_of=r"^p\d"),
        ReadingOptions(speaker_of="(p.)-"),
    ):
        named = read_scores(scores, key, options)
        people, heard = require_speakers(named.data)
        assert all((people | heard)[name] == name[:2] for name in RECORDINGS)
        assert named.relaxed == ()
    with pytest.raises(InputError, match=r"--speaker-of: no speaker for trial 'p0-1'; expected a match in every trial"):
        read_scores(scores, key, ReadingOptions(speaker_of="q(.)"))
    with pytest.raises(UsageError, match="expected a regular expression"):
        read_scores(scores, key, ReadingOptions(speaker_of="("))


def test_numbers_that_mean_something_else_on_either_side_are_no_recordings(tmp_path):
    """Speakers 1 to 3, and trials 1 to 6 of which each has another speaker: one person would be a non-target."""
    rows = [f"{one} {trial} {one + trial / 10} {'target' if (trial - 1) % 3 + 1 == one else 'nontarget'}"
            for trial in range(1, 7) for one in range(1, 4)]  # fmt: skip
    rows.append("4 1 0.1 nontarget")
    rows += ["1 7 0.3 nontarget", "2 7 1.0 target"]
    loaded = read_scores(put(tmp_path, "s", [*rows, "3 8 2 target"]))
    assert loaded.relaxed == ()
    assert set(loaded.data.enrolment_speakers.tolist()) == {"1", "2", "3", "4"}


@pytest.mark.parametrize(
    ("trials", "strangers"),
    [
        (("a-1", "b-1", "c-1", "c-2"), ["c", "c"]),
        (("a_x-1", "b_x-1", "c_y", "d_y-2"), ["c", "d"]),
        (("a-1", "b-1", "c-1", "c2"), ["", ""]),  # one that begins with no name
        (("a-1", "x-1", "c-1", "c-2"), ["", ""]),  # one that begins with another name than its speaker's
        (("a-1", "b-1", "c-1", "a-2"), ["c", ""]),  # somebody enrolled, without a target
    ],
)
def test_people_who_are_not_enrolled_are_named_as_the_others_are(tmp_path, trials, strangers):
    labels = [("a", trials[0]), ("b", trials[1])]
    pairs = [(enrolment, trial) for enrolment in "ab" for trial in trials]
    key = [f"{e} {t} {'target' if (e, t) in labels else 'nontarget'}" for e, t in pairs]
    data = read_scores(put(tmp_path, "s", [f"{e} {t} 1" for e, t in pairs]), put(tmp_path, "k", key)).data
    assert require_speakers(data) == ({"a": "a", "b": "b"}, dict(zip(trials, ["a", "b", *strangers], strict=True)))


def test_speakers_file(tmp_path):
    utt2spk = put(tmp_path, "utt2spk", ["u1 a", "u2  b", "u3\tc", "x y"])
    files = put(tmp_path, "s", SCORES), put(tmp_path, "k", KEY)
    wanted = ({"a": "a", "b": "b"}, {"u1": "a", "u2": "b", "u3": "c"})
    assert require_speakers(read_scores(*files, options=ReadingOptions(speakers=utt2spk)).data) == wanted
    assert require_speakers(read_scores(*files, options=ReadingOptions(speakers=tmp_path)).data) == wanted


def test_speakers_file_errors(tmp_path):
    files = put(tmp_path, "s", SCORES), put(tmp_path, "k", KEY)
    bad = put(tmp_path, "bad", ["u1 a", "u2", "u1 b", "u1 a", "u2 b", "u3 c"])
    found = diagnose(*files, options=ReadingOptions(speakers=bad))
    assert [(p.path, p.line) for p in found] == [(str(bad), 2), (str(bad), 3)]
    lacking = put(tmp_path, "lacking", ["u1 a"])
    found = [str(p).split(";")[0] for p in diagnose(*files, options=ReadingOptions(speakers=lacking))]
    assert found == [f"{lacking}: no speaker for trial '{u}'" for u in ("u2", "u3")]
    assert "empty" in diagnose(*files, options=ReadingOptions(speakers=put(tmp_path, "empty", [""])))[0].reason
    assert "no such file" in diagnose(*files, options=ReadingOptions(speakers=tmp_path / "none"))[0].reason


def test_voxceleb_speakers(tmp_path):
    files = put(tmp_path, "s", ["1 a b", "2 a c"]), put(tmp_path, "k", ["1 a b", "0 a c"])
    known = read_scores(*files, options=ReadingOptions(speakers=put(tmp_path, "u", ["a A", "b A", "c C"]))).data
    assert require_speakers(known) == ({"a": "A"}, {"b": "A", "c": "C"})
    problem, *_ = diagnose(*files, options=ReadingOptions(speakers=put(tmp_path, "v", ["b A", "c C"])))
    assert "no speaker for enrolment 'a'" in problem.reason


def test_table_speakers(tmp_path):
    rows = ["enrol,trial,score,label,enrol_speaker,trial_speaker", "a,u,1,1,S,S", "a,v,2,0,S,", "b,u,3,0,R,S"]
    data = read_scores(put(tmp_path, "s", rows)).data
    assert require_speakers(data) == ({"a": "S", "b": "R"}, {"u": "S", "v": ""})
    rows[3] = "b,u,3,0,R,T"
    (problem,) = diagnose(put(tmp_path, "s", rows))
    assert problem.line == 4
    assert problem.reason.split(";")[0] == "trial_speaker of 'u' is 'T' here but 'S' elsewhere"


def test_key_folder(tmp_path):
    put(tmp_path, "data/trials", KEY)
    scores = put(tmp_path, "s", SCORES)
    assert require_speakers(read_scores(scores, tmp_path / "data").data)[1]["u3"] == ""
    put(tmp_path, "data/utt2spk", ["u1 a", "u2 b", "u3 c"])
    assert require_speakers(read_scores(scores, tmp_path / "data").data)[1]["u3"] == "c"
    (tmp_path / "none").mkdir()
    assert str(diagnose(scores, tmp_path / "none")[0]) == f"{tmp_path}/none/trials: no such file"
