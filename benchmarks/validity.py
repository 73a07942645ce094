"""Do intervals hold the truth, are p-values honest, are differences real? Simulated people with known truth.

    python benchmarks/validity.py --workers 16 --results validity.jsonl --table docs/validity-results.tsv
    python benchmarks/validity.py --part coverage --people 100 --workers 16 --results validity.jsonl
    python benchmarks/validity.py --quick

Each cell (a design, a leakage, a number of people) is simulated many times; `validity_designs.py` says how. Cells that
the file of results has already, of as many simulations, are not computed again, so a run that was stopped goes on.
Needs NumPy and SciPy only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from hard_designs import HARD, REAL, hard_matrix
from validity_designs import DESIGNS, LEAKS, complete_list, independent, independent_list, matrix, tandem, trial_list
from validity_table import table

from zeroevidence import Options, Run
from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.comparison import compare
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.evaluation.people import most_people_above
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.evaluation.tandem import evaluate_tandem
from zeroevidence.measure.measures import MEASURES as REGISTRY
from zeroevidence.measure.measures import measures_of
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.report.verdict import verdict
from zeroevidence.uncertainty.lists import PreparedScores
from zeroevidence.uncertainty.null import pair_null, permutation_p_value

EXPOSED = ("exposed_one", "exposed_half")
MEASURES = ("eer", "cllr_min", "d_ece", "linkability", "alid", "top1", "mean_rank_disclosure")
COMPARED = ("eer", "d_ece", "linkability", "alid", "top1")
LIMITED = (*MEASURES, "eer_rocch", "dcf_min", "lid_prior_free", "link_probability")
TANDEM = ("cm_eer", "asv_eer", "tdcf_min", "teer")
PARTS = ("coverage", "crossfit", "lists", "null", "compare", "exposure", "tandem", "hard")
POPULATION = 1_000_000
POOLED = 200  # samples that the truth of a hard design comes from
SMALL_SHIFT = 0.4  # of mated pairs, for the power of the tests


@dataclass(frozen=True)
class Cell:
    """One line of a table: what is simulated, and how often."""

    part: str
    design: str
    leak: str
    people: int
    simulations: int
    more: int = 0  # systems that are compared, attacks of a tandem, or enrolments in a list

    @property
    def name(self):
        """What the file of results knows it by."""
        return f"{self.part}/{self.design}/{self.leak}/{self.people}/{self.more}"


def all_cells(simulations):
    """Everything that the table has."""
    cells = [
        Cell("coverage", design, leak, people, simulations)
        for people, leaks in ((10, LEAKS), (30, LEAKS), (100, ("medium",)))
        for design in DESIGNS
        for leak in leaks
    ]
    cells += [
        Cell("crossfit", design, leak, people, simulations)
        for people in (30,)
        for design in ("equal", "zipf", "heavy")
        for leak in ("medium", "strong")
    ]
    cells += [
        Cell("lists", design, leak, people, simulations)
        for people in (30, 100)
        for design in ("equal", "zipf", "heavy")
        for leak in ("medium", "strong")
    ]
    cells += [
        Cell("null", design, kind, people, 2 * simulations, more)
        for people in (10, 30, 100)
        for design in DESIGNS
        for kind, more in (("matrix", 0), ("complete list", 3), ("list", 1), ("list", 3))
    ]
    cells += [
        Cell("compare", design, "medium", people, simulations // 2, systems)
        for people, systems in ((30, 6), (30, 20), (100, 6))
        for design in ("equal", "zipf", "heavy", "zoo")
    ]
    cells += [
        Cell("exposure", design, "none", 30, simulations, exposed)
        for design in ("equal", "zipf", "zoo")
        for exposed in (0, 1, 2, 3)
    ]
    cells += [
        Cell("tandem", design, "medium", people, simulations, attacks)
        for people in (16, 30, 60)
        for design in ("equal", "zipf", "heavy")
        for attacks in (1, 12)
    ]
    hard = [("rare", 30, 10), ("rare", 60, 10), ("hubs", 60, 10), ("integers", 30, 10)]
    hard += [("once", 60, recordings) for recordings in (1, 2, 5, 10)]
    hard += [("rare vectors", 30, 10), ("rare vectors", 60, 10), ("sessions", 30, 10), ("sessions", 60, 1)]
    hard += [("families", 60, 10), ("quality", 60, 10), ("real", 30, 10)]
    return cells + [
        Cell("hard", design, "held out" if HARD[design].held_out else "chosen on", people, simulations, recordings)
        for design, people, recordings in hard
        if design != "real" or REAL.exists()
    ]


def simulated(job):
    """One simulation of a cell."""
    cell, seed = job
    return globals()[f"_{cell.part}"](cell, seed)


def _coverage(cell, seed):
    """Corrected values, values, limits, and where the true identity stood."""
    data = matrix(DESIGNS[cell.design], LEAKS[cell.leak], cell.people, (1, cell.people, seed))
    dev = development(cell.design, cell.leak, cell.people)
    return _search_intervals(cell, evaluate(data, dev=dev, options=Options(null=0), run=Run(seed=seed)))


def _crossfit(cell, seed):
    """The same where the search is calibrated on the other evaluated people."""
    data = matrix(DESIGNS[cell.design], LEAKS[cell.leak], cell.people, (11, cell.people, seed))
    return _search_intervals(cell, evaluate(data, options=Options(null=0), run=Run(seed=seed)))


def _search_intervals(cell, found):
    ranks = np.bincount(found.trials.rank.astype(int) - 1, minlength=cell.people) / len(found.trials.lid)
    shares = [
        [share, share, np.nan, np.nan, most_people_above(found, level)]
        for level in _levels(cell.people)
        for share in [float(np.mean(np.array(found.people.alid) > level))]
    ]
    return [*(_interval(found, name) for name in MEASURES), *shares], ranks.tolist()


def _hard(cell, seed):
    """Limits of a search, the same without allowing for people recognised in every recording, and whether one was."""
    data = hard_matrix(cell.design, cell.people, cell.more, (14, cell.people, cell.more, seed))
    row = evaluate(
        data, dev=_hard_development(cell.design, cell.people, cell.more), options=Options(null=0), run=Run(seed=seed)
    )
    ranks = row.trials.rank.astype(int)
    named = np.bincount(data.mated, ranks > 1, cell.people) == 0
    without = replace(row.replicates, unseen={name: kinds[:1] for name, kinds in row.replicates.unseen.items()})
    plain = {name: without.with_interval(MeasureResult.of(name, float(row[name])), name, 0.95) for name in LIMITED}
    limits = [[*_interval(row, name), *(_number(getattr(plain[name], limit)) for limit in ("low", "high", "bound"))]
              for name in LIMITED]  # fmt: skip
    return limits, (np.bincount(ranks - 1, minlength=cell.people) / len(ranks)).tolist(), bool(named.any())


@lru_cache(1)
def _hard_development(design, people, recordings):
    many = [hard_matrix(design, people, recordings, (15, people, recordings, i)) for i in range(max(1, 150 // people))]
    return ScoreMatrix(np.concatenate([data.scores for data in many]), np.concatenate([data.mated for data in many]))


def _levels(people):
    """Bits that people are called exposed from on: one, and half of what there is."""
    return 1.0, 0.5 * np.log2(people)


def _interval(row, name):
    """What the interval of a measure lies around, its value, and its limits."""
    result = row[name]
    corrected = None if row.replicates is None else row.replicates.corrected(name, float(result))
    limits = (result.low, result.high, result.bound)
    return [float(result) if corrected is None else corrected, float(result), *map(_number, limits)]


def _number(limit):
    return np.nan if limit is None else limit


@lru_cache(1)
def development(design, leak, people):
    """Other people, on whom the search is calibrated once for all simulations of a cell."""
    many = [matrix(DESIGNS[design], LEAKS[leak], people, (2, people, i)) for i in range(max(1, 300 // people))]
    return ScoreMatrix(np.concatenate([one.scores for one in many]), np.concatenate([one.mated for one in many]))


def _lists(cell, seed):
    data = trial_list(DESIGNS[cell.design], LEAKS[cell.leak], cell.people, (3, cell.people, seed))
    found = evaluate(data, options=Options(null=0), run=Run(seed=seed))
    return [_interval(found, name) for name in MEASURES[:4]], []


def _null(cell, seed):
    """P-values where nothing leaks, the verdict's among them, and one where a little does."""
    found = []
    for number, shift in enumerate((0.0, SMALL_SHIFT)):
        key = (4 + number, cell.people, seed)
        if cell.leak == "list":
            data = trial_list(DESIGNS[cell.design], shift, cell.people, key, enrolments=cell.more)
            test = pair_null(PreparedScores(data), None).test(199)
            found.append([permutation_p_value(test.statistic, test.draws)])
        elif cell.leak == "complete list":
            data = complete_list(DESIGNS[cell.design], shift, cell.people, key)
            found.append(
                [
                    evaluate(data, options=Options(intervals=0, null=99, linkability="pav"), run=Run(seed=seed))[
                        "d_ece"
                    ].p_value
                ]
            )
        else:
            data = matrix(DESIGNS[cell.design], shift, cell.people, key)
            row = evaluate(data, options=Options(intervals=0, null=99, linkability="pav"), run=Run(seed=seed))
            found.append([row[name].p_value for name in ("d_ece", "alid")] + [chances([row])[0].p_value])
    return found


