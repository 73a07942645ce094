"""Trials of ASVspoof files told apart by a column of their key."""

import numpy as np
import pytest

from zeroevidence.data.formats.asvspoof import diagnose_tandem, read_tandem
from zeroevidence.data.formats.asvspoof_sides import TandemFiles
from zeroevidence.evaluation.tandem import evaluate_tandem

CODECS = ("alaw", "none", "opus")


def made_2021(folder):
    """A key of 2021 with its scores; a codec makes the countermeasure worse by its number."""
    rng = np.random.default_rng(0)
    scores, key = [], []
    for number in range(240):
        codec, spoof = CODECS[number % 3], number % 2
        attack = f"A{7 + number % 4 // 2:02d}"
        shift = (-1.0 if spoof else 1.0) / (1 + CODECS.index(codec))
        scores.append(f"LA_E_{number} {rng.normal(shift):.6f}\n")
        words = f"{attack} spoof" if spoof else "bonafide bonafide"
        key.append(f"LA_{number % 12:04d} LA_E_{number} {codec} ita_tx {words} notrim eval\n")
    (folder / "cm").write_text("".join(scores))
    (folder / "key").write_text("".join(key))
    return {"cm": folder / "cm", "key": folder / "key"}


def test_codecs_of_2021(tmp_path):
    files = made_2021(tmp_path)
    loaded = read_tandem(TandemFiles(**files, by="codec"))
    assert tuple(loaded.parts) == CODECS
    for codec, part in loaded.parts.items():
        lines = [line.split() for line in files["key"].read_text().splitlines()]
        wanted = sorted(cells[1] for cells in lines if cells[2] == codec and cells[5] == "spoof")
        assert sorted(part.cm_spoof.utterances) == wanted
        assert len(part.cm_bonafide) == 40
    assert read_tandem(TandemFiles(**files)).parts == {}
    rows = evaluate_tandem(loaded, "codec", intervals=0, labels={"system": "x"})
    assert [row.labels.get("codec") for row in rows] == [None, *CODECS]
    eers = [float(row["cm_eer"]) for row in rows]
    assert eers[1] < eers[2] < eers[3]
    again = evaluate_tandem(read_tandem(TandemFiles(**files)), "attack", intervals=0)
    assert [row.about.attack for row in again] == ["all", "A07", "A08"]


def test_columns_of_spoofs_keep_all_bona_fide_speech(tmp_path):
    kinds = ("neural_vocoder_autoregressive", "traditional_vocoder")
    (tmp_path / "cm").write_text("".join(f"DF_E_{n} {n % 5}\n" for n in range(12)))
    (tmp_path / "key").write_text(
        "".join(
            f"LA_0023 DF_E_{n} nocodec asvspoof {'A14 spoof' if n % 3 else '- bonafide'} notrim eval "
            f"{kinds[n % 2] if n % 3 else 'bonafide'} - - - -\n"
            for n in range(12)
        )
    )
    parts = read_tandem(TandemFiles(tmp_path / "cm", key=tmp_path / "key", by="vocoder")).parts
    assert tuple(parts) == kinds
    assert [(len(part.cm_bonafide), len(part.cm_spoof)) for part in parts.values()] == [(4, 4), (4, 4)]


PROTOCOL5 = (
    "E_1607 E_01 M C05 2 E_91 AC1 A26 spoof -\nE_1608 E_02 F - 0 - AC1 A27 spoof -\n"
    "E_1607 E_03 M C05 2 E_92 - bonafide bonafide -\nE_1609 E_04 F - 0 - - bonafide bonafide -\n"
)


def test_the_protocol_of_asvspoof_5_is_a_key(tmp_path):
    (tmp_path / "scores.tsv").write_text("filename\tcm-score\nE_01\t-1\nE_02\t-2\nE_03\t3\nE_04\t2\n")
    (tmp_path / "key").write_text(PROTOCOL5)
    loaded = read_tandem(TandemFiles(tmp_path / "scores.tsv", key=tmp_path / "key", by="codec"))
    assert loaded.formats == {"cm": "asvspoof5", "key": "5 track 1"}
    assert loaded.data.cm_spoof.attacks.tolist() == ["A26", "A27"]
    assert loaded.data.cm_bonafide.speakers.tolist() == ["E_1607", "E_1609"]
    assert {codec: len(part.cm_spoof) for codec, part in loaded.parts.items()} == {"-": 1, "C05": 1}
    (tmp_path / "key").write_text(PROTOCOL5.replace("A27 spoof", "A27 bonafide"))
    (problem,) = diagnose_tandem(TandemFiles(tmp_path / "scores.tsv", key=tmp_path / "key"))
    assert (problem.line, problem.reason) == (2, "bonafide speech with the attack 'A27'; expected - or bonafide")


