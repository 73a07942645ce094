"""Variants of files as other projects write them: other separators, names and containers."""

import gzip
import pickle
import zipfile

import numpy as np
import pytest

from tests.cli.commands.test_files_of_the_field import EER, NONTARGET, QUICK, RANKING, TARGET, table
from tests.fuzz.oracle import eer as reference_eer
from zeroevidence.data.formats.scores.read import read_score_lists, read_scores
from zeroevidence.errors import InputError


@pytest.mark.parametrize(("end", "mark", "quote"), [("\n", "", ""), ("\r\n", "\ufeff", '"')])
def test_semicolons_separate_the_columns_of_a_table(put, eer, end, mark, quote):
    rows = [("score", "label"), *((score, 1) for score in TARGET), *((score, 0) for score in NONTARGET)]
    text = end.join(";".join(f"{quote}{cell}{quote}" for cell in row) for row in rows) + end
    assert eer(put("scores.csv", mark + text)) == pytest.approx(EER)
    assert eer(put("scores.csv.gz", gzip.compress(text.encode()))) == pytest.approx(EER)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("cosine,label", "no column named score (found: cosine, label); expected one, or --score-column with its name"),
        ("llr,same", "no labels (found: llr, same); expected a key (--key KEY), or --label-column with its name"),
    ],
)
def test_a_header_with_hardly_a_known_name_is_a_header(put, refused, eer, header, message):
    path = put("a.csv", table(("1", "0"), header=header))
    assert refused(path) == f"a.csv: {message}"
    score, label = header.split(",")
    assert eer(path, "--score-column", score, "--label-column", label) == pytest.approx(EER)


def test_a_first_line_like_others_is_a_bad_line_and_no_header(put, refused):
    assert refused(put("a.csv", "x,target\n0.5,target\n0.25,nontarget\n")).startswith("a.csv:1: score 'x' is not a num")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('"score" "same"\n"1" 2.5 TRUE\n"2" 0.5 FALSE\n', "columns as write.table of R writes them; expected write.c"),
        ("2,5\n0,75\n", "one number a line, without labels; expected labels, or one file of target and one of"),
        ("[2.5, 0.5]\n", "begins like JSON; expected one trial per line, in columns"),
        ("E_1 0.5\nE_2 -1.5\n", "a name and a number a line; expected both names of a pair; `zeroevidence tandem eval"),
        ("a.wav b.wav\na.wav c.wav\n", "two names a line, without scores; expected `enrol trial score`, or a score"),
        ("SPEAKER f 1 0.0 2.5 <NA> <NA> s1 <NA> <NA>\n" * 2, "RTTM, who speaks when, without scores; expected scores"),
        ("[Min. criterion: EER ] Threshold on Development set: 4.2\n=== ===\n", "a report of bob, of rates; expected"),
        (
            "filename,cm_score,asv_score,cm_label,asv_label\nD_1,1.5,0.3,bonafide,target\nD_2,-1,0.2,spoof,spoof\n",
            "a table of ASVspoof; `zeroevidence tandem evaluate --cm f --asv f` reads it",
        ),
        ("-0.1 -2.3\n-0.5 -0.9\n", "two numbers a line, without labels; expected `score label`; of two log-posteriors"),
        ("-0.1 -2.3 1e0\n-0.5 -0.9 0e0\n", "two numbers and a label a line; expected one score; of two log-posteriors"),
    ],
)
def test_lines_without_scores_and_labels_are_called_what_they_are(put, refused, content, message):
    assert refused(put("f", content)).startswith(f"f:1: {message}")


def test_raw_numbers_under_the_name_of_hdf5(tmp_path):
    path = tmp_path / "scores.hdf5"
    np.random.default_rng(0).normal(size=200).tofile(path)
    for read in (lambda: read_scores(path), lambda: read_score_lists(path, path)):
        with pytest.raises(InputError, match=r"scores.hdf5: is no HDF5 file, as its name says; .* np.fromfile\(FILE\)"):
            read()


def test_whole_scores_with_labels_between_commas_are_read(put, eer):
    numbers = [*((score, 1) for score in (3, 2, -1)), *((score, 0) for score in (1, -3, -2, -4))]
    text = "".join(f"{score},{label}\n" for score, label in numbers)
    assert eer(put("f", text)) == pytest.approx(reference_eer([3, 2, -1], [1, -3, -2, -4]))


