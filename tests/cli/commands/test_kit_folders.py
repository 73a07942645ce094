"""Folders of every kit, built of real scores: read whole, shown as the table of a paper."""

import csv
import re
import shutil

import pytest

from tests.effort import slow
from zeroevidence.evaluation import read_results

DATE = "results-2020-01-02-03-04-05"
TEXTS = {"u1": "we call it bear", "u2": "zero three five one", "u3": "the dog ran", "u4": "she reads the long book"}

# For each kit: the folder of each comparison, whose scores it gets (of a set-up and its sides), and the attacker.
KITS = {
    "2020": {
        f"{DATE}.orig/ASV-libri_test_enrolls-libri_test_trials_f": ("samegender_f0mod/oo_f", "unprotected"),
        f"{DATE}.orig/ASV-libri_test_enrolls-libri_test_trials_f_anon": ("samegender_f0mod/oa_f", "ignorant"),
        f"{DATE}.orig/ASV-libri_test_enrolls_anon-libri_test_trials_f_anon": ("samegender_f0mod/aa_f", "lazy-informed"),
    },
    "2022": {
        f"{DATE}.orig/ASV-libri_test_enrolls-libri_test_trials_m": ("samegender_f0orig/oo_m", "unprotected"),
        f"{DATE}/ASV-libri_test_enrolls_anon-libri_test_trials_m_anon": (
            "samegender_f0orig_retrained/aa_m",
            "semi-informed",
        ),
    },
    "2024": {
        "asv_orig/libri_test_enrolls-libri_test_trials_f": ("samegender_f0mod/oo_f", "unprotected"),
        "asv_orig/libri_test_enrolls_x-libri_test_trials_f_x": ("samegender_f0mod/aa_f", "lazy-informed"),
        "asv_anon_x/libri_test_enrolls_x-libri_test_trials_f_x": ("samegender_f0mod_retrained/aa_f", "semi-informed"),
    },
    "2026 track 1": {
        "asv_ssl/libri_test_enrolls_x-libri_test_trials_m_x": ("samegender_f0mod/aa_m", "lazy-informed"),
        "asv_anon_x/libri_test_enrolls_x-libri_test_trials_m_x": ("samegender_f0mod_retrained/aa_m", "semi-informed"),
    },
    "2026 track 2": {
        "asv_ssl/de_test_enrolls-de_test_trials_mixed": ("samegender_f0orig/oo_f", "unprotected"),
        "asv_ssl/de_test_enrolls_BM1-de_test_trials_mixed_BM1": ("samegender_f0orig/aa_f", "lazy-informed"),
        "asv_anon_track2_10_de_BM1/cosine_out/de_test_enrolls_BM1-de_test_trials_mixed_BM1": (
            "samegender_f0orig_retrained/aa_f",
            "semi-informed",
        ),
    },
}


def build(root, comparisons, source):
    """A kit: scores under exp, keys and speakers under data."""
    for folder, (scores, _) in comparisons.items():
        place = root / "exp" / folder
        place.mkdir(parents=True)
        shutil.copy(source / f"{scores}.scores", place / "scores")
        trials = re.search(r"-([a-z]+_[a-z]+_trials_(?:f|mixed|m))", place.name)[1]
        data = root / "data" / trials
        if not data.is_dir():
            data.mkdir(parents=True)
            key = (source / f"trials_{scores[-1]}").read_text()
            (data / "trials").write_text(key)
            utterances = dict.fromkeys(line.split()[1] for line in key.splitlines())
            (data / "utt2spk").write_text("".join(f"{one} {one.split('-')[0]}\n" for one in utterances))
    return root


