"""VoicePrivacy result folders of both generations, and the challenges' summary tables."""

import re

import pytest

from zeroevidence.data.formats.voiceprivacy_folders import find_kit_scores
from zeroevidence.data.formats.voiceprivacy_tables import read_summary
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import InputError

KEY = "1462 1462-1 target\n77 1462-1 nontarget\n"
SCORES = "1462 1462-1 0.5\n77 1462-1 0.25\n"
UNPROTECTED = ThreatModel("unprotected", "original", "original")
IGNORANT = ThreatModel("ignorant", "original", "anonymised")
LAZY_INFORMED = ThreatModel("lazy-informed", "anonymised", "anonymised")
SEMI_INFORMED = ThreatModel("semi-informed", "anonymised", "anonymised", "anonymised", extractor="anonymised")


def make(root, *folders, data=()):
    for folder in folders:
        (root / folder).mkdir(parents=True)
        (root / folder / "scores").write_text(SCORES)
    for name in data:
        (root / "data" / name).mkdir(parents=True)
        (root / "data" / name / "trials").write_text(KEY)
    return root


@pytest.fixture
def old(tmp_path):
    runs = ["results-2022-01-02-03-04-05", "results-2022-01-02-03-04-05.orig"]
    pairs = [
        "ASV-libri_dev_enrolls-libri_dev_trials_f",
        "ASV-libri_dev_enrolls-libri_dev_trials_f_anon",
        "ASV-libri_dev_enrolls_anon-libri_dev_trials_f_anon",
        "ASV-vctk_test_enrolls_anon-vctk_test_trials_m_common_anon",
    ]
    sets = ["libri_dev_trials_f", "libri_dev_trials_f_anon", "vctk_test_trials_m_common"]
    return make(tmp_path / "old", *(f"exp/{run}/{pair}" for run in runs for pair in pairs), data=sets)


@pytest.fixture
def new(tmp_path):
    folders = [
        "exp/asv_orig/libri_test_enrolls-libri_test_trials_m",
        "exp/asv_orig/libri_test_enrolls-libri_test_trials_m_mcadams",
        "exp/asv_orig/libri_test_enrolls_mcadams-libri_test_trials_m_mcadams",
        "exp/asv_ssl/en_dev_enrolls_BM1-en_dev_trials_mixed_BM1",
        "exp/asv_anon_mcadams/libri_test_enrolls_mcadams-libri_test_trials_m_mcadams",
        "exp/asv_anon_mcadams/libri_test_enrolls-libri_test_trials_m",
        "exp/asv_anon_x/cosine_out/libri_test_enrolls_x-y_z-libri_test_trials_m_x-y_z",
    ]
    root = make(tmp_path / "new", *folders, data=["libri_test_trials_m", "en_dev_trials_mixed"])
    (root / "data/libri_test_trials_m/utt2spk").write_text("1462-1 1462\n")
    (root / "exp/asv_orig/emb_xvect").mkdir()
    (root / "exp/asv_orig/emb_xvect/scores").write_text("not scores")
    (root / "exp/other").mkdir()
    (root / "exp/other/scores").write_text("not scores either")
    return root


def by_folders(rows):
    return {f"{row.scores.parent.parent.name}/{row.scores.parent.name}": row for row in rows}


def attackers(rows):
    return {folders: row.threat for folders, row in by_folders(rows).items()}


def test_old_layout(old):
    rows = find_kit_scores(old)
    assert len(rows) == 8
    found = attackers(rows)
    run = "results-2022-01-02-03-04-05"
    pair = "ASV-libri_dev_enrolls_anon-libri_dev_trials_f_anon"
    assert found[f"{run}/{pair}"] == SEMI_INFORMED
    assert found[f"{run}.orig/{pair}"] == LAZY_INFORMED
    plain = "ASV-libri_dev_enrolls-libri_dev_trials_f"
    assert found[f"{run}.orig/{plain}"] == UNPROTECTED
    assert found[f"{run}.orig/{plain}_anon"] == IGNORANT
    assert found[f"{run}/{plain}"] == ThreatModel("other", "original", "original", "anonymised", extractor="anonymised")
    assert {row.labels["system"] for row in rows} == {run}
    common = next(row for row in rows if "common" in row.scores.parent.name)
    assert common.labels == {"system": run, "dataset": "vctk_common", "split": "test", "sex": "m"}
    assert (common.threat.enrolment, common.threat.trial) == ("anonymised", "anonymised")
    assert common.key.parent.name == "vctk_test_trials_m_common"
    anon = next(row for row in rows if row.scores.parent.name == pair)
    assert anon.key.parent.name == "libri_dev_trials_f_anon"
    assert anon.speakers is None