def test_the_second_track_of_asvspoof_5(tmp_path):
    (tmp_path / "sasv").write_text("E_4413 E_81 -1.5\nE_4413 E_82 2.5\nE_0357 E_83 -0.5\n")
    key = "E_4413 E_81 F A25 spoof\nE_4413 E_82 F bonafide target\nE_0357 E_83 M bonafide nontarget\n"
    (tmp_path / "key").write_text(key)
    loaded = read_tandem(TandemFiles(sasv=tmp_path / "sasv", asv_key=tmp_path / "key"))
    assert (loaded.data.sasv_spoof.attacks.tolist(), loaded.formats["asv_key"]) == (["A25"], "5 track 2")


def test_labels_of_sasv_2022(tmp_path):
    (tmp_path / "sasv").write_text("LA_0015 LA_E_1103494 0.91\nLA_0015 LA_E_4861467 0.12\nLA_0015 LA_E_2345678 0.33\n")
    (tmp_path / "key").write_text(
        "LA_0015 LA_E_1103494 bonafide target\nLA_0015 LA_E_4861467 bonafide nontarget\n"
        "LA_0015 LA_E_2345678 A07 spoof\n"
    )
    loaded = read_tandem(TandemFiles(sasv=tmp_path / "sasv", asv_key=tmp_path / "key"))
    assert loaded.data.sasv_target.scores.tolist() == [0.91]
    (tmp_path / "key").write_text("LA_0015 LA_E_1103494 bonafide Target\n" * 2)
    (problem,) = diagnose_tandem(TandemFiles(sasv=tmp_path / "sasv", asv_key=tmp_path / "key"))
    assert problem.reason.startswith("column 4 holds no ASV key (target, nontarget, spoof)")


@pytest.mark.parametrize("separator", ["\t", ","])
def test_a_column_of_a_table_with_a_header(tmp_path, separator):
    table = "filename cm-label Codec\nu1 bonafide a\nu2 spoof a\nu3 bonafide b\nu4 spoof b\n".replace(" ", separator)
    (tmp_path / "key").write_text(table)
    (tmp_path / "cm").write_text("filename\tcm-score\nu1\t2\nu2\t1\nu3\t2\nu4\t3\n")
    parts = read_tandem(TandemFiles(tmp_path / "cm", key=tmp_path / "key", by="codec")).parts
    assert {value: part.cm_spoof.scores.tolist() for value, part in parts.items()} == {"a": [1.0], "b": [3.0]}


def test_what_cannot_be_told_apart(tmp_path):
    files = made_2021(tmp_path)
    (problem,) = diagnose_tandem(TandemFiles(**files, by="codex"))
    words = "no column 'codex' to divide trials by (there is: speaker, codec, channel, attack, trim, phase)"
    assert words in problem.reason
    text = files["key"].read_text().replace("opus ita_tx bonafide", "gsm ita_tx bonafide")
    files["key"].write_text(text)
    found = [one.reason for one in diagnose_tandem(TandemFiles(**files, by="codec"))]
    assert found == [
        "no spoof trials with codec 'gsm'; expected bonafide, spoof",
        "no bonafide trials with codec 'opus'; expected bonafide, spoof",
    ]


def test_a_verifier_without_the_column_is_the_same_in_all_parts(tmp_path):
    files = made_2021(tmp_path)
    (tmp_path / "asv").write_text("- target 3\n- nontarget -1\nA07 spoof 2\nA08 spoof 1\n")
    parts = read_tandem(TandemFiles(**files, asv=tmp_path / "asv", by="codec")).parts
    assert [len(part.asv_spoof) for part in parts.values()] == [2, 2, 2]
