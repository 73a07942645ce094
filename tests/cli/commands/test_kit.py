"""Kits of the VoicePrivacy Challenges: their tables and folders are read, and their speech is checked."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.fuzz.seeds.targets import KIT
from zeroevidence.data.formats.voiceprivacy_folders import find_kit_scores
from zeroevidence.data.threat import ThreatModel, threat_from_sides
from zeroevidence.errors import InputError
from zeroevidence.evaluation import About, MeasureResult, compare, read_results
from zeroevidence.report.comparisons import render_comparisons
from zeroevidence.report.verdict import verdict
from zeroevidence.uncertainty.spread import Spread

TRACK1 = f"""{KIT}
---- Time: 02-04-26_06:18 ----

---- ASV_eval^anon results ----
   dataset split gender enrollment trial    EER
2    libri   dev      f       anon  anon  9.750
5    libri   dev      m       anon  anon  3.500
"""
TRACK2 = """---- Time: 01-05-26_05:45 ----

---- ASV_eval results ----
   dataset split gender enrollment trial     EER
8       de   dev  mixed       anon  anon   8.250
2       en   dev  mixed       anon  anon   2.750

---- Time: 01-05-26_05:22 ----

---- ASV_eval^anon results ----
dataset split gender enrollment trial   EER
     de   dev  mixed       anon  anon 1.375

---- Time: 01-05-26_12:31 ----

---- ASV_eval^anon results ----
dataset split gender enrollment trial   EER
     en   dev  mixed       anon  anon 1.500
"""


@pytest.mark.parametrize(("text", "roles"), [(TRACK1, {"attack": 4, "utility": 8}), (TRACK2, {"attack": 4})])
def test_a_ranking_is_read(tmp_path, text, roles):
    path = tmp_path / "result_for_rank_x"
    path.write_text(text)
    rows = read_results(path)
    assert Counter(row.about.role for row in rows) == roles
    assert {row.labels["system"] for row in rows if row.about.speech != "original"} == {"x"}
    trained = {row.about.threat.trained_on: float(row["eer"]) for row in rows if row.about.role == "attack"}
    expected = (0.0825, 0.035) if text == TRACK1 else (0.0275, 0.015)
    assert trained == dict(zip(("original", "anonymised"), expected, strict=True))


def test_csv_with_two_lines_of_heading(tmp_path):
    path = tmp_path / "results_x.csv"
    path.write_text(",dataset,split,ser,UAR,ACC_sad\n,,,,mean,mean\n0,IEMOCAP,dev,anon,50.25,40.5\n")
    uar, sad = read_results(path)
    assert (float(uar["uar"]), float(sad["recall"]), sad.labels["emotion"]) == (0.5025, 0.405, "sad")
    assert (uar.about.role, uar.about.speech) == ("utility", "anonymised")
    path.write_text(",dataset,split,ser,UAR\n0,IEMOCAP,dev,anon\n")
    with pytest.raises(InputError, match=r"results_x.csv:2: 4 columns; expected 5: dataset split ser UAR"):
        read_results(path)


def test_the_missing_control_is_said(tmp_path):
    path = tmp_path / "result_for_rank_x"
    path.write_text(TRACK2)
    rows = read_results(path)
    assert all("no-positive-control" in {one.code for one in row.flags} for row in rows)
    path.write_text(TRACK2 + "\n---- ASV_eval results ----\ndataset split gender enrollment trial EER\n"
                    "de dev mixed original original 0.5\n")  # fmt: skip
    rows = read_results(path)
    german = [row for row in rows if row.labels["dataset"] == "de"]
    assert not any("no-positive-control" in {one.code for one in row.flags} for row in german)
    assert any(row.about.role == "control" for row in rows)


def test_a_table_and_a_report_of_them(run, tmp_path, without_figures):
    pytest.importorskip("jinja2")
    path = tmp_path / "result_for_rank_x"
    path.write_text(TRACK1)
    assert read_results(path)[0].signature == "as published|result_for_rank_x:6"
    code, out, err = run("evaluate", path, "-f", "csv")
    assert (code, err, "wer" in out) == (0, "", True)
    run.well("report", path, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "WER" in page
    assert "semi-informed" in page


def test_original_speech_under_the_model_of_a_language(tmp_path):
    place = tmp_path / "exp" / "asv_anon_track2_10_de_BM1" / "de_dev_enrolls-de_dev_trials_mixed"
    place.mkdir(parents=True)
    (place / "scores").write_text("a u 1\n")
    (tmp_path / "data" / "de_dev_trials_mixed").mkdir(parents=True)
    (tmp_path / "data" / "de_dev_trials_mixed" / "trials").write_text("a u target\n")
    (row,) = find_kit_scores(tmp_path)
    assert row.labels == {"system": "BM1", "dataset": "de", "split": "dev", "sex": "mixed"}
    assert row.threat == ThreatModel("other", "original", "original", "anonymised", extractor="anonymised")


def test_check_says_ok_or_what_is_wrong(run, tmp_path):
    soundfile = pytest.importorskip("soundfile")
    for name, pitch in (("a_dev_enrolls", 0.05), ("a_dev_enrolls_x", 0.07)):
        (tmp_path / "data" / name / "wav").mkdir(parents=True)
        soundfile.write(tmp_path / "data" / name / "wav" / "u.wav", 0.1 * np.sin(pitch * np.arange(8000)), 16_000)
    home = tmp_path / "data" / "a_dev_enrolls"
    (home / "wav.scp").write_text(f"u {home}/wav/u.wav\n")
    (home / "utt2spk").write_text("u s\n")
    code, out, _ = run("kit", "check", tmp_path, "--suffix", "_x")
    assert (code, out) == (0, f"{tmp_path}: ok, 1 sets, 0 lists of trials, 1 anonymised utterances\n")
    code, out, _ = run("kit", "check", tmp_path, "--suffix", "_y")
    assert code == 3
    assert out.endswith("a_dev_enrolls_y: no such folder; expected the anonymised speech of a_dev_enrolls\n")


COLLECTED = """ASV-libri_dev_enrolls-libri_dev_trials_f
  EER: 8.500%
  Cllr (min/act): 0.304/42.500
  ROCCH-EER: 8.250%
  linkability: 0.750
  Population: 0.500 bit
  Individual: 3.500 (C)
