"""Tables of systems: every column, and what is refused with its line."""

import pytest

from zeroevidence.data.formats.lists import read_systems
from zeroevidence.data.threat import threat_from_sides
from zeroevidence.errors import InputError

HEADING = "scores\tkey\tspeakers\tsystem\tdataset\tsplit\tsex\tenrolment\ttrial\ttrained_on\n"


@pytest.fixture
def folder(tmp_path):
    for name in ("a.scores", "trials", "utt2spk"):
        (tmp_path / name).write_text("x\n")
    return tmp_path


def table(folder, text):
    (folder / "systems.tsv").write_text(text)
    return read_systems(folder / "systems.tsv")


def test_every_column(folder):
    line = "a.scores\ttrials\tutt2spk\tA\tlibri\ttest\tf\tanonymised\tanonymised\toriginal\n"
    (row,) = table(folder, HEADING + line)
    assert (row.scores, row.key, row.speakers) == tuple(folder / name for name in ("a.scores", "trials", "utt2spk"))
    assert row.labels == {"system": "A", "dataset": "libri", "split": "test", "sex": "f"}
    assert row.threat == threat_from_sides("anonymised", "anonymised", "original")
    assert row.line == 2


@pytest.mark.parametrize(
    ("extractor", "name"), [("", "semi-informed"), ("anonymised", "semi-informed"), ("original", "backend-informed")]
)
def test_the_extractor_decides_who_is_semi_informed(folder, extractor, name):
    heading = "scores,system,enrolment,trial,trained_on,extractor\n"
    (row,) = table(folder, f"{heading}a.scores,A,anonymised,anonymised,anonymised,{extractor}\n")
    assert row.threat.name == name


def test_an_attacker_of_unknown_training(folder):
    (row,) = table(folder, "scores,system,enrolment,trial\na.scores,A,anonymised,anonymised\n")
    assert row.threat == threat_from_sides("anonymised", "anonymised", None)


def test_an_attacker_may_have_a_name_alone(folder):
    (row,) = table(folder, "scores,system,attacker\na.scores,A,oa\n")
    assert (row.threat, row.labels) == (None, {"system": "A", "attacker": "oa"})


def test_what_is_not_known_is_left_empty(folder):
    (row,) = table(folder, HEADING + "a.scores\t\t\tA\t\t\t\t\t\t\n")
    assert (row.key, row.speakers, row.threat, row.labels) == (None, None, None, {"system": "A"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no lines; expected a heading with scores and system"),
        ("scores,team\na.scores,A\n", ":1: column 'team'; expected scores, key"),
        ("scores,sex\na.scores,f\n", ":1: no column 'system'; found scores, sex"),
        ("scores,system,system\na.scores,A,B\n", ":1: column 'system' occurs twice"),
        ("scores,system\na.scores\n", r":2: 1 column\(s\); expected 2: scores, system"),
        ("scores,system\na.scores,\n", ":2: no system; expected one on every line"),
        ("scores,system\nb.scores,A\n", ":2: scores 'b.scores': no such file"),
        ("scores,system\n../a.scores,A\n", ":2: scores '../a.scores'; expected a path within the folder"),
        (
            "scores,system,enrolment,trial,trained_on\na.scores,A,original,anon,original\n",
            ":2: attacker original, anon, original, original; expected original or anonymised for each",
        ),
        ("scores,system,extractor\na.scores,A,original\n", ":2: attacker , , , original; expected original or"),
        (
            "scores,system,attacker,enrolment,trial,trained_on\na.scores,A,oa,original,anonymised,original\n",
            ":2: attacker 'oa' beside enrolment, trial, trained_on, which name one; expected either",
        ),
        ("scores,system\n\0,A\n", ":2: a NUL byte"),
    ],
)
def test_what_is_refused(folder, text, reason):
    with pytest.raises(InputError, match=reason):
        table(folder, text)
