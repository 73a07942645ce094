"""Folders of several systems: which file is whose, which key fits, and what tables add."""

import numpy as np
import pytest

from zeroevidence.errors import InputError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.reading.kept_results import KeptResults, digest_of
from zeroevidence.evaluation.reading.submissions import evaluate_submissions, find_submissions

PLAIN = Options(intervals=0, null=0)
RANKING = "dataset split gender enrollment trial EER\nlibri dev f anon anon {eer}\n"


def write_scores(path, shift, people=6, prefix="s"):
    """A score file, and the text of its key."""
    rng = np.random.default_rng(1)
    lines, key = [], []
    for trial in range(2 * people):
        for person in range(people):
            mated = trial % people == person
            pair = f"{prefix}{person} {prefix}u{trial}"
            lines.append(f"{pair} {rng.normal(shift if mated else 0.0):.5f}\n")
            key.append(f"{pair} {'target' if mated else 'nontarget'}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return "".join(key)


def test_a_key_is_the_one_that_has_the_trials(tmp_path):
    for sex in "fm":
        (tmp_path / f"trials_{sex}").write_text(write_scores(tmp_path / "A" / f"{sex}.scores", 2.0, prefix=sex))
    found = find_submissions(tmp_path)
    assert {file.labels["system"]: file.key for file in found.files} == {
        sex: str(tmp_path / f"trials_{sex}") for sex in "fm"
    }
    assert (found.tables, found.unread) == ((), ())


def test_the_nearest_key_counts(tmp_path):
    key = write_scores(tmp_path / "A" / "x.scores", 2.0)
    (tmp_path / "trials").write_text(key)
    (tmp_path / "A" / "trials").write_text(key)
    assert find_submissions(tmp_path).files[0].key == str(tmp_path / "A" / "trials")


def test_two_keys_that_differ_are_refused_and_copies_are_not(tmp_path):
    key = write_scores(tmp_path / "x.scores", 2.0)
    (tmp_path / "trials_a").write_text(key)
    (tmp_path / "trials_b").write_text(key)
    assert find_submissions(tmp_path).files[0].key == str(tmp_path / "trials_a")
    first, _, rest = key.partition("nontarget")
    (tmp_path / "trials_b").write_text(f"{first}target{rest}")
    with pytest.raises(InputError, match=r"x\.scores: .*trials_a and .*trials_b both have its trials; expected"):
        find_submissions(tmp_path)


def test_scores_with_labels_need_no_key(tmp_path):
    (tmp_path / "x_scores.txt").write_text("a u 1.5 target\nb u 0.5 nontarget\n")
    (file,) = find_submissions(tmp_path).files
    assert (file.key, file.labels) == (None, {"system": "x_scores"})


def test_a_damaged_score_file_is_named_with_its_line(tmp_path):
    (tmp_path / "trials").write_text(write_scores(tmp_path / "x.scores", 2.0))
    lines = (tmp_path / "x.scores").read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace(lines[3].split()[-1], "nan")
    (tmp_path / "x.scores").write_text("".join(lines))
    with pytest.raises(InputError, match=r"x\.scores:4: score 'nan' is not finite"):
        find_submissions(tmp_path)


def test_scores_without_a_key_are_refused(tmp_path):
    write_scores(tmp_path / "x.scores", 2.0)
    with pytest.raises(InputError, match=r"x\.scores: .*no key with 'trial' or 'key' in its name beside it or above"):
        find_submissions(tmp_path)


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_nothing_to_read(tmp_path, name):
    (tmp_path / "empty").mkdir()
    reason = "no score files and no tables" if name == "empty" else "no such folder; expected a folder of score files"
    with pytest.raises(InputError, match=reason):
        find_submissions(tmp_path / name)


def test_a_table_of_systems_decides(tmp_path):
    (tmp_path / "trials").write_text(write_scores(tmp_path / "x.scores", 2.0))
    write_scores(tmp_path / "y.scores", 1.0)
    (tmp_path / "systems.csv").write_text(
        "scores,system,enrolment,trial,trained_on\nx.scores,A,anonymised,anonymised,original\n"
    )
    found = find_submissions(tmp_path)
    (file,) = found.files
    assert (file.labels, file.about.threat.name) == ({"system": "A"}, "lazy-informed")
    assert file.key == str(tmp_path / "trials")
    assert found.unread == ("y.scores",)
    (tmp_path / "systems.csv").write_text("scores,system\nx.scores,A\ny.scores,A\n")
    with pytest.raises(InputError, match=r"x\.scores: another file has the same labels \(system A\); expected a table"):
        find_submissions(tmp_path)


def kit(root, shift, suffix="x"):
    """A kit of 2024 with one comparison of anonymised speech."""
    place = root / "exp" / f"asv_anon_{suffix}" / f"libri_dev_enrolls_{suffix}-libri_dev_trials_f_{suffix}"
    key = write_scores(place / "scores", shift)
    (root / "data" / "libri_dev_trials_f").mkdir(parents=True)
    (root / "data" / "libri_dev_trials_f" / "trials").write_text(key)


def test_equal_names_are_told_apart_by_their_folders(tmp_path):
    kit(tmp_path / "one", 2.0)
    kit(tmp_path / "two", 1.0)
    assert {file.labels["system"] for file in find_submissions(tmp_path).files} == {"one/x", "two/x"}


def test_tables_add_what_has_no_scores(tmp_path):
    kit(tmp_path / "one", 2.0)
    for team, eer in (("one", 9.0), ("two", 30.0), ("three", 40.0)):
        (tmp_path / team).mkdir(exist_ok=True)
        text = RANKING.format(eer=eer)
        (tmp_path / team / "result_for_rank_x").write_text(f"---- ASV_eval^anon results ----\n{text}")
    found = find_submissions(tmp_path)
    assert len(found.tables) == 3
    rows = evaluate_submissions(found, options=PLAIN)
    computed = [row for row in rows if row.setup.recorded is None]
    assert [row.labels["system"] for row in computed] == ["x"]
    published = {row.labels["system"]: float(row["eer"]) for row in rows if row.setup.recorded is not None}
    assert published == {"x": 0.4, "two/x": 0.3}, "the table of the system with scores is left out"


def test_a_table_without_a_suffix_is_named_by_its_path(tmp_path):
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "result_for_rank").write_text(RANKING.format(eer=20.0))
    (row,) = evaluate_submissions(find_submissions(tmp_path), options=PLAIN)
    assert row.labels["system"] == "team/result_for_rank"


