"""``zeroevidence tandem evaluate`` and ``tandem check`` as a user meets it: results, messages, exit codes."""

import csv
import io
import json

import pytest

CM = "u1 - bonafide 2.5\nu2 - bonafide 1.5\nu3 A07 spoof -1\nu4 A08 spoof 1.75\n"
ASV = "- target 3\n- target 1\nbonafide nontarget -1\n- nontarget 0.5\nA07 spoof 2\nA08 spoof -2\n"
PROTOCOL = (
    "s1 u1 bonafide target\ns2 u2 bonafide target\ns1 u2 bonafide nontarget\ns2 u1 bonafide nontarget\n"
    "s1 u3 A07 spoof\ns2 u4 A08 spoof\n"
)

TANDEM = ("tandem", "evaluate")


@pytest.fixture
def files(tmp_path):
    for name, text in (("rawnet.txt", CM), ("asv.txt", ASV), ("protocol.txt", PROTOCOL)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_one_row_as_json(run, files):
    given = ("--cm", files / "rawnet.txt", "--asv", files / "asv.txt", "--asv-key", files / "protocol.txt")
    code, out, err = run(*TANDEM, *given, "--intervals", 20, "-f", "json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "zeroevidence/evaluation/3"
    (row,) = document["rows"]
    assert row["labels"] == {"system": "rawnet", "costs": "2021 (revised)", "attack": "all"}
    assert row["counts"] == {
        "target": 2, "nontarget": 2, "spoof": 2, "cm_bonafide": 2, "cm_spoof": 2, "speakers": 2
    }  # fmt: skip
    assert set(row["metrics"]["tdcf_min"]) == {"value", "unit", "method"}  # two speakers give no interval
    assert (row["metrics"]["cm_eer"]["value"], row["metrics"]["asv_eer"]["value"]) == (0.5, 0.0)
    assert row["signature"].startswith("ZE|tandem|preset:2021|form:revised|eer:challenge|attack:all|n:2+2+2|")
    assert "|ci:speaker2|level:0.95|seed:0|data:sha256:" in row["signature"]


@pytest.mark.parametrize("form", ["text", "md", "latex", "csv", "json"])
def test_every_format_has_a_row_for_each_attack(run, files, form):
    given = ("--cm", files / "rawnet.txt", "--asv", files / "asv.txt", "--by", "attack")
    code, out, err = run(*TANDEM, *given, "--preset", "2019", "--intervals", 10, "-f", form, "--signatures")
    assert (code, err) == (0, "")
    assert out.count("|preset:2019|form:legacy|") >= 3
    for attack in ("all", "A07", "A08"):
        assert attack in out
    if form == "csv":
        lines = list(csv.DictReader(io.StringIO(out)))
        assert {line["attack"] for line in lines} == {"all", "A07", "A08"}
        assert {"tdcf_min", "teer", "cm_eer", "asv_eer"} <= {line["measure"] for line in lines}


def test_countermeasure_alone(run, files):
    (row,) = run.rows(*TANDEM, "--cm", files / "rawnet.txt", "--intervals", 0, "--system", "x")
    assert list(row["metrics"]) == ["cm_eer", "cm_cllr", "cm_dcf", "cm_dcf_min"]
    assert row["labels"]["system"] == "x"


def test_single_system_and_phase(run, tmp_path):
    (tmp_path / "s").write_text("s1 u1 3 target\ns1 u2 -1 nontarget\ns2 u3 0.5 spoof\n")
    (row,) = run.rows(*TANDEM, "--sasv", tmp_path / "s", "--preset", "adcf", "--intervals", 0)
    assert row["metrics"]["adcf_min"]["value"] == 0.0
    (tmp_path / "cm").write_text("u1 1\nu2 0\nu3 9\n")
    (tmp_path / "key").write_text(
        "s1 u1 a b bonafide bonafide notrim eval\ns1 u2 a b A07 spoof notrim eval\ns1 u3 a b A07 spoof notrim hidden\n"
    )
    args = (*TANDEM, "--cm", tmp_path / "cm", "--key", tmp_path / "key", "--intervals", 0)
    (row,) = run.rows(*args)
    assert row["labels"] == {"system": "cm", "split": "eval", "costs": "2021 (revised)", "attack": "all"}
    assert row["counts"]["cm_spoof"] == 1
    assert "|phase:eval|" in row["signature"]
    assert run.rows(*args, "--phase", "all")[0]["counts"]["cm_spoof"] == 2


@pytest.mark.parametrize(
    ("change", "place", "reason"),
    [
        ({"rawnet.txt": CM.replace("-1", "nan")}, "rawnet.txt:3", "score 'nan' is not finite; expected a finite"),
        ({"rawnet.txt": "u1 1\nu2 2\n"}, "rawnet.txt", "no labels; expected a key (--key KEY)"),
        ({"asv.txt": ASV.replace("nontarget", "target")}, "protocol.txt", "no nontarget trials"),
        ({"asv.txt": ASV.replace("A08", "A09")}, "asv.txt:6", "spoof A09 here but spoof A08"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_3(run, files, change, place, reason):
    if place == "protocol.txt":
        (files / "protocol.txt").write_text(PROTOCOL.replace("nontarget", "target"))
    for name, text in change.items():
        (files / name).write_text(text)
    args = ("--cm", files / "rawnet.txt", "--asv", files / "asv.txt", "--asv-key", files / "protocol.txt")
    code, out, err = run(*TANDEM, *args, "--intervals", 0)
    assert (code, out) == (3, "")
    assert err.startswith(f"{files / place}: {reason}")
    assert err.count("\n") == 1
    code, out, err = run("tandem", "check", *args)
    assert code == 3
    assert out.startswith(f"{files / place}: {reason}")


def test_check_counts_everything(run, files):
    (files / "rawnet.txt").write_text(CM.replace("2.5", "x").replace("-1", "y"))
    code, out, _ = run("tandem", "check", "--cm", files / "rawnet.txt")
    assert code == 3
    assert [line.partition(": ")[0] for line in out.splitlines()] == [f"{files}/rawnet.txt:{n}" for n in (1, 3)]
    code, _, err = run(*TANDEM, "--cm", files / "rawnet.txt")
    assert err.endswith("(and 1 more; `zeroevidence tandem check` lists them)\n")
    assert run("tandem", "check", "--cm", files / "asv.txt")[0] == 3
    (files / "rawnet.txt").write_text(CM)
    assert run("tandem", "check", "--cm", files / "rawnet.txt")[:2] == (0, "rawnet: ok\n")


def test_usage_errors_exit_with_2(run, files):
    for args in (
        TANDEM,
        (*TANDEM, "--asv", files / "asv.txt"),
        (*TANDEM, "--cm", files / "rawnet.txt", "--preset", "2020"),
        (*TANDEM, "--cm", files / "rawnet.txt", "--asv-key", files / "protocol.txt"),
        (*TANDEM, "--cm", files / "rawnet.txt", "-o", files / "asv.txt"),
        (*TANDEM, "--cm", files / "rawnet.txt", "--fail-if", "nonsense>1"),
    ):
        code, out, err = run(*args)
        assert (code, out) == (2, ""), args
        assert err


def test_gate_and_output_file(run, files):
    args = (*TANDEM, "--cm", files / "rawnet.txt", "--intervals", 0)
    code, _, err = run(*args, "--fail-if", "cm_eer>0.1")
    assert code == 1
    assert "gate failed: rawnet: cm_eer = 0.5 > 0.1" in err
    assert run(*args, "--fail-if", "cm_eer>0.6")[0] == 0
    code, out, err = run(*args, "-f", "json", "-o", files / "out.json")
    assert (code, out) == (0, "")
    assert json.loads((files / "out.json").read_text())["rows"]
    assert run(*args, "-o", files / "out.json")[0] == 2
    assert run(*args, "-o", files / "out.json", "--overwrite")[0] == 0


def test_a_row_for_each_codec(run, tmp_path):
    words = {0: "bonafide bonafide", 1: "A07 spoof"}
    (tmp_path / "cm").write_text("".join(f"u{n} {-n % 7}\n" for n in range(24)))
    lines = [f"s{n % 5} u{n} {('alaw', 'gsm')[n // 2 % 2]} ita_tx {words[n % 2]} notrim eval\n" for n in range(24)]
    (tmp_path / "key").write_text("".join(lines))
    asked = (*TANDEM, "--cm", tmp_path / "cm", "--key", tmp_path / "key", "--intervals", 0)
    assert [row["labels"].get("codec") for row in run.rows(*asked, "--by", "codec")] == [None, "alaw", "gsm"]
    words = "no column 'vocoder' to divide trials by (there is: speaker, codec, channel"
    run.fails(3, words, *asked, "--by", "vocoder")


def test_policy_on_the_command_line(run, files):
    scores = (*TANDEM, "--cm", files / "rawnet.txt", "--asv", files / "asv.txt", "--intervals", 0)
    policy = ("--pi-tar", 0.8, "--pi-non", 0.1, "--pi-spoof", 0.1, "--c-fa", 4, "--c-fa-spoof", 5)
    (row,) = run.rows(*scores, *policy, "--asv-threshold", 2, "--cm-threshold", 1.6)
    # each system misses one of two targets, no other speaker passes, one of two spoofs passes each
    assert row["metrics"]["tdcf_errors"]["value"] == {"a": 0.25, "b": 0.0, "c": 0.25, "d": 0.5}
    assert row["metrics"]["tdcf_act"]["value"] == pytest.approx((0.8 * 0.75 + 0.5 * 0.25) / (0.8 * 0.5 + 0.5 * 0.5))
    assert "|preset:0.8/0.1/0.1/1/4/5/1|" in row["signature"]
    for wrong, said in (
        (("--pi-spoof", 0.5), "the priors sum to"),
        (("--c-miss", -1), "c_miss must be positive and finite"),
        (("--cm-threshold", "nan"), "cm_threshold is NaN"),
        (("--pi-tar", "much"), "not a valid float"),
    ):
        code, out, err = run(*scores, *wrong)
        assert (code, out) == (2, "")
        assert said in err


def test_costs_that_have_no_meaning_name_the_files(tmp_path, run):
    (tmp_path / "cm").write_text("".join(f"u{i} {'- bonafide' if i % 2 else 'A01 spoof'} {i}\n" for i in range(20)))
    kinds = (("- target", -1), ("- nontarget", 1), ("A01 spoof", 1))
    (tmp_path / "asv").write_text("".join(f"{kind} {sign * i}\n" for i in range(1, 9) for kind, sign in kinds))
    costs = ("--preset", "2019", "--c-miss", "100")
    code, _, err = run("tandem", "evaluate", "--cm", tmp_path / "cm", "--asv", tmp_path / "asv", *costs)
    assert code == 3
    assert err.startswith(f"{tmp_path}/cm and {tmp_path}/asv: legacy t-DCF is undefined: the ASV alone costs")
