"""ASVspoof files: what each format means, and what is wrong where."""

import numpy as np
import pytest

from zeroevidence.data.formats.asvspoof import diagnose_tandem, read_tandem
from zeroevidence.data.formats.asvspoof_sides import TandemFiles
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.data.scores import TandemScores, TrialScores
from zeroevidence.errors import InputError

CM19 = "u1 - bonafide 2.5\nu2 - bonafide 1e0\nu3 A07 spoof -1\nu4 A08 spoof -2.5\n"
ASV19 = "- target 3\nbonafide nontarget -1\nA07 spoof 2\nA08 spoof 1\n"
PROTOCOL19 = "s1 u1 bonafide target\ns1 u2 bonafide nontarget\ns1 u3 A07 spoof\ns2 u4 A08 spoof\n"
CM21 = "u4 -2.5\nu1 2.5\nu3 -1\nu2 1\n"
KEY21 = (
    "s1 u1 alaw ita_tx bonafide bonafide notrim eval\n"
    "s2 u2 alaw ita_tx bonafide bonafide notrim eval\n"
    "s1 u3 none none A07 spoof notrim eval\n"
    "s2 u4 none none A08 spoof notrim eval\n"
    "s2 u5 none none A08 spoof notrim progress\n"
)
ASV21 = (
    "s1-alaw-ita_tx v1-alaw-ita_tx 3\ns1-none-none v2-none-none -1\ns2-none-none v3-none-none 2\ns2-none-none v4 1\n"
)
ASVKEY21 = (
    "s2-none-none v4 none none A08 spoof notrim eval\n"
    "s1-alaw-ita_tx v1-alaw-ita_tx alaw ita_tx bonafide target notrim eval\n"
    "s1-none-none v2-none-none none none bonafide nontarget notrim eval\n"
    "s2-none-none v3-none-none none none A07 spoof notrim eval\n"
)
V5 = "spk\tfilename\tcm-score\tasv-score\tsasv-score\ns1\tu1\t2.5\t3\t4\ns2\tu1\t1\t-1\t-2\ns1\tu3\t-1\t2\t-3\n"
V5KEY = "spk filename cm-label asv-label\ns2 u1 bonafide nontarget\ns1 u1 bonafide target\ns1 u3 spoof spoof\n"
V5KEY = V5KEY.replace(" ", "\t")
ADCF = "s1 u1 6.96 target\ns1 u2 -1 nontarget\ns2 u3 0.5 spoof\n"


@pytest.fixture
def read(tmp_path):
    """Write contents by argument name, then read; `diagnose` gives the problems as text without the folder."""

    def write(contents):
        for name, text in contents.items():
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return {name: tmp_path / name for name in contents}

    def tandem_files(options, contents):
        reading = {name: value for name, value in (options or {}).items() if name != "phase"}
        phase = {"phase": options["phase"]} if options and "phase" in options else {}
        return TandemFiles(**write(contents), **phase, reading=ReadingOptions(**reading))

    def reader(options=None, **contents):
        return read_tandem(tandem_files(options, contents))

    def diagnose(options=None, **contents):
        found = diagnose_tandem(tandem_files(options, contents))
        return [str(problem).replace(f"{tmp_path}/", "") for problem in found]

    reader.diagnose = diagnose
    return reader


def plain(trials: TrialScores) -> list[float]:
    return sorted(trials.scores.tolist())


def test_2019_without_protocol(read):
    loaded = read(cm=CM19, asv=ASV19)
    data = loaded.data
    assert loaded.formats == {"cm": "2019", "asv": "2019"}
    assert (plain(data.cm_bonafide), plain(data.cm_spoof)) == ([1, 2.5], [-2.5, -1])
    assert (plain(data.asv_target), plain(data.asv_nontarget), plain(data.asv_spoof)) == ([3], [-1], [1, 2])
    assert data.cm_spoof.attacks.tolist() == ["A07", "A08"]
    assert data.asv_spoof.attacks.tolist() == ["A07", "A08"]
    assert data.cm_spoof.utterances.tolist() == ["u3", "u4"]
    assert data.speakers is None
    assert data.asv_spoof.utterances is None
    assert not data.has("sasv")


def test_2019_protocol_names_the_speakers_of_both_sides(read):
    data = read(cm=CM19, asv=ASV19, asv_key=PROTOCOL19).data
    assert data.asv_nontarget.speakers.tolist() == ["s1"]
    assert data.asv_spoof.speakers.tolist() == ["s1", "s2"]
    # u2 is heard only as a non-target of s1: somebody else, nobody knows who.
    assert data.cm_bonafide.speakers.tolist() == ["s1", ""]
    assert data.cm_spoof.speakers.tolist() == ["s1", "s2"]


