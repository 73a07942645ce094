"""Several trainings of each system: closed forms, coverage, and the command."""

import json

import numpy as np
import pytest
from scipy.stats import t

import zeroevidence as ze
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.compared_files import compare_runs, runs_systems
from zeroevidence.report.comparisons import comparisons_from_json
from zeroevidence.uncertainty.compare import TrainingRuns, training_spread

PEOPLE = 20


def runs_of(values):
    """A measure that is the mean over people: a row per training, a column per person."""
    without = (values.sum(axis=1, keepdims=True) - values) / (values.shape[1] - 1)
    return TrainingRuns(values.mean(axis=1), without)


def drawn(rng, trainings, people, spreads):
    """Values of people in trainings: both differ, and trainings do to some people what they do not to others."""
    of_people, of_trainings, of_both = spreads
    return (
        rng.normal(0.0, of_people, people)
        + rng.normal(0.0, of_trainings, (trainings, 1))
        + rng.normal(0.0, of_both, (trainings, people))
    )


def test_variances_of_a_mean_in_closed_form():
    values = np.random.default_rng(0).normal(size=(4, PEOPLE))
    found = training_spread([runs_of(values)], np.full(PEOPLE, 1 / PEOPLE), PEOPLE)
    assert found.people.error == pytest.approx(values.mean(axis=0).std(ddof=1) / np.sqrt(PEOPLE))
    assert found.trainings.error == pytest.approx(values.mean(axis=1).std(ddof=1) / 2.0)
    assert (found.people.freedom, found.trainings.freedom) == (PEOPLE - 1.0, 3.0)
    both = found.both
    assert both.error == pytest.approx(np.hypot(found.people.error, found.trainings.error))
    low, high = both.limits(0.0)
    assert high - low >= 2 * t.ppf(0.975, both.freedom) * both.error


def test_what_people_have_in_common_cancels():
    rng = np.random.default_rng(1)
    person = rng.normal(0.0, 5.0, PEOPLE)
    one, other = (person + rng.normal(0.0, 0.1, (3, 1)) for _ in range(2))
    shares = np.full(PEOPLE, 1 / PEOPLE)
    found = training_spread([runs_of(one), runs_of(other)], shares, PEOPLE)
    assert found.people.error == pytest.approx(0.0, abs=1e-9)
    expected = np.sqrt(sum(values.mean(axis=1).var(ddof=1) / 3 for values in (one, other)))
    assert found.trainings.error == pytest.approx(expected)
    # a single mean is not sure, since people differ
    assert training_spread([runs_of(one)], shares, PEOPLE).people.error > 0.3


@pytest.mark.parametrize(
    ("spreads", "mostly"), [((1.0, 0.1, 0.2), "people"), ((0.5, 0.3, 0.2), "both"), ((0.1, 1.0, 0.2), "trainings")]
)
def test_limits_cover_the_difference_of_other_people_and_trainings(spreads, mostly):
    """Neither people nor trainings favour a system: limits must hold zero in about 95 of 100 studies."""
    rng = np.random.default_rng(2)
    shares = np.full(PEOPLE, 1 / PEOPLE)
    covered, alone, studies = 0, 0, 400
    for _ in range(studies):
        person = rng.normal(0.0, spreads[0], PEOPLE)
        systems = [runs_of(person * rng.normal(1.0, 0.3) + drawn(rng, 3, PEOPLE, (spreads[0] / 2, *spreads[1:])))
                   for _ in range(2)]  # fmt: skip
        found = training_spread(systems, shares, PEOPLE)
        value = systems[0].mean - systems[1].mean
        low, high = found.both.limits(value)
        covered += low <= 0.0 <= high
        low, high = found.people.limits(value)
        alone += low <= 0.0 <= high
    assert covered >= 0.93 * studies
    if mostly == "trainings":
        assert alone < 0.6 * studies  # people alone do not tell what another training would do


