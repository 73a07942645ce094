"""Real score files read as they are."""

from pathlib import Path

import numpy as np
import pytest

from zeroevidence.data.formats.scores.reading.read import diagnose, read_scores

DATA = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "scores"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="real score files are not beside the project")

COUNTS = {"f": (548, 11196, 734, 16), "m": (449, 9457, 762, 13)}


@pytest.mark.parametrize("sex", ["f", "m"])
@pytest.mark.parametrize("pair", ["oo", "oa", "aa"])
def test_kaldi(sex, pair):
    targets, nontargets, trials, enrolments = COUNTS[sex]
    for system in sorted(path for path in (DATA / "vpc2020").iterdir() if path.is_dir()):
        loaded = read_scores(system / f"{pair}_{sex}.scores", DATA / "vpc2020" / f"trials_{sex}")
        data = loaded.data
        assert (loaded.format, loaded.key_format) == ("kaldi", "kaldi")
        assert (len(data.target), len(data.nontarget)) == (targets, nontargets)
        assert (len(data.trials), len(data.enrolments)) == (trials, enrolments)
        known = data.trial_speakers != ""
        assert known.sum() == targets
        assert all(t.split("-")[0] == s for t, s in zip(data.trials[known], data.trial_speakers[known], strict=True))


def test_kaldi_with_the_wrong_key():
    found = diagnose(DATA / "vpc2020/samegender_f0orig/oo_f.scores", DATA / "vpc2020/trials_m")
    assert len(found) == 1
    assert "no trial of this file is in the key" in found[0].reason


def test_voxceleb():
    folder = DATA / "voxsrc2021_dev"
    loaded = read_scores(folder / "scores.txt", folder / "trials.txt")
    assert (loaded.format, loaded.key_format) == ("voxceleb", "voxceleb")
    labels = [line.split()[0] for line in (folder / "trials.txt").read_text().splitlines()]
    scores = np.array([float(line.split()[0]) for line in (folder / "scores.txt").read_text().splitlines()])
    target = np.array(labels) == "1"
    assert np.array_equal(loaded.data.target, scores[target])
    assert np.array_equal(loaded.data.nontarget, scores[~target])