def test_2019_cm_protocol_as_key(read):
    key = "s9 u1 - - bonafide\ns8 u2 - - bonafide\ns1 u3 - A07 spoof\ns2 u4 - A08 spoof\n"
    data = read(cm=CM19, key=key).data
    assert data.cm_bonafide.speakers.tolist() == ["s9", "s8"]
    assert read(cm=CM21, key=key).data.cm_spoof.attacks.tolist() == ["A07", "A08"]


def test_2021_takes_the_phase_that_was_asked_for(read):
    loaded = read(cm=CM21 + "u5 9\n", key=KEY21, asv=ASV21, asv_key=ASVKEY21)
    data = loaded.data
    assert loaded.phase == "eval"
    assert loaded.formats == {"cm": "2021", "asv": "2021", "key": "2021", "asv_key": "2021"}
    assert (plain(data.cm_bonafide), plain(data.cm_spoof)) == ([1, 2.5], [-2.5, -1])
    assert data.cm_spoof.speakers.tolist() == ["s1", "s2"]
    assert data.asv_target.speakers.tolist() == ["s1"]  # without the channel
    assert dict(zip(data.asv_spoof.attacks, data.asv_spoof.scores, strict=True)) == {"A07": 2, "A08": 1}
    assert plain(read({"phase": "all"}, cm=CM21 + "u5 9\n", key=KEY21).data.cm_spoof) == [-2.5, -1, 9]
    found = read.diagnose({"phase": "hidden"}, cm=CM21 + "u5 9\n", key=KEY21)
    assert found == ["key: no trials of the phase 'hidden' (found: eval, progress)"]


def test_2021_keys_of_other_tasks(read):
    df = "".join(f"{line} traditional_vocoder - - - -\n" for line in KEY21.splitlines()[:4])
    assert read(cm=CM21, key=df).data.cm_spoof.attacks.tolist() == ["A07", "A08"]
    labels = ("bonafide", "bonafide", "spoof", "spoof")
    pa = "".join(f"p{i} u{i} R3 M3 d4 r1 m1 s4 c4 {label} notrim eval\n" for i, label in enumerate(labels, 1))
    data = read(cm=CM21, key=pa).data
    assert data.cm_spoof.attacks is None
    assert data.speakers.tolist() == ["p1", "p2", "p3", "p4"]


def test_asvspoof5_table_gives_all_three_sides(read):
    for key in (V5KEY, V5KEY.replace("\t", " "), V5KEY.replace("spk\tfilename", "tar_spk_anon\ttrial_anon")):
        loaded = read(cm=V5, key=key)
        data = loaded.data
        assert loaded.formats == {"cm": "asvspoof5", "key": "asvspoof5"}
        assert (plain(data.cm_bonafide), plain(data.cm_spoof)) == ([1, 2.5], [-1])
        assert (plain(data.asv_target), plain(data.asv_nontarget), plain(data.asv_spoof)) == ([3], [-1], [2])
        assert (plain(data.sasv_target), plain(data.sasv_nontarget), plain(data.sasv_spoof)) == ([4], [-2], [-3])
        assert data.speakers.tolist() == ["s1", "s2"]


def test_asvspoof5_single_system_and_countermeasure_alone(read):
    single = V5.replace("2.5\t3", "-\t-").replace("1\t-1", "-\t-").replace("-1\t2", "-\t-")
    for side in ("cm", "sasv"):
        data = read(**{side: single, "key": V5KEY}).data
        assert data.has("sasv")
        assert not data.has("cm")
        assert not data.has("asv")
    alone = read(cm="filename\tcm-score\nu1\t1\nu2\t.5\n", key="filename\tcm-label\nu2\tspoof\nu1\tbonafide\n").data
    assert (plain(alone.cm_bonafide), plain(alone.cm_spoof)) == ([1], [0.5])
    assert alone.speakers is None


def test_adcf_file_as_single_system_and_as_verifier(read):
    data = read(sasv=ADCF).data
    assert (plain(data.sasv_target), plain(data.sasv_nontarget), plain(data.sasv_spoof)) == ([6.96], [-1], [0.5])
    assert data.speakers.tolist() == ["s1", "s2"]
    assert read(cm=CM19, asv=ADCF).data.asv_spoof.speakers.tolist() == ["s2"]
    assert plain(read(sasv=ASV19).data.sasv_spoof) == [1, 2]
    assert plain(read(sasv=ASV21, key=ASVKEY21).data.sasv_spoof) == [1, 2]