def _compare(cell, seed):
    """P-values of all pairs of systems of equal truth, which share a half of their effects."""
    design, shift = DESIGNS[cell.design], LEAKS[cell.leak]
    common = matrix(design, shift, cell.people, (6, cell.people, seed))
    rows = []
    for system in range(cell.more):
        single = matrix(design, shift, cell.people, (7, cell.people, seed, system))
        scores = (common.scores + single.scores) / np.sqrt(2.0)
        data = ScoreMatrix(scores, common.mated, None, None, common.trial_speakers, common.enrolment_speakers)
        rows.append(evaluate(data, labels={"system": str(system)}, options=Options(null=0)))
    tables = compare(rows, COMPARED)
    return [[np.mean([pair.difference.p_value <= 0.05 for pair in table.pairs]),
             float(min(pair.p_holm for pair in table.pairs) <= 0.05)] for table in tables]  # fmt: skip


def _exposure(cell, seed):
    """What the verdict says where nothing leaks but a few people, who are recognised in every recording."""
    data = matrix(DESIGNS[cell.design], LEAKS[cell.leak], cell.people, (12, cell.people, seed))
    # Whoever is exposed has at least two recordings: nobody else can be counted.
    countable = np.flatnonzero(np.bincount(data.mated, minlength=cell.people) > 1)
    exposed = np.random.default_rng((13, seed)).choice(countable, cell.more, replace=False)
    scores = np.array(data.scores)
    rows = np.flatnonzero(np.isin(data.mated, exposed))
    scores[rows, data.mated[rows]] = scores.max() + 1.0
    data = replace(data, scores=scores)
    row = evaluate(data, options=Options(null=99, linkability="pav"), run=Run(seed=seed))
    conclusion = verdict([row])
    named = {name for name, counts in zip(row.people.speaker, row.people.named, strict=True) if counts}
    names = set(data.enrolment_speakers[exposed].tolist())
    counted = any(sentence.startswith(f"{len(named)} of ") for sentence in conclusion.summary[:5])
    return {
        "found": len(named & names),
        "others": len(named - names),
        "chance": float(chances([row])[0].beaten is False),
        "counted": float(counted or not named),
        "headline": float("named in nearly all" in conclusion.headline),
        "bound": float(row["people_named"].bound >= cell.more / cell.people),
    }