ASV-libri_dev_enrolls_anon-libri_dev_trials_m_anon
  EER: 30.250%
ASR-libri_dev_asr
  %WER 5.00 [ 10 / 200, 1 ins, 2 del, 7 sub ] exp/decode_libri_dev_asr_small/wer_14_0.5
ASR-libri_dev_asr_anon
  %WER 10.00 [ 20 / 200, 2 ins, 4 del, 14 sub ]
"""


@pytest.mark.parametrize(
    ("name", "trained", "system"),
    [
        ("results-2020.orig/results.txt", "original", "results-2020"),
        ("results-2020.anon/results.txt", "anonymised", "results-2020"),
        ("results-2020/results.txt", None, "results-2020"),
        ("results.orig_b1/results.txt", "original", "b1"),
        ("results.orig_mcadams", "original", "mcadams"),
        ("results.anon_tts_joint", "anonymised", "tts_joint"),
        ("RESULTS_mcadams", None, "mcadams"),
        ("results.txt", None, "results_old"),
    ],
)
def test_what_the_first_kits_collected(tmp_path, name, trained, system):
    path = tmp_path / "results_old" / name
    path.parent.mkdir(parents=True)
    path.write_text(COLLECTED)
    first, second, original, anonymised = read_results(path)
    assert {name: float(one) for name, one in first.metrics.items()} == {
        "eer": 0.085, "cllr_min": 0.304, "cllr": 42.5, "eer_rocch": 0.0825, "linkability": 0.75, "d_ece": 0.5,
        "worst_case": 3.5,
    }  # fmt: skip
    assert first.about.threat == threat_from_sides("original", "original", trained)
    assert second.about.threat == threat_from_sides("anonymised", "anonymised", trained)
    assert second.labels["sex"] == "m"
    assert {row.labels["system"] for row in (first, second, anonymised)} == {system}
    assert (first.about.role == "control", second.about.is_training_unknown) == (True, trained is None)
    assert ("training-unknown" in {one.code for one in second.flags}) == (trained is None)
    assert "semi-informed" not in str(second.about.threat) or trained == "anonymised"
    assert (float(original["wer"]), float(original["wer_substitutions"])) == (0.05, 0.035)
    assert original.labels["recogniser"] == "decode_libri_dev_asr_small"
    assert (original.labels["system"], anonymised.about.speech) == ("unprotected", "anonymised")


def test_a_folder_beside_that_of_the_original_speech_says_what_was_learned_from(tmp_path):
    for folder in ("results-2022", "results-2022.orig"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "results.txt").write_text(COLLECTED)
    assert read_results(tmp_path / "results-2022" / "results.txt")[1].about.threat.name == "semi-informed"


def test_unknown_training_is_kept_and_said(run, tmp_path):
    """It is null in JSON, stays unknown when read again, and is said in verdicts and beside rankings."""
    for name in ("RESULTS_a", "RESULTS_b"):
        (tmp_path / name).write_text(COLLECTED.replace("30.250%", "20%" if name.endswith("a") else "30%"))
    code, out, err = run("evaluate", tmp_path / "RESULTS_a", "-f", "json")
    assert (code, err) == (0, "")
    threats = [row["about"]["threat"] for row in json.loads(out)["rows"] if "threat" in row["about"]]
    assert [(threat["trained_on"], threat["extractor"]) for threat in threats] == [(None, None)] * 2
    (tmp_path / "saved.json").write_text(out)
    assert read_results(tmp_path / "saved.json")[1].about.threat == threat_from_sides("anonymised", "anonymised", None)
    rows = [row for name in "ab" for row in read_results(tmp_path / f"RESULTS_{name}") if row.about.role == "attack"]
    rows = [row.with_metrics({"d_ece": MeasureResult.of("d_ece", 0.2 - 0.1 * i)}) for i, row in enumerate(rows)]
    text = verdict(rows).paragraph
    assert "Of 2 results, a gives most away (what the attackers were trained on is not known, and may differ)" in text
    about = About.against(threat_from_sides("anonymised", "anonymised", "original"))
    known = [replace(row, about=about) for row in rows]
    assert "trained on is not known" not in verdict(known).paragraph
    other = About.against(threat_from_sides("anonymised", "anonymised", "anonymised"))
    mixed = verdict([known[0], replace(known[1], about=other)]).paragraph
    assert "gives most away (the attackers that count differ)" in mixed
    spread = [row.with_metrics({"eer": replace(row["eer"], spread=Spread(0.02, 30.0, 29.0, 0.0, 0.0))}) for row in rows]
    for compared, unknown in ((spread, True), ([replace(row, about=known[0].about) for row in spread], False)):
        (comparison,) = compare(compared, ["eer"])
        assert comparison.training_unknown == unknown
        said = "Nothing says what these attackers were trained on" in render_comparisons([comparison], "text")
        assert said == unknown


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("EER: 8.500%", "EER: ten", "results.txt:2: 'EER: ten'; expected EER, Cllr"),
        ("ASV-libri_dev_enrolls-libri_dev_trials_f", "ASV-libri", "results.txt:1: 'ASV-libri'; expected ASV-<enrolls>"),
        ("%WER 5.00 [", "%SER 5.00 [", "results.txt:11: ASR-libri_dev_asr: .* expected a line of %WER"),
    ],
)
def test_what_the_first_kits_collected_broken(tmp_path, old, new, reason):
    path = tmp_path / "results.txt"
    path.write_text(COLLECTED.replace(old, new, 1))
    with pytest.raises(InputError, match=reason):
        read_results(path)


SUMMARY = """ASV-libri_dev_enrolls-libri_dev_trials_f  EER: 8.665%
ASV-libri_dev_enrolls_anon-libri_dev_trials_f_anon  EER: 11.36%
ASR-libri_dev_asr_anon  %WER 10.00 [ 20 / 200, 2 ins, 4 del, 14 sub ] exp/decode_large/wer_12_0.0
vctk_dev_trials_f_common  Pitch_correlation: mean=0.625 std=0.1711
vctk_dev_trials_m  Gain of voice distinctiveness : -1.5
Weighted average EER dev orig: 3.539
"""
SIDEKIT = """ASV-libri_dev_enrolls_anon-libri_dev_trials_f_anon
  EER: 12.5
  Cllr (min/act): 0.41 0.89linkability: 0.625