NUMBERED = ['"";"x"\n"1";{}\n"2";{}\n', "\tx\n0\t{}\n1\t{}\n", ",0\n0,{}\n1,{}\n"]


@pytest.mark.parametrize(
    ("numbered", "mark"),
    [*((text, ".") for text in NUMBERED), (NUMBERED[0], ","), ("x\n{}\n{}\n", ","), ("{}\n{}\n", ",")],
)
def test_lists_with_other_separators_and_decimal_commas(put, eer, numbered, mark):
    mated, nonmated = (
        put(name, numbered.format(*(str(score).replace(".", mark) for score in scores)))
        for name, scores in (("mated", (2.5, 0.5)), ("nonmated", (1.25, -1.75)))
    )
    expected = reference_eer([2.5, 0.5], [1.25, -1.75])
    assert eer("--targets", mated, "--nontargets", nonmated) == pytest.approx(expected)


def test_a_name_of_pandas_is_not_taken_for_a_score(put, run, eer):
    named, scores = put("named", "0\n2.5\n1.5\n"), put("scores", "0\n-2\n-3.5\n")
    code, _, err = run("evaluate", "--targets", named, "--nontargets", scores)
    assert code == 3
    assert err.startswith("named:1: 0 above decimals, as pandas names a column; expected header=False")
    assert eer("--targets", put("t", "3.5\n2\n"), "--nontargets", scores) == 0.0


def test_arrays_of_one_number_for_each_trial(put, run, eer, refused):
    np.save("mated.npy", np.array(TARGET)[:, None])
    np.save("nonmated.npy", np.array(NONTARGET)[:, None])
    assert eer("--targets", "mated.npy", "--nontargets", "nonmated.npy") == pytest.approx(EER)
    np.save("mated.npy", np.array(TARGET))
    np.save("nonmated.npy", np.array(NONTARGET))
    assert refused("mated.npy").endswith("--targets FILE --nontargets FILE")
    code, _, err = run("evaluate", "mated.npy", "nonmated.npy")
    assert (code, err.startswith("mated.npy and nonmated.npy hold one number a line, without labels")) == (2, True)
    np.save("labels.npy", np.array([True, False, True]))
    np.save("two.npy", np.ones((3, 2)))
    assert refused("two.npy", "--key", "labels.npy").startswith("two.npy: mated: labels, not columns; expected np")