def _tandem(cell, seed):
    data = tandem(DESIGNS[cell.design], cell.people, cell.more, (8, cell.people, seed))
    (found,) = evaluate_tandem(data, run=Run(seed=seed))
    return [_interval(found, name) for name in TANDEM], []


def summary(cell, results):
    """What the table has of a cell."""
    if cell.part in ("coverage", "crossfit", "lists", "tandem"):
        searched = (*MEASURES, *EXPOSED)
        names = {"coverage": searched, "crossfit": searched, "lists": MEASURES[:4], "tandem": TANDEM}[cell.part]
        truth = true_values(cell, results)
        values = np.array([intervals for intervals, _ in results])
        falls = _falling()
        return {name: _judged(values[:, k], truth[name], name in falls) for k, name in enumerate(names)}
    if cell.part == "hard":
        return _judged_limits(cell, results)
    if cell.part == "compare":
        shares = np.array(results).mean(axis=0)
        return {name: {"pairs": shares[k, 0], "tables": shares[k, 1]} for k, name in enumerate(COMPARED)}
    if cell.part == "exposure":
        return {name: float(np.mean([result[name] for result in results])) for name in results[0]}
    names = ("list",) if "list" in cell.leak else ("d_ece", "alid", "verdict")
    nothing, little = (np.array([one[k] for one in results]) for k in range(2))
    return {name: {"rejected": float((nothing[:, k] <= 0.05).mean()), "power": float((little[:, k] <= 0.05).mean())}
            for k, name in enumerate(names)}  # fmt: skip