def test_finished_rows_are_kept_and_the_rest_is_computed(tmp_path, monkeypatch):
    from zeroevidence.evaluation.reading import score_files

    folder, kept = tmp_path / "in", KeptResults(tmp_path / "kept")
    for name in ("a", "b"):
        key = write_scores(folder / f"{name}.scores", 2.0 if name == "a" else 1.0)
    (folder / "trials").write_text(key)
    calls = []

    def counted(*arguments, **options):
        calls.append(options["labels"]["system"])
        return evaluate(*arguments, **options)

    evaluate = score_files.evaluate
    monkeypatch.setattr(score_files, "evaluate", counted)
    options = Options(intervals=5, null=10)
    first = evaluate_submissions(find_submissions(folder), options=options, kept=kept)
    again = evaluate_submissions(find_submissions(folder), options=options, kept=kept)
    assert calls == ["a", "b"]
    assert again == first
    write_scores(folder / "b.scores", 0.5)
    evaluate_submissions(find_submissions(folder), options=options, kept=kept)
    assert calls == ["a", "b", "b"]
    evaluate_submissions(find_submissions(folder), options=PLAIN, kept=kept)
    assert calls == ["a", "b", "b", "a", "b"]


def test_a_kept_file_that_is_damaged_is_named(tmp_path):
    kept = KeptResults(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InputError, match=r"a\.json: expected a result with schema"):
        kept.find("a")
    (tmp_path / "a.json").write_text('{"schema": "zeroevidence/evaluation/3", "rows": []}')
    with pytest.raises(InputError, match=r"a\.json: has 0 rows; expected one, so remove it"):
        kept.find("a")


def test_the_digest_is_of_files_folders_and_settings(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "trials").write_text("a")
    (tmp_path / "x").write_text("a")
    paths = [str(tmp_path / "x"), str(tmp_path / "data")]
    before = digest_of(paths, PLAIN)
    assert digest_of(paths, PLAIN) == before
    assert digest_of(paths, Options()) != before
    (tmp_path / "data" / "trials").write_text("b")
    assert digest_of(paths, PLAIN) != before
