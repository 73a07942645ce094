"""Layouts of other projects that name people; `tests/docs/test_formats_table.py` has the values of more of them."""

import numpy as np
import pytest

from zeroevidence.data.formats.scores.read import read_score_lists, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.errors import InputError

PEOPLE, RECORDINGS = 5, 3
ROWS = [(m, p, r, 1.5 * (m == p) + (7 * m + 3 * p + 5 * r) % 11 / 8 + 0.125)
        for m in range(PEOPLE) for p in range(PEOPLE) for r in range(RECORDINGS)]  # fmt: skip
TARGET = sorted(score for m, p, _, score in ROWS if m == p)
NONTARGET = sorted(score for m, p, _, score in ROWS if m != p)
LINES = {
    "bob4": ("", "{0} {1} s{1}/{2} {3}"),
    "bob5": ("", "{0} model{0} {1} s{1}/{2} {3}"),
    "bob8": ("probe_template_id,probe_subject_id,bio_ref_template_id,bio_ref_subject_id,score\n",
             "s{1}-{2},{1},x{0},{0},{3}"),
    "bob8 reference": ("bio_ref_subject_id,probe_subject_id,bio_ref_reference_id,probe_reference_id,probe_key,score\n",
                       "{0},{1},x{0},s{1}-{2},0,{3}"),
    "own": ("enrol,trial,enrol_speaker,trial_speaker,score\n", "x{0},s{1}-{2},{0},{1},{3}"),
    "people alone": ("bio_ref_subject_id,probe_subject_id,score\n", "{0},{1},{3}"),
}  # fmt: skip


def check(loaded):
    assert sorted(loaded.data.target.tolist()) == TARGET
    assert sorted(loaded.data.nontarget.tolist()) == NONTARGET
    assert loaded.data.speakers.tolist() == [str(person) for person in range(PEOPLE)]


@pytest.mark.parametrize("layout", LINES)
def test_a_pair_of_one_person_is_a_target(tmp_path, layout):
    heading, line = LINES[layout]
    path = tmp_path / "scores"
    path.write_text(heading + "".join(line.format(*row) + "\n" for row in ROWS))
    check(read_scores(path))


def test_people_who_are_not_named_give_no_label(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("enrol,trial,enrol_speaker,trial_speaker,score\na,b,1,1,0.5\na,c,1,,0.25\n")
    with pytest.raises(InputError, match=r"scores.csv:3: no label, and the people of both sides are not named"):
        read_scores(path)
    path.write_text("1 a 2 u 0.5\n1 a 3 v 0.25\n")  # five columns of which none is of one person
    with pytest.raises(InputError, match=r":1: 5 column\(s\); expected"):
        read_scores(path)


def test_an_array_of_people(tmp_path):
    np.save(tmp_path / "spkanon.npy", [[p, m, score] for m, p, _, score in ROWS])
    check(read_scores(tmp_path / "spkanon.npy"))


def test_hdf5_of_others(tmp_path):
    h5py = pytest.importorskip("h5py")
    for name, scores in (("targets", TARGET), ("nontargets", NONTARGET)):
        with h5py.File(tmp_path / name, "w") as file:
            file["array"] = scores
    data = read_score_lists(tmp_path / "targets", tmp_path / "nontargets").data
    assert (data.target.tolist(), data.nontarget.tolist()) == (TARGET, NONTARGET)
    with h5py.File(tmp_path / "targets", "a") as file:
        file["second"] = [1.0]
    with pytest.raises(InputError, match="targets: no array named scores; expected numbers, one per trial"):
        read_score_lists(tmp_path / "targets", tmp_path / "nontargets")


def test_conditions_that_are_part_of_the_key(tmp_path):
    """Models and tests of NIST and EVALITA occur once for each condition of training and of test (mcond, tcond)."""
    conditions = [(mcond, tcond) for mcond in ("TC1", "TC6") for tcond in ("TS1", "TS2")]
    lines = [f"{m}\ts{p}-{r}\t{mcond}\t{tcond}\t{'TRUE' if m == p else 'FALSE'}\t{score + i / 16}"
             for i, (mcond, tcond) in enumerate(conditions) for m, p, r, score in ROWS]  # fmt: skip
    path = tmp_path / "ru.table"
    path.write_text("model\ttest\tmcond\ttcond\ttarget\tscore\n" + "\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r":77: duplicate of '0 s0-0'.* or --trial-columns with what tells them apart"):
        read_scores(path)
    loaded = read_scores(path, options=ReadingOptions(trial_columns=("mcond", "tcond")))
    assert sorted(loaded.data.target) == sorted(score + i / 16 for score in TARGET for i in range(4))
    assert len(loaded.data.speakers) == PEOPLE
    assert loaded.data.trials[0] == "s0-0:TC1:TS1"
    key = tmp_path / "key.csv"
    heading, *rows = (line.split("\t") for line in path.read_text().splitlines())
    key.write_text("\n".join(",".join(row[:5]) for row in (heading, *rows)))
    keyed = read_scores(path, key, ReadingOptions(trial_columns=("mcond", "tcond")))
    assert np.array_equal(np.sort(keyed.data.target), np.sort(loaded.data.target))
    with pytest.raises(InputError, match=r":1: no column named 'tcon'; expected one of 'model', 'test'"):
        read_scores(path, options=ReadingOptions(trial_columns=("tcon",)))
    path.write_text("".join(f"{m} s{p} 0.5 {int(m == p)}\n" for m, p, *_ in ROWS))
    with pytest.raises(InputError, match=r"each pair once$|each pair once \("):  # no names, no advice
        read_scores(path)