def _judged_limits(cell, results):
    truth, falls = _hard_truth(cell, results), _falling()
    values = np.array([limits for limits, _, _ in results])
    nobody = np.array([not exposed for _, _, exposed in results])
    judged = {}
    for k, name in enumerate(LIMITED):
        measured = values[:, k]
        judged[name] = _judged(measured[:, :5], truth[name], name in falls)
        without = _judged(measured[:, [0, 1, 5, 6, 7]], truth[name], name in falls)
        judged[name] |= {
            "unseen": _judged(measured[nobody, :5], truth[name], name in falls)["safe"] if nobody.any() else None,
            "without": {key: without[key] for key in ("coverage", "safe", "length")},
            "reach": float(np.abs(measured[:, 4] - measured[:, 0]).mean()),
            "reach_without": float(np.abs(measured[:, 7] - measured[:, 0]).mean()),
        }
    return judged | {"nobody": float(nobody.mean())}


def _hard_truth(cell, results):
    """Of comparisons, that of the scores of many samples together; of a search, the mean over all simulations."""
    many = [hard_matrix(cell.design, cell.people, cell.more, (16, cell.people, cell.more, i)) for i in range(POOLED)]
    pairs = [data.to_scores() for data in many]
    classes = (np.concatenate([getattr(part, side) for part in pairs]) for side in ("target", "nontarget"))
    view = ScoreView(rank(*classes))
    truth = {measure.name: measure.compute(view) for measure in measures_of("one-to-one") if measure.name in LIMITED}
    ranks = np.mean([ranks for _, ranks, _ in results], axis=0)
    used = ranks > 0.0
    truth["mean_rank_disclosure"] = float(ranks[used] @ np.log2(cell.people * ranks[used]))
    means = np.mean([[measured[1] for measured in limits] for limits, _, _ in results], axis=0)
    return {name: float(mean) for name, mean in zip(LIMITED, means, strict=True)} | truth


def _falling():
    return {measure.name for measure in REGISTRY.values() if measure.discloses == "down"}


def _judged(values, truth, falls):
    value, plain, low, high, bound = values.T
    has_interval, bounded = ~np.isnan(low), ~np.isnan(bound)
    held = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
    safe = bound <= truth + 1e-12 if falls else bound >= truth - 1e-12
    return {
        "truth": truth,
        "given": float(has_interval.mean()),
        "coverage": float(held[has_interval].mean()) if has_interval.any() else None,
        "safe": float(safe[bounded].mean()) if bounded.any() else None,
        "length": float((high - low)[has_interval].mean()) if has_interval.any() else None,
        "deviation": float(value.std()),
        "bias": float(value.mean() - truth),
        "plain_bias": float(plain.mean() - truth),
    }