def test_other_containers_are_called_by_their_names(put, refused, run):
    for protocol in (0, 1, 4):
        assert ": a pickle, which is never read" in refused(put("old.pkl", pickle.dumps({"scores": TARGET}, protocol)))
    put("pickled", pickle.dumps(TARGET))
    for arguments in (
        ("tandem", "evaluate", "--cm", "pickled", "--key", "pickled"),
        ("doctor", "--corpus", "pickled"),
        ("link", "--enrol", "pickled", "--trial", "pickled", "-o", "out"),
    ):
        code, out, err = run(*arguments)
        assert (code, "pickled: a pickle, which is never read" in out + err) == (3, True)
    with zipfile.ZipFile("saved.pt", "w") as archive:
        archive.writestr("saved/data.pkl", b"\x80\x02.")
    assert refused("saved.pt").startswith("saved.pt: a pickle, which is never read")
    with zipfile.ZipFile("book.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    assert refused("book.xlsx") == "book.xlsx: is a workbook of Excel; expected it saved as CSV"
    matlab = put("m.mat", b"MATLAB 5.0 MAT-file".ljust(126) + b"\x00\x01" + bytes(200))
    assert refused(matlab) == "m.mat: is a file of MATLAB; expected scores as text, Parquet or NumPy"


def test_the_ending_of_a_compressed_file_is_no_part_of_its_name(put, run):
    for name in ("result_for_rank_c.gz", "c.csv.gz"):
        content = RANKING.format(12.5) if "rank" in name else table(("1", "0"))
        (row,) = run.rows("evaluate", put(name, gzip.compress(content.encode())), *QUICK)
        assert row["labels"]["system"] == "c"


def test_doctor_reads_results(put, run):
    assert run("doctor", put("result_for_rank_a", RANKING.format(12.5)))[:2] == (0, "result_for_rank_a: ok\n")
    code, out, _ = run("doctor", put("a.json", '{"scores": [1, 2]}'))
    assert (code, out.startswith("a.json: expected a result with schema")) == (3, True)
    assert "or scores in columns, one trial per line" in out


SOURCES = {"log10LR": ("same-source", "different-source"), "log10(LR)": ("SS", "DS"), "LR": ("H1", "H2")}
SOURCES["likelihood_ratio"] = ("Hp", "Hd")


@pytest.mark.parametrize(("separator", "mark"), [(",", "."), (";", ","), ("\t", ","), (";", "."), ('","', ",")])
@pytest.mark.parametrize("column", SOURCES)
def test_forensic_tables(put, run, separator, mark, column):
    """Known and questioned recordings, a column that names its unit, and labels of hypotheses."""
    quote = '"' if len(separator) > 1 else ""
    rows = [("known", "questioned", column, "hypothesis")]
    for place, score in enumerate((*TARGET, *NONTARGET)):
        number = score if column.startswith("log10") else 10.0**score
        label = SOURCES[column][place >= len(TARGET)]
        rows.append((f"k{place}", f"q{place}", f"{number:.9f}".replace(".", mark), label))
    path = put("table.csv", "".join(f"{quote}{separator.join(row)}{quote}\n" for row in rows))
    (row,) = run.rows("evaluate", path, *QUICK)
    llrs = [np.log(10.0) * np.array(scores) for scores in (TARGET, NONTARGET)]
    costs = [np.logaddexp(0.0, sign * side).mean() for sign, side in zip((-1, 1), llrs, strict=True)]
    expected = 0.5 * sum(costs) / np.log(2.0)
    assert row["metrics"]["cllr"]["value"] == pytest.approx(expected, abs=1e-6)
    assert {"devpav", "elub_low", "elub_high", "invariance_low", "invariance_high"} <= set(row["metrics"])
    unit = "log10 likelihood ratios" if column.startswith("log10") else "likelihood ratios"
    (note,) = (flag["sentence"] for flag in row["flags"] if flag["code"] == "llr-column")
    assert note == f"{len(rows) - 1} scores were read as {unit}, as their column is called."
    (row,) = run.rows("evaluate", path, *QUICK, "--llr", "ln")
    assert row["metrics"]["cllr"]["value"] != pytest.approx(expected, abs=1e-6)  # what was said overrules the name


@pytest.mark.parametrize(
    ("cell", "more", "message"),
    [
        ("-0.5", (), ":3: likelihood ratio '-0.5' is negative; expected a likelihood ratio from 0 on, or --llr log10"),
        ("0", (), ":3: likelihood ratio '0.0' is infinite evidence; expected a finite positive one (--infinite accept"),
        ("inf", (), ":3: likelihood ratio 'inf' is infinite evidence; expected a finite positive one (--infinite acc"),
        ("0", ("--infinite", "accept"), None),
        ("-0.5", ("--llr", "log10"), None),
        ("nan", (), ":3: score 'nan' is not finite; expected a finite number"),
        ("2;5", (), ":3: score '2;5' is not a number"),
    ],
)
def test_ratios_that_are_none(put, run, cell, more, message):
    path = put("a.csv", f"LR,label\n4,H1\n{cell},H2\n0.25,H2\n")
    code, _, err = run("evaluate", path, *QUICK, *more)
    assert (code, err.startswith(f"a.csv{message}")) == ((0, False) if message is None else (3, True))


def test_points_among_decimal_commas_are_asked_about(put, refused):
    path = put("a.csv", "score;label\n2,5;1\n1.250;0\n0,5;0\n")
    assert refused(path).startswith("a.csv:3: score '1.250' has a point where others have a decimal comma")
    assert refused(put("b.csv", "score;label\n2.5;1\n1,5;0\n0.5;0\n")).startswith("b.csv:3: score '1,5' is not a num")


def test_lists_of_two_units_are_refused(put, run):
    code, _, err = run("evaluate", "--targets", put("a", "LR\n4\n"), "--nontargets", put("b", "log10LR\n-1\n"))
    assert (code, err.split(";")[0]) == (3, "b: log10 by the name of the column, but lr in a")
    (row,) = run.rows("evaluate", "--targets", "a", "--nontargets", put("c", "LR\n0.5\n"), *QUICK)
    assert row["metrics"]["cllr"]["value"] == pytest.approx((np.log2(1.25) + np.log2(1.5)) / 2.0)
