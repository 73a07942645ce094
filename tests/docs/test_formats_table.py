"""The table of files of others in docs/formats.md: its commands on bundled scores in each layout, and its numbers."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from zeroevidence.sample import sample_rows

PAGE = Path(__file__).parents[2] / "docs/formats.md"
TABLE = re.findall(r"^\| (.+) \| `zeroevidence (.+)` \| ([\d.]+) \| ([\d.]+)(?:, .+)? \|$", PAGE.read_text(), re.M)
SAMPLE = sample_rows("eval")[2]
PAIRS = [line.split() for line in Path(SAMPLE.scores).read_text().splitlines()]
LABELS = {(a, b): label for a, b, label in (line.split() for line in Path(SAMPLE.key).read_text().splitlines())}
SAME = np.array([LABELS[a, b] == "target" for a, b, _ in PAIRS])
SCORES = np.array([float(score) for *_, score in PAIRS])
CONDITIONS = {"TC1": 0.0, "TC6": 0.25}
FIRST = {a: next(b for _, b, _ in PAIRS if b.startswith(f"{a}_")) for a, *_ in PAIRS}  # a recording of each person
OTHER = np.array([FIRST[a] != b for a, b, _ in PAIRS])  # pairs of two recordings, with these as enrolments


def crossing(target, nontarget):
    """Where straight lines between points of the ROC cross the diagonal, in plain NumPy."""
    thresholds = np.unique(np.concatenate((target, nontarget)))
    miss = np.r_[0.0, np.searchsorted(np.sort(target), thresholds, "right") / len(target)]
    alarm = np.r_[1.0, 1 - np.searchsorted(np.sort(nontarget), thresholds, "right") / len(nontarget)]
    after = int(np.argmax(miss >= alarm))
    gap, next_gap = alarm[after - 1] - miss[after - 1], miss[after] - alarm[after]
    return miss[after - 1] + gap / (gap + next_gap) * (miss[after] - miss[after - 1])


def lines(name, form, heading=""):
    """Write a line for each pair: its people A and B, the recording R of B, the score, and whether it is a target."""
    rows = zip(PAIRS, SCORES, SAME, strict=True)
    made = (form.format(A=a, B=b.split("_")[0], R=b, S=s, T="target" if same else "nontarget",
                        L=np.exp(s), sign=1 if same else -1, one=int(same)) for (a, b, _), s, same in rows)  # fmt: skip
    Path(name).write_text(heading + "\n".join(made) + "\n")


def hdf5(name, **arrays):
    h5py = pytest.importorskip("h5py")
    with h5py.File(name, "w") as file:
        for key, values in arrays.items():
            file[key] = values


def write():
    """Write every file of the table."""
    models, tests = (list(dict.fromkeys(pair[side] for pair in PAIRS)) for side in (0, 1))
    place = tuple(zip(*((models.index(a), tests.index(b)) for a, b, _ in PAIRS), strict=True))
    score_mat, same = np.zeros((2, len(models), len(tests)))
    score_mat[place], same[place] = SCORES, SAME
    lines("bob4", "{A} {B} {R} {S}")
    lines("bob5", "{A} model-{A} {B} {R} {S}")
    lines("bob.csv", "{R},{B},x{A},{A},{S}",
          "probe_template_id,probe_subject_id,bio_ref_template_id,bio_ref_subject_id,score\n")  # fmt: skip
    lines("measure.txt", "{sign} {S}")
    hdf5("positives.hdf5", array=SCORES[SAME])
    hdf5("negatives.hdf5", array=SCORES[~SAME])
    hdf5("scores.h5", model_names=models, test_names=tests, score_mat=score_mat)
    hdf5("key.h5", model_names=models, test_names=tests, tar_mask=same == 1, non_mask=same == 0)
    np.savez("lir.npz", scores=SCORES, hypothesis=SAME.astype(int))
    np.save("asv.npy", [[int(b.split("_")[0]), int(a), s] for (a, b, _), s in zip(PAIRS, SCORES, strict=True)])
    lines("ratios.csv", "{A},{R},{L},{T}", "enrol,trial,LR,label\n")
    pairs = zip(PAIRS, OTHER, SAME, strict=True)
    listed = [f"id{a}/{FIRST[a]}.wav id{b[:2]}/{b}.wav {int(t)} {s}\n" for (a, b, s), other, t in pairs if other]
    Path("recordings.txt").write_text("".join(listed))
    lines("failed.txt", "{A} {R} {S} {T}")
    text = Path("failed.txt").read_text().splitlines()
    Path("failed.txt").write_text("\n".join(re.sub(r"\S+ (\S+)$", r"nan \1", t) if i % 40 == 7 else t
                                            for i, t in enumerate(text)))  # fmt: skip
    rows = [
        f"{a}\t{b}\t{c}\t{'TRUE' if t else 'FALSE'}\t{s + shift}"
        for c, shift in CONDITIONS.items()
        for (a, b, _), s, t in zip(PAIRS, SCORES, SAME, strict=True)
    ]
    Path("conditions.tsv").write_text("model\ttest\tmcond\ttarget\tscore\n" + "\n".join(rows) + "\n")
    pair = "ASV-libri_test_enrolls_anon-libri_test_trials_f_anon"
    Path("RESULTS_summary_mcadams").write_text(f"{pair}  EER: 8.665%\n")
    Path("results.anon_b1").write_text(f"{pair}\n  EER: 12.5\n  Cllr (min/act): 0.41 0.89linkability: 0.625\n\n")
    Path("results.csv").write_text(
        ",System,Gender,Dataset,Task,ROCCH-EER [%],ZEBRA Population [bit],ZEBRA Individual,ZEBRA Category,Cllr,min Cllr"
        "\n0,B1,f,libri,a-a,7.5,0.584,3.976,C,26.81,0.18\n"
    )
    for run, kind in (("results-2022", "aa"), ("results-2022.orig", "oo")):
        home = Path("exp", run, pair if kind == "aa" else pair.replace("_anon", ""))
        home.mkdir(parents=True)
        (home / "scores").write_text("".join(f"{a} {b} {s}\n" for a, b, s in PAIRS))
    Path("data/libri_test_trials_f").mkdir(parents=True)
    Path("data/libri_test_trials_f/trials").write_text(Path(SAMPLE.key).read_text())
    Path("text").write_text("u 今天天气很好\nv 我们去公园\n")
    Path("heard").write_text("u 今天天气真好\nv 我去公园\n")


def independent(command):
    """The number of a command, by other code than that of the package; None where the file itself holds it."""
    kept = np.arange(len(SCORES)) % 40 != 7
    if "recordings" in command:
        return crossing(SCORES[SAME & OTHER], SCORES[~SAME & OTHER])
    if "failed" in command:
        return crossing(SCORES[SAME & kept], SCORES[~SAME & kept])
    if "conditions" in command:
        shifted = [SCORES + shift for shift in CONDITIONS.values()]
        return crossing(*(np.concatenate([scores[chosen] for scores in shifted]) for chosen in (SAME, ~SAME)))
    held = {"RESULTS_summary": 0.08665, "results.anon_b1": 0.125, "results.csv": 0.075, "utility": 2 / 11}
    return next((rate for name, rate in held.items() if name in command), None) or crossing(SCORES[SAME], SCORES[~SAME])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write()
    return folder


def test_the_table_is_there():
    assert len(TABLE) >= 18


@pytest.mark.parametrize(("kind", "command", "ours", "other"), TABLE, ids=[row[0] for row in TABLE])
def test_a_line_of_the_table(run, files, monkeypatch, kind, command, ours, other):
    if kind.startswith("words"):
        pytest.importorskip("jiwer")
    monkeypatch.chdir(files)
    quick = ("--intervals", 0, *(() if command.startswith("utility") else ("--null", 0)))
    metrics = run.rows(*shlex.split(command), *quick)[-1]["metrics"]
    value = next(metrics[name]["value"] for name in ("cer", "eer", "eer_rocch") if name in metrics)
    assert (f"{100 * value:.3f}", f"{100 * independent(command):.3f}") == (ours, other)