def true_values(cell, results):
    """Of the population where it can be had; of a search, whose size matters, the mean over all simulations."""
    design, shift = DESIGNS[cell.design], LEAKS[cell.leak]
    if cell.part == "tandem":
        many = [evaluate_tandem(tandem(design, 400, max(cell.more, 400 if cell.more > 1 else 1), (9, i)), intervals=0)
                for i in range(8)]  # fmt: skip
        return {name: float(np.mean([float(rows[0][name]) for rows in many])) for name in TANDEM}
    population = independent_list if cell.part == "lists" else independent
    view = ScoreView(rank(*population(design, shift, POPULATION, 10)))
    truth = {one.name: one.compute(view) for one in measures_of("one-to-one") if one.name in MEASURES}
    if cell.part in ("coverage", "crossfit"):
        plain = np.mean([[one[1] for one in intervals] for intervals, _ in results], axis=0)
        names = (*MEASURES, *EXPOSED)
        truth |= {name: float(plain[names.index(name)]) for name in ("alid", "top1", *EXPOSED)}
        ranks = np.mean([ranks for _, ranks in results], axis=0)
        used = ranks > 0.0
        truth["mean_rank_disclosure"] = float(ranks[used] @ np.log2(cell.people * ranks[used]))
    return truth


def results_of(path):
    """Lines of a file of results by the name of their cell, those of most simulations."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["name"]: line for line in sorted(lines, key=lambda line: line["simulations"])}


def run(cells, workers, path):
    """Summaries of all cells, by name; those of the file are taken from there."""
    stored = results_of(path)
    with ProcessPoolExecutor(workers) as processes:
        for cell in cells:
            if cell.name in stored and stored[cell.name]["simulations"] >= cell.simulations:
                continue
            start = time.perf_counter()
            jobs = [(cell, seed) for seed in range(cell.simulations)]
            results = list(processes.map(simulated, jobs, chunksize=max(1, cell.simulations // (8 * workers))))
            line = {"name": cell.name, **vars(cell), "found": summary(cell, results)}
            stored[cell.name] = line
            print(f"{cell.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            if path is not None:
                with path.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    return [stored[cell.name] for cell in cells]


def quick(workers):
    """Three cells, few simulations: what a change of the method would break first. Returns what does not hold."""
    cells = [
        Cell("coverage", "zipf", "strong", 16, 24),
        Cell("null", "zipf", "list", 30, 200, 3),
        Cell("compare", "equal", "medium", 16, 12, 4),
    ]
    covered, rejected, differing = (line["found"] for line in run(cells, workers, None))
    wrong = [f"{name}: {one['coverage']:.0%} of the intervals hold the truth"
             for name, one in covered.items() if one["coverage"] is not None and one["coverage"] < 0.8]  # fmt: skip
    wrong += [f"{name}: {one['safe']:.0%} of the upper limits are on the safe side"
              for name, one in covered.items() if one["safe"] < 0.8]  # fmt: skip
    if rejected["list"]["rejected"] > 0.1:
        wrong.append(f"{rejected['list']['rejected']:.0%} of lists that tell nothing are called a leak")
    if rejected["list"]["power"] < 0.3:
        wrong.append(f"{rejected['list']['power']:.0%} of lists that tell a little are found")
    return wrong + [f"{name}: {one['tables']:.0%} of tables show a difference that is none"
                    for name, one in differing.items() if one["tables"] > 0.26]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--people", type=int)
    parser.add_argument("--design", choices=DESIGNS)
    parser.add_argument("--results", type=Path, help="file of results; cells it has are not computed again")
    parser.add_argument("--table", type=Path, help="where to write the table")
    parser.add_argument("--kept", action="store_true", help="compute nothing: only the cells that the file has")
    parser.add_argument("--quick", action="store_true", help="check three cells and fail where one does not hold")
    arguments = parser.parse_args()
    if arguments.quick:
        wrong = quick(arguments.workers)
        print("\n".join(wrong) or "all three hold")
        sys.exit(bool(wrong))
    cells = [
        cell
        for cell in all_cells(arguments.simulations)
        if arguments.part in (None, cell.part)
        and arguments.people in (None, cell.people)
        and arguments.design in (None, cell.design)
    ]
    if arguments.kept:
        there = results_of(arguments.results)
        print(f"{sum(cell.name in there for cell in cells)} of {len(cells)} cells", file=sys.stderr)
        cells = [cell for cell in cells if cell.name in there]
    text = table(run(cells, arguments.workers, arguments.results))
    if arguments.table is None:
        print(text)
    else:
        arguments.table.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