def add_recogniser(root, suffix, *, lost):
    """What a recogniser of 2024 leaves behind, and the tables of recogniser and classifier."""
    for ending, words in (("", 0), (suffix, lost)):
        data, heard = root / "data" / f"libri_test_asr{ending}", root / "exp" / "asr" / f"libri_test_asr{ending}"
        data.mkdir(parents=True)
        heard.mkdir(parents=True)
        names = [f"s{person}-{name}" for person in range(12) for name in TEXTS]
        said = {name: TEXTS[name.split("-")[1]] for name in names}
        (data / "text").write_text("".join(f"{name} {text}\n" for name, text in said.items()))
        (data / "utt2spk").write_text("".join(f"{name} {name.split('-')[0]}\n" for name in names))
        left = {name: text.split()[words if name < "s5" else 0 :] for name, text in said.items()}
        (heard / "text").write_text("".join(f"{name} {' '.join(text)}\n" for name, text in left.items()))
    table = f"results{suffix}.csv"
    (root / "exp" / "asr" / table).write_text(",dataset,split,asr,WER\n0,libri,test,original,99\n1,vctk,test,anon,20\n")
    (root / "exp" / "ser").mkdir()
    (root / "exp" / "ser" / table).write_text(",dataset,split,ser,UAR,ACC_sad\n0,IEMOCAP,test,anon,50.5,40\n")


@pytest.fixture(scope="module")
def source(request):
    return request.getfixturevalue("shared") / "scores" / "vpc2020"