def test_format_can_be_forced(read):
    numbers = "11 12 1.5\n11 13 0.5\n12 14 2\n"
    key = "11 12 - target\n11 13 - nontarget\n12 14 A01 spoof\n"
    assert read({"format": "2021"}, sasv=numbers, asv_key=key).formats["sasv"] == "2021"
    assert read.diagnose({"format": "2021"}, cm=CM19)[0] == "cm:1: 4 column(s); expected 2: trial score"
    assert read.diagnose({"format": "adcf"}, cm=CM19) == ["cm: the format adcf has no CM scores"]
    found = read.diagnose({"format": "asvspoof5"}, cm=CM19)
    assert found == ["cm:1: no header; expected column names such as spk filename cm-score"]


@pytest.mark.parametrize(
    ("files", "problems"),
    [
        ({"cm": CM19.replace("-2.5", "nan")}, "cm:4: score 'nan' is not finite; expected a finite number"),
        ({"cm": CM19.replace("u2 -", "u2")}, "cm:2: 3 column(s); expected 4: trial attack key score"),
        ({"cm": CM19.replace("A07 spoof", "A07 fake")}, "cm:3: unknown key 'fake'; expected bonafide or spoof"),
        ({"cm": CM19 + "u1 - bonafide 2\n"}, "cm:5: duplicate of 'u1' (first on line 1); expected each pair once"),
        (
            {"cm": CM19 + "u1 A07 spoof 2\n"},
            "cm:5: 'u1' is spoof A07 here but bonafide before (first on line 1); expected one label",
        ),
        ({"cm": CM19.replace("u1 -", "u1 A09")}, "cm:1: bonafide speech with the attack 'A09'; expected - or bonafide"),
        (
            {"cm": CM19.replace("A07 spoof", "bonafide spoof")},
            "cm:3: a spoof whose attack is 'bonafide'; expected the name of an attack",
        ),
        ({"cm": "u1 - bonafide 2.5\nu2 - bonafide 1\n"}, "cm: no spoof trials; expected bonafide, spoof"),
        ({"cm": CM21}, "cm: no labels; expected a key (--key KEY)"),
        ({"cm": CM21, "key": KEY21}, "key:5: 'u5' has no score in cm; expected one"),
        ({"cm": CM21 + "u5 1\nu6 1\n", "key": KEY21}, "cm:6: 'u6' is not in the key key; expected a trial of the key"),
        (
            {"cm": CM19, "key": KEY21.replace("A07", "A09").rpartition("s2 u5")[0]},
            "cm:3: 'u3' is spoof A07 here but spoof A09 in key:3; expected the same label",
        ),
        (
            {"cm": CM19, "asv": ASV19, "asv_key": PROTOCOL19.rpartition("s2")[0]},
            "asv_key: 3 trials but 4 scores in asv; expected one for each, in the same order",
        ),
        (
            {"cm": CM19, "asv": ASV19, "asv_key": PROTOCOL19.replace("A07", "A08")},
            "asv:3: spoof A07 here but spoof A08 in asv_key:3; expected the same on each line",
        ),
        (
            {"cm": CM19, "asv": ASV19, "asv_key": ASVKEY21},
            "asv: no identifiers to join with asv_key; expected a protocol of 2019 beside it, or none",
        ),
        (
            {"cm": CM19.replace("A08", "A09"), "asv": ASV19},
            "cm:4: attack 'A09' has no scores in asv; expected the same attacks in both\n"
            "asv:4: attack 'A08' has no scores in cm; expected the same attacks in both",
        ),
        (
            {"cm": CM19, "asv": ADCF.replace("u3 0.5 spoof", "u3 0.5 target") + "s2 u4 1 spoof\n"},
            "cm:3: 'u3' is spoof A07 here but target for the verifier (asv); expected the same",
        ),
        (
            {"cm": ADCF},
            "cm:1: column 3 holds no CM key (bonafide, spoof); expected `trial attack key score`; is "
            "this a verifier's file (--asv, --asv-key, --sasv)?",
        ),
        ({"cm": V5.replace("2.5", "-"), "key": V5KEY}, "cm:2: no cm score here but on other lines; expected one"),
        (
            {"cm": V5, "key": V5KEY.replace("asv-label", "other")},
            "key: no column asv-label (found: enrol, trial, cm_key); expected one",
        ),
        (
            {"cm": "filename cm-score cm_score\nu1 1 2\n"},
            "cm:1: columns 'cm-score' and 'cm_score' mean the same; expected one",
        ),
        (
            {"cm": b"u1 - bonafide 1\nu\xe9 A07 spoof 1\n"},
            "cm:2: byte 0xe9 is not UTF-8 (is the file in Latin-1?); expected text in UTF-8",
        ),
        ({"cm": b"PAR1" + b"x" * 20}, "cm: is a parquet file; expected text"),
    ],
)
def test_what_is_wrong_and_where(read, tmp_path, files, problems):
    expected = problems.splitlines()
    assert read.diagnose(**files) == expected
    with pytest.raises(InputError) as caught:
        read(**files)
    assert str(caught.value.problem).replace(f"{tmp_path}/", "") == expected[0]
    assert (caught.value.exit_code, caught.value.more) == (3, len(expected) - 1)
    assert ("`zeroevidence tandem check` lists them" in str(caught.value)) == (len(expected) > 1)