def test_new_layout(new):
    rows = find_kit_scores(new)
    assert len(rows) == 7
    pair = "libri_test_enrolls_mcadams-libri_test_trials_m_mcadams"
    found = attackers(rows)
    assert found[f"asv_orig/{pair}"] == LAZY_INFORMED
    assert found[f"asv_anon_mcadams/{pair}"] == SEMI_INFORMED
    folders = by_folders(rows)
    labels = {name: row.labels for name, row in folders.items()}
    assert labels[f"asv_anon_mcadams/{pair}"] == {"system": "mcadams", "dataset": "libri", "split": "test", "sex": "m"}
    assert labels["asv_orig/libri_test_enrolls-libri_test_trials_m"]["system"] == "unprotected"
    assert labels["asv_anon_mcadams/libri_test_enrolls-libri_test_trials_m"]["system"] == "mcadams"
    mixed = folders["asv_ssl/en_dev_enrolls_BM1-en_dev_trials_mixed_BM1"]
    assert mixed.labels == {"system": "BM1", "dataset": "en", "split": "dev", "sex": "mixed"}
    assert mixed.threat == LAZY_INFORMED
    hyphens = folders["cosine_out/libri_test_enrolls_x-y_z-libri_test_trials_m_x-y_z"]
    assert (hyphens.labels["system"], hyphens.threat) == ("x-y_z", SEMI_INFORMED)
    libri = [row for row in rows if row.labels["dataset"] == "libri"]
    assert all(row.speakers == row.key.parent / "utt2spk" for row in libri)


def test_key_given(new, tmp_path):
    moved = tmp_path / "elsewhere" / "sets"
    moved.parent.mkdir()
    (new / "data").rename(moved)
    with pytest.raises(InputError, match=r"its key is missing; expected a file named trials in one of .*data"):
        find_kit_scores(new)
    assert {row.key.parent.parent for row in find_kit_scores(new, key=moved)} == {moved}
    single = new / "exp/asv_ssl/en_dev_enrolls_BM1-en_dev_trials_mixed_BM1"
    file = moved / "en_dev_trials_mixed" / "trials"
    assert find_kit_scores(single, key=file)[0].key == file
    assert find_kit_scores(single, key=file.parent)[0].key == file


def test_links_are_followed_once(new):
    (new / "again").symlink_to(new / "exp")
    (new / "exp" / "loop").symlink_to(new)
    assert len(find_kit_scores(new)) == 7


def test_nothing_found(tmp_path):
    with pytest.raises(InputError, match=re.escape("expected results-*/ASV-<enrolls>-<trials>/scores or")):
        find_kit_scores(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        find_kit_scores(tmp_path / "none")


SUMMARY = """---- Time: 28-03-24_19:00 ----

---- SER results ----
   dataset split       ser      UAR  ACC_sad
                               mean     mean
0  IEMOCAP   dev      anon  55.6146  33.0000

---- ASV_eval results ----
  dataset split gender enrollment     trial     EER
0   libri   dev      f   original  original  10.511
3    vctk   dev m_common original     anon   0.931

---- ASR results ----
  dataset split       asr     WER
0   libri   dev  original   1.807
1   libri   dev      anon 120.000

---- Time: 28-03-24_21:23 ----

---- ASV_eval^anon results ----
   dataset split gender enrollment trial     EER  EER-ci_lower  EER-ci_upper
2    libri   dev      f       anon  anon  12.910        12.376        52.489
"""


def test_summary(tmp_path):
    path = tmp_path / "result_for_rank_mcadams"
    path.write_text(SUMMARY)
    rows = read_summary(path)
    said = [(row.measures, row.line) for row in rows]
    assert said == [
        ({"uar": pytest.approx(0.556146)}, 6),
        ({"recall": pytest.approx(0.33)}, 6),
        ({"eer": 0.10511}, 10),
        ({"eer": pytest.approx(0.00931)}, 11),
        ({"wer": 0.01807}, 15),
        ({"wer": pytest.approx(1.2)}, 16),
        ({"eer": 0.1291}, 22),
    ]
    assert rows[0].labels == {"system": "mcadams", "dataset": "IEMOCAP", "split": "dev"}
    assert rows[1].labels["emotion"] == "sad"
    assert rows[2].labels == {"system": "mcadams", "dataset": "libri", "split": "dev", "sex": "f"}
    assert (rows[3].labels["dataset"], rows[3].labels["sex"]) == ("vctk_common", "m")
    assert rows[4].labels == {"system": "unprotected", "dataset": "libri", "split": "dev"}
    assert [row.threat for row in rows if "eer" in row.measures] == [UNPROTECTED, IGNORANT, SEMI_INFORMED]
    assert [row.speech for row in rows if "wer" in row.measures] == ["original", "anonymised"]


def test_summary_by_columns_not_headings(tmp_path):
    path = tmp_path / "result_for_rank"
    path.write_text(
        "---- ASV_eval results ----\n"
        "   dataset split gender enrollment trial     EER\n"
        "2    libri   dev  mixed       anon  anon  11.423\n"
    )
    (row,) = read_summary(path)
    assert row.threat == LAZY_INFORMED
    assert "system" not in row.labels


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("10.511", "ten", 10, "EER 'ten'; expected a percentage"),
        ("10.511", "110", 10, "EER '110'; expected a percentage"),
        ("original     anon ", "original     blue ", 11, "expected original or anon"),
        ("12.910        12.376", "12.910", 22, "7 columns; expected 8: dataset"),
        ("1.807", "-1", 15, "WER '-1'; expected a percentage"),
        ("55.6146", "155", 6, "UAR '155'; expected a percentage from 0 to 100"),
        ("dev  original   1.807", "dev  blue   1.807", 15, "asr 'blue'; expected original or anon"),
        ("12.910", "12\0910", 22, "a NUL byte"),
    ],
)
def test_summary_errors(tmp_path, old, new, line, reason):
    path = tmp_path / "result_for_rank_x"
    path.write_text(SUMMARY.replace(old, new))
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}:{line}: .*{reason}"):
        read_summary(path)