@pytest.fixture(scope="module")
def published(source):
    """The error rates that the source of the scores published."""
    with (source / "reference_metrics.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {f"{row['condition']}/{row['enrol_trial']}_{row['sex']}": float(row["our_EER_pct"]) for row in rows}


@pytest.mark.parametrize("kit", KITS)
def test_a_folder_of_real_scores(run, tmp_path, source, published, kit):
    comparisons = KITS[kit]
    root = build(tmp_path / "kit", comparisons, source)
    result = tmp_path / "result.json"
    run.well("evaluate", root, "--intervals", 0, "--null", 0, "-f", "json", "-o", result)
    rows = read_results(result)
    found = {row.about.threat.name: 100.0 * row["eer"].value for row in rows}
    known = {attacker: published[scores] for scores, attacker in comparisons.values() if scores in published}
    assert len(rows) == len(comparisons)
    assert set(found) == {attacker for _, attacker in comparisons.values()}
    assert known
    assert {name: found[name] for name in known} == pytest.approx(known, abs=6e-4)
    assert {row.labels["dataset"] for row in rows} == {"de" if "track 2" in kit else "libri"}
    controls = "unprotected" in found
    assert all(("no-positive-control" in {flag.code for flag in row.flags}) != controls for row in rows)


@pytest.fixture
def two(tmp_path, source):
    """Two folders of the kit of 2024: the same original speech, two systems."""
    pytest.importorskip("jiwer")
    for name, scores, lost in (("a", "samegender_f0mod", 1), ("b", "samegender_f0orig", 2)):
        comparisons = {
            "asv_orig/libri_test_enrolls-libri_test_trials_f": (f"{scores}/oo_f", ""),
            f"asv_orig/libri_test_enrolls_{name}-libri_test_trials_f_{name}": (f"{scores}/aa_f", ""),
            f"asv_anon_{name}/libri_test_enrolls_{name}-libri_test_trials_f_{name}": (f"{scores}_retrained/aa_f", ""),
        }
        add_recogniser(build(tmp_path / name, comparisons, source), f"_{name}", lost=lost)
    return tmp_path / "a", tmp_path / "b"


def test_two_folders_become_the_table_of_a_paper(run, two):
    measures = [word for name in ("eer", "alid", "d_ece", "wer") for word in ("--measure", name)]
    out, _ = run.well("evaluate", *two, "--intervals", 20, "--null", 0, "-f", "latex", *measures)
    first, second = re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", out, re.DOTALL)
    lines = [line.split(r"\\")[0].split(" & ") for line in first.splitlines() if " & " in line]
    heading, units, *body = [[cell.strip() for cell in line] for line in lines]
    assert heading == ["system", "attacker", "EER", "ALID", r"$D_{\mathrm{ECE}}$", "WER"]
    assert units[-1] == r"{\scriptsize [\%]}"
    attacks = [line for line in body if line[0]]
    rows = ["a semi-informed", "unprotected unprotected", "a lazy-informed", "b semi-informed", "b lazy-informed"]
    assert [" ".join(line[:2]) for line in attacks] == rows
    people = 7 / 12  # who are not understood as well
    lost = [100 * people * words * 4 / 16 for words in (1, 0, 1, 2, 2)]
    assert [float(line[-1].strip("$")) for line in attacks] == pytest.approx(lost, abs=0.5)
    intervals = [line[2:] for line in body if not line[0]]
    assert all(re.fullmatch(r"(\{\\scriptsize \$\[.*\]\$\})?", cell) for line in intervals for cell in line), intervals
    assert "vctk" in second or "20.00" in second  # utility of other data than the attackers' stays apart


def test_utility_of_a_kit_is_measured_where_it_can_be(run, two, tmp_path):
    run.well("evaluate", two[0] / "exp", "--intervals", 12, "--null", 0, "-f", "json", "-o", tmp_path / "a.json")
    useful = [row for row in read_results(tmp_path / "a.json") if row.about.role == "utility"]
    found = {(row.labels["system"], row.labels["dataset"], row.labels.get("emotion")): row for row in useful}
    libri = {(name, "libri", None) for name in ("a", "unprotected")}
    assert set(found) == {("a", "vctk", None), ("a", "IEMOCAP", None), ("a", "IEMOCAP", "sad")} | libri
    assert found["unprotected", "libri", None].number("wer") == 0.0  # not the 99 of the table
    assert found["a", "libri", None]["wer"].low is not None
    assert found["a", "libri", None].counts["speakers"] == 12
    assert found["a", "IEMOCAP", None].number("uar") == 0.505


def test_names_that_are_given_are_those_of_utility_too(run, two):
    names, measures = ("--system", "ours", "--system", "theirs"), ("--measure", "eer", "--measure", "wer")
    out, _ = run.well("evaluate", *two, *names, *measures, "--intervals", 0, "--null", 0, "-f", "md")
    lines = [line.split(" | ") for line in out.splitlines() if line.startswith(("| ours", "| theirs"))]
    assert {line[0].removeprefix("| ") for line in lines} == {"ours", "theirs"}
    assert all(line[-1].rstrip(" |") for line in lines)


def test_results_beside_folders(run, two, tmp_path):
    """What `utility` measured elsewhere is put beside scores, in the same call."""
    shutil.rmtree(two[0] / "exp" / "asr")
    data = two[0] / "data" / "libri_test_asr"
    lines = map(str.split, (data / "text").read_text().splitlines())
    (tmp_path / "hyp").write_text("".join(f"{name} {' '.join(words[1:])}\n" for name, *words in lines))
    code, _, err = run(
        "utility", "--transcripts", data / "text", "--hypotheses", tmp_path / "hyp", "--system", "a", "-f", "json",
        "-o", tmp_path / "utility.json",
    )  # fmt: skip
    assert code == 0, err
    code, out, err = run(
        "evaluate", two[0], tmp_path / "utility.json", "--intervals", 0, "--null", 0, "-f", "md",
        "--measure", "eer", "--measure", "wer",
    )  # fmt: skip
    assert code == 0, err
    lines = [line for line in out.splitlines() if "| a |" in line]
    assert len(lines) == 2
    assert all("| 25.00 [" in line for line in lines)


@slow
def test_a_report_shows_privacy_against_utility(run, two, tmp_path):
    pytest.importorskip("jinja2")
    run.well("report", two[0] / "exp", "--intervals", 0, "--null", 0, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'id="figure-tradeoff"' in page
    assert "Privacy against utility of speech" in page