def test_relaxed_rules_are_reported(read):
    loaded = read({"duplicates": "keep-last"}, cm=CM19 + "u1 - bonafide 7\n")
    assert plain(loaded.data.cm_bonafide) == [1, 7]
    assert loaded.relaxed == (RelaxedRule("duplicates", 1, how="keep-last", side="cm"),)
    loaded = read({"duplicates": "keep-all"}, cm=CM19 + "u1 - bonafide 7\n")
    assert plain(loaded.data.cm_bonafide) == [1, 2.5, 7]
    assert loaded.relaxed == (RelaxedRule("duplicates", 1, how="keep-all", side="cm"),)
    loaded = read({"allow_missing": True}, cm=CM21 + "u7 1\n", key=KEY21)
    assert loaded.relaxed == (RelaxedRule("missing", 2, side="cm"),)
    assert [str(rule) for rule in loaded.relaxed] == ["cm-missing:2"]
    for rule in ("keep-last", "keep-all"):  # two labels stay an error
        found = read.diagnose({"duplicates": rule}, cm=CM19 + "u1 A07 spoof 2\n")
        assert found == ["cm:5: 'u1' is spoof A07 here but bonafide before (first on line 1); expected one label"]


def test_arrays_are_checked():
    data = TandemScores.of(cm_bonafide=[1, 2], cm_spoof=[0.0])
    assert repr(data) == "TandemScores(2 cm_bonafide, 1 cm_spoof)"
    with pytest.raises(ValueError, match="read-only"):
        data.cm_spoof.scores[0] = 1
    for bad, reason in (
        ({"cm_bonafide": [1.0]}, "no cm_spoof scores"),
        ({"asv_target": [1.0], "asv_nontarget": [0.0], "asv_spoof": [0.0]}, "countermeasure in front"),
        ({}, "expected the scores of a countermeasure"),
        ({"cm": [1.0]}, "unknown scores 'cm'"),
        ({"cm_bonafide": [np.nan], "cm_spoof": [0.0]}, "NaN"),
        ({"cm_bonafide": [], "cm_spoof": [0.0]}, "at least one"),
    ):
        with pytest.raises(InputError, match=reason):
            TandemScores.of(**bad)
    with pytest.raises(InputError, match="attacks: expected 2"):
        TrialScores(np.array([1.0, 2.0]), attacks=np.array(["A01"]))


def test_bona_fide_lines_may_name_no_attack_by_a_number(tmp_path):
    path = tmp_path / "cm"
    path.write_text("u1 A00 bonafide 2.5\nu2 A07 spoof -1.5\nu3 A00 bonafide 1.5\n")
    loaded = read_tandem(TandemFiles(path))
    assert loaded.relaxed == (RelaxedRule("no-attack", 2, side="cm"),)
    assert loaded.data.cm_spoof.attacks.tolist() == ["A07"]
    path.write_text("u1 A01 bonafide 2.5\nu2 A07 spoof -1.5\nu3 - bonafide 1.5\n")
    with pytest.raises(InputError, match="bonafide speech with the attack 'A01'"):
        read_tandem(TandemFiles(path))


def test_sides_are_turned_round_and_rescaled(tmp_path):
    path = tmp_path / "cm"
    path.write_text("u1 - bonafide -2.5\nu2 A07 spoof 1.5\n")
    loaded = read_tandem(TandemFiles(path, negated=("cm",), reading=ReadingOptions(llr="log10")))
    assert loaded.data.cm_bonafide.scores[0] == pytest.approx(2.5 * np.log(10.0))
    assert [str(one) for one in loaded.relaxed] == ["cm-negated:2", "cm-llr-unit:log10:2"]
    assert read_tandem(TandemFiles(path, negated=("asv",))).relaxed == ()