def scores_of(seed, strength, rng_people=0):
    """A training of a system: the same people, another draw."""
    mated = np.arange(4 * PEOPLE) % PEOPLE
    person = np.random.default_rng(rng_people).normal(0.0, 0.4, PEOPLE)
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(4 * PEOPLE, PEOPLE)) + np.eye(PEOPLE)[mated] * (
        strength + rng.normal(0.0, 0.3) + person[mated][:, None]
    )
    return ze.ScoreMatrix(scores, mated)


@pytest.fixture(scope="module")
def results():
    return [
        ze.evaluate(scores_of(10 * place + run, strength), options=ze.Options(intervals=PEOPLE, null=0))
        for place, strength in enumerate((1.0, 3.0))
        for run in range(3)
    ]


def test_systems_are_ranked_by_their_means(results):
    eer, d_ece = compare_runs(results, ["a"] * 3 + ["b"] * 3, ["eer", "d_ece"])
    assert [one.system for one in d_ece.ranking] == ["a", "b"]
    for one, rows in zip(eer.ranking, (results[:3], results[3:]), strict=True):
        assert one.value == pytest.approx(np.mean([float(row["eer"]) for row in rows]))
        assert one.runs == 3
        assert one.low < one.value < one.high
        assert one.sources.trainings == pytest.approx(np.std([row["eer"].value for row in rows], ddof=1) / np.sqrt(3))
    (pair,) = eer.pairs
    assert pair.p_holm < 0.05
    assert pair.difference.low < pair.difference.value < pair.difference.high
    assert "|runs:3+3|" in eer.signature + "|"


def test_what_cannot_be_compared(results):
    with pytest.raises(UsageError, match="b has 1 training"):
        compare_runs(results[:4], ["a"] * 3 + ["b"])
    with pytest.raises(UsageError, match="at least two systems"):
        compare_runs(results[:3], ["a"] * 3)
    with pytest.raises(UsageError, match="one system for each"):
        compare_runs(results, ["a", "b"])
    with pytest.raises(UsageError, match="each training once"):
        runs_systems(["a", "a", "b", "c"], [2, 2])


def write(path, matrix):
    lines, key = [], []
    for trial, scores in enumerate(matrix.scores):
        for person, score in enumerate(scores):
            lines.append(f"s{person} u{trial} {score:.6f}\n")
            key.append(f"s{person} u{trial} {'target' if matrix.mated[trial] == person else 'nontarget'}\n")
    path.write_text("".join(lines))
    (path.parent / "trials").write_text("".join(key))


def test_the_command(tmp_path, capsys):
    from zeroevidence.cli import main

    files = [tmp_path / f"{name}{run}.scores" for name in "ab" for run in range(3)]
    for place, file in enumerate(files):
        write(file, scores_of(place, 1.0 if place < 3 else 3.0))

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in ("compare", *arguments)])
        return ended.value.code, capsys.readouterr()

    common = ("--key", tmp_path / "trials", "--measure", "eer", "--intervals", PEOPLE)
    code, said = run("--runs", *files[:3], "--runs", *files[3:], *common, "-f", "json")
    assert code == 0, said.err
    (found,) = comparisons_from_json(said.out)
    assert json.loads(said.out)["comparisons"][0]["ranking"][0]["runs"] == 3
    assert [(one.system, one.runs) for one in found.ranking] == [("a", 3), ("b", 3)]
    code, said = run(*common, "--runs", *files[:3], "--runs", *files[3:], "--system", "x", "--system", "y")
    assert code == 0, said.err
    assert "se trainings" in said.out
    assert {"x", "y"} <= set(said.out.split())
    code, said = run(files[0], "--runs", *files[1:3], "--runs", *files[3:], *common)
    assert code == 2
    assert "expected every score file after a --runs" in said.err
    code, said = run("--runs", *files[:3], *common)
    assert code == 2
    assert "at least two systems" in said.err