"""
ZEBRA = """\
,System,Gender,Dataset,Task,ROCCH-EER [%],ZEBRA Population [bit],ZEBRA Individual,ZEBRA Category,Cllr,min Cllr
0,B1,f,libri,o-o,7.5,0.584,3.976,C,26.81,0.18
1,B1,m,vctk_common,a-a,12.5,0.25,2.5,C,12.5,0.5
"""


def test_a_summary_of_one_line_each(tmp_path):
    (tmp_path / "RESULTS_summary_mcadams").write_text(SUMMARY)
    rows = read_results(tmp_path / "RESULTS_summary_mcadams")
    assert [{name: one.value for name, one in row.metrics.items() if "wer_" not in name} for row in rows] == [
        {"eer": pytest.approx(0.08665)}, {"eer": pytest.approx(0.1136)}, {"wer": 0.1}, {"pitch_correlation": 0.625},
        {"voice_distinctiveness_gain": -1.5},
    ]  # fmt: skip
    assert rows[3].labels == {"system": "mcadams", "dataset": "vctk_common", "split": "dev", "sex": "f"}
    assert [row.about.role for row in rows] == ["control", "attack", "utility", "utility", "utility"]
    assert rows[1].about.is_training_unknown


def test_results_of_sidekit_and_of_zebra(tmp_path):
    (tmp_path / "results.anon_b1").write_text(SIDEKIT)
    (row,) = read_results(tmp_path / "results.anon_b1")
    assert {name: float(one) for name, one in row.metrics.items()} == {
        "eer": 0.125, "cllr_min": 0.41, "cllr": 0.89, "linkability": 0.625,
    }  # fmt: skip
    assert row.about.threat.name == "semi-informed"
    path = tmp_path / "results.csv"
    path.write_text(ZEBRA)
    control, attack = read_results(path)
    assert {name: float(one) for name, one in attack.metrics.items()} == {
        "eer_rocch": 0.125, "d_ece": 0.25, "worst_case": 2.5, "cllr": 12.5, "cllr_min": 0.5,
    }  # fmt: skip
    assert (control.about.role, attack.about.threat) == ("control", threat_from_sides("anonymised", "anonymised", None))
    assert (attack.labels["system"], attack.labels["dataset"], attack.labels["sex"]) == ("B1", "vctk_common", "m")
    for old, new, reason in (("a-a", "a-b", "Task 'a-b'; expected o-o"), ("12.5,0.25", "x,0.25", "expected a number")):
        path.write_text(ZEBRA.replace(old, new))
        with pytest.raises(InputError, match=f"results.csv:3: .*{reason}"):
            read_results(path)


def test_a_folder_of_folders_with_tables(run, tmp_path):
    for name, text in (("track1/result_for_rank_a", TRACK1), ("track2/result_for_rank_b", TRACK2)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    rows = read_results(tmp_path)
    assert {row.labels["system"] for row in rows if row.about.role == "attack"} == {"a", "b"}
    code, out, err = run("evaluate", tmp_path, "-f", "csv")
    assert (code, err, "a,libri" in out) == (0, "", True)
