"""Do intervals hold the truth, are p-values honest, are differences real? Simulated people with known truth.

    python benchmarks/validity.py --cost
    python benchmarks/validity.py --workers 16 --results validity.jsonl --table docs/validity-results.tsv
    python benchmarks/validity.py --held-out --workers 16 --results validity.jsonl
    python benchmarks/validity.py --quick

Each cell (a part, a design, numbers of people and recordings) is simulated many times; `validity_parts.py` says what is
done, `held_out_designs.py` has the designs that nothing was chosen on, `validity_designs.py` and `hard_designs.py` the
others. Cells that the file of results has already, of as many simulations, are not computed again, so a run that was
stopped goes on. Needs NumPy and SciPy only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import validity_parts
from hard_designs import REAL
from held_out_designs import VOICES
from validity_designs import DESIGNS

from zeroevidence.measure.measures import MEASURES

COLUMNS = ("part", "design", "held_out", "people", "recordings", "more", "simulations", "measure", "statistic", "value")
# core-seconds of one simulation, for the estimate of --cost
_SECONDS = {"intervals": 1.2, "lists": 0.6, "named": 0.5, "p_values": 1.5, "list_tests": 0.6, "compared": 1.5,
            "exposed": 1.2, "tandems": 0.5, "speakers": 0.4}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """What is simulated, and how often.

    Parameters
    ----------
    part
        A function of `validity_parts`.
    design
        Who the people are, for those of `validity_designs` followed by how much leaks.
    people
        How many there are.
    recordings
        Of each person; of lists chosen on the number of enrolments.
    simulations
        How often.
    more
        What else the part says.
    """

    part: str
    design: str
    people: int
    recordings: int
    simulations: int
    more: str = ""

    @property
    def name(self):
        """What the file of results knows it by."""
        return f"{self.part}/{self.design}/{self.people}/{self.recordings}/{self.more}"

    @property
    def held_out(self):
        """Whether nothing was chosen on its design."""
        return self.design in VOICES or self.part in ("utility", "attributes")

    @property
    def seconds(self):
        """Core-seconds, roughly."""
        return self.simulations * _SECONDS.get(self.part, 0.1) * (self.people / 30) ** 1.2


def held_out_cells(simulations):
    """Cells of designs that nothing was chosen on."""
    searches = [("graded", 30, 10), ("graded", 60, 4), ("reluctant", 30, 10), ("half", 30, 10), ("half", 30, 4),
                ("nothing", 30, 10), ("one in forty", 40, 10), ("talkative", 30, 10),
                ("talkative", 60, 10)]  # fmt: skip
    cells = [Cell("intervals", *search, simulations, "cross-fitted") for search in searches]
    cells += [
        Cell("intervals", design, 30, 10, simulations, "development") for design in ("graded", "half", "reluctant")
    ]
    cells += [Cell("lists", design, 30, 8, simulations) for design in ("graded", "half")]
    cells += [
        Cell("named", design, 30, recordings, simulations)
        for design in ("graded", "half", "reluctant", "one in forty")
        for recordings in (2, 4, 6, 10)
    ]
    cells += [Cell("p_values", design, 30, recordings, simulations)
              for design, recordings in (("nothing", 10), ("nothing", 2), ("rooms", 10), ("uneven", 10))]  # fmt: skip
    cells += [Cell("list_tests", "graded", people, 8, simulations) for people in (12, 30, 100)]
    cells += [Cell("compared", "graded", 30, 10, simulations, more) for more in ("1.0", "1.35")]
    cells += [
        Cell("compared", "reluctant", 30, 10, simulations, "1.35"),
        Cell("compared", "half", 30, 10, simulations, "6"),
    ]
    cells += [Cell("speakers", design, 30, 10, simulations) for design in ("graded", "half")]
    cells += [Cell("thresholds", design, 30, 10, simulations) for design in ("graded", "half")]
    cells += [Cell("links", design, 30, 10, simulations) for design in ("graded", "half")]
    cells += [Cell("utility", "speakers", people, 6, simulations) for people in (12, 30)]
    return [*cells, Cell("attributes", "classes", 30, 6, simulations)]


def chosen_cells(simulations):
    """Cells of designs that methods were chosen on."""
    cells = [
        Cell("intervals", f"{design}, {leak}", people, 10, simulations, "development")
        for people, leaks in ((10, ("medium",)), (30, ("none", "medium", "strong")), (100, ("medium",)))
        for design in DESIGNS
        for leak in leaks
    ]
    hard = [
        ("rare", 30, 10),
        ("hubs", 60, 10),
        ("integers", 30, 10),
        ("once", 60, 1),
        ("once", 60, 2),
        ("families", 60, 10),
    ]
    hard += [
        ("rare vectors", 60, 10),
        ("sessions", 30, 10),
        ("quality", 60, 10),
        *([("real", 30, 10)] if REAL.exists() else []),
    ]
    cells += [Cell("intervals", *search, simulations, "cross-fitted") for search in hard]
    uneven = ("equal", "zipf", "heavy")
    cells += [Cell("lists", f"{design}, medium", people, 10, simulations) for people in (30, 100) for design in uneven]
    cells += [Cell("p_values", f"{design}, {leak}", people, 10, 2 * simulations)
              for people in (10, 30) for design in DESIGNS for leak in ("none", "little")]  # fmt: skip
    cells += [Cell("p_values", f"{design}, none", 30, 10, simulations, "complete list") for design in uneven]
    cells += [Cell("list_tests", design, people, enrolments, 2 * simulations)
              for people in (10, 30, 100) for design in uneven for enrolments in (1, 3)]  # fmt: skip
    cells += [Cell("compared", f"{design}, medium", 30, 10, simulations, systems)
              for design in (*uneven, "zoo") for systems in ("6", "20")]  # fmt: skip
    cells += [Cell("exposed", f"{design}, none", 30, 10, simulations, str(number))
              for design in ("equal", "zipf", "zoo") for number in (0, 1, 3)]  # fmt: skip
    cells += [Cell("tandems", f"{design}, medium", people, 10, simulations, str(attacks))
              for people in (16,) for design in uneven for attacks in (1, 12)]  # fmt: skip
    return cells


def simulated(job):
    """One simulation of a cell."""
    cell, seed = job
    return getattr(validity_parts, cell.part)(cell, seed)


def summary(cell, results, population):
    """What the table has of a cell: `{measure: {statistic: value}}`."""
    lines = {}
    seen = np.array([outcomes.get("seen", True) for _, outcomes in results])
    truth = true_values(cell, results, population) if results[0][0] else {}
    for name in dict.fromkeys(name for limits, _ in results for name in limits):
        rows = [np.array(limits.get(name, [[np.nan] * 6]), dtype=float) for limits, _ in results]
        values = np.concatenate(rows)
        measure = name.removesuffix(" of a link")
        falls = measure in MEASURES and MEASURES[measure].discloses == "down"
        lines[name] = judged(values, truth.get(name), falls=falls)
        unseen = [row for row, is_seen in zip(rows, seen, strict=True) if not is_seen]
        judged_unseen = judged(np.concatenate(unseen), truth.get(name), falls=falls) if unseen else {}
        if "safe" in judged_unseen:
            lines[name]["safe_unseen"] = judged_unseen["safe"]
    if "seen" in results[0][1]:
        lines[""] = {"unseen": float((~seen).mean())}
    statistics = dict.fromkeys(key for _, outcomes in results for key in outcomes if isinstance(key, tuple))
    for measure, statistic in statistics:
        mean = float(
            np.mean([outcomes[measure, statistic] for _, outcomes in results if (measure, statistic) in outcomes])
        )
        lines.setdefault(measure, {})[statistic] = mean
    if cell.part == "list_tests":
        areas = [np.array([outcomes[leak, "area"] for _, outcomes in results]) for leak in ("nothing", "little")]
        lines["little"]["possible"] = float((areas[1] > np.quantile(areas[0], 0.95)).mean())
    if cell.part == "compared" and "." in cell.more:
        for line in lines.values():
            size = np.abs(line.get("truth", 0.0)) / max(line.get("deviation", 0.0), 1e-12)
            line["possible"] = float((np.abs(np.random.default_rng(0).standard_normal(100_000) + size) > 1.96).mean())
    return lines


def judged(values, truth, *, falls=False):
    """How often intervals and bounds hold, how long they are, and how far the value lies off."""
    estimate, value, low, high, bound, own_truth = values.T
    truths = own_truth if truth is None else np.full(len(value), truth)
    has_interval, bounded = np.isfinite(low) & np.isfinite(truths), np.isfinite(bound)
    held = (low <= truths + 1e-12) & (truths - 1e-12 <= high)
    safe = bound <= truths + 1e-12 if falls else bound >= truths - 1e-12
    there = np.isfinite(value) & np.isfinite(truths)
    if not there.any():
        return {"given": 0.0}
    deviation = float((estimate - (truths if truth is None else 0.0))[there].std())
    line = {
        "truth": float(truths[there].mean()),
        "given": float(has_interval.mean()),
        "deviation": deviation,
        "bias": float((estimate - truths)[there].mean()),
        "plain_bias": float((value - truths)[there].mean()),
    }
    if has_interval.any():
        line["coverage"] = float(held[has_interval].mean())
        line["length"] = float((high - low)[has_interval].mean())
        line["relative_length"] = line["length"] / max(3.92 * deviation, 1e-12)
        line["low_safe"] = float((low <= truths + 1e-12)[has_interval].mean())
        line["high_safe"] = float((high >= truths - 1e-12)[has_interval].mean())
    if bounded.any():
        line["safe"] = float(safe[bounded].mean())
        line["reach"] = float(np.abs(bound - estimate)[bounded].mean())
    return line


def true_values(cell, results, population):
    """Of comparisons that of many samples together; else the mean over all simulations, by their numbers of trials."""
    if cell.part in ("speakers", "thresholds"):
        return {}
    truth = {}
    for name in dict.fromkeys(name for limits, _ in results for name in limits):
        having = [(limits[name][0][1], outcomes) for limits, outcomes in results if name in limits]
        values, weights = [value for value, _ in having], [outcomes.get("trials", 1) for _, outcomes in having]
        truth[name] = float(np.average(values, weights=weights))
        if cell.part == "named":
            truth[name] = float(np.mean([outcomes["truth"][name] for _, outcomes in results if "truth" in outcomes]))
    truth |= population
    if "d_ece_loss" in truth and population:
        truth["d_ece_loss"] = truth["d_ece"] - truth["d_ece_actual"]
    if "ranks" in results[0][1]:
        ranks = np.sum([outcomes["ranks"] for _, outcomes in results], axis=0).astype(float)
        identities, ranks = len(ranks), ranks[ranks > 0.0] / ranks.sum()
        suffix = " of a link" if cell.part == "links" else ""
        truth[f"mean_rank_disclosure{suffix}"] = float(ranks @ np.log2(identities * ranks))
    return truth


def results_of(path):
    """Lines of a file of results by the name of their cell, those of most simulations."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["name"]: line for line in sorted(lines, key=lambda line: line["simulations"])}


def run(cells, workers, path):
    """Summaries of all cells; those of the file are taken from there."""
    stored = results_of(path)
    missing = [cell for cell in cells if stored.get(cell.name, {}).get("simulations", 0) < cell.simulations]
    with ProcessPoolExecutor(workers, initializer=validity_parts.omit_curves) as processes:
        pending = []
        for cell in missing:  # all at once, so that no core waits for the last simulation of a cell
            jobs = [(cell, seed) for seed in range(cell.simulations)]
            population = processes.submit(validity_parts.population, cell)
            simulations = processes.map(simulated, jobs, chunksize=max(1, cell.simulations // (8 * workers)))
            pending.append((cell, population, simulations))
        start = time.perf_counter()
        for cell, population, simulations in pending:
            lines = summary(cell, list(simulations), population.result())
            line = stored[cell.name] = {"name": cell.name, **asdict(cell), "held_out": cell.held_out, "lines": lines}
            print(f"{time.perf_counter() - start:.0f} s: {cell.name}", file=sys.stderr, flush=True)
            if path is not None:
                with path.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    return [stored[cell.name] for cell in cells]


def table(lines):
    """The table of summaries: one line for each number of each cell, tab-separated; shares are between 0 and 1."""
    texts = ["\t".join(COLUMNS)]
    for line in lines:
        cell = [str(line[name]) for name in COLUMNS[:7]]
        texts += ["\t".join([*cell, measure, statistic, f"{value:.4g}"]) for measure, numbers in line["lines"].items()
                  for statistic, value in numbers.items()]  # fmt: skip
    return "\n".join(texts) + "\n"


def quick(workers):
    """Three cells, few simulations: what a change of the method would break first. Returns what does not hold."""
    cells = [Cell("intervals", "zipf, strong", 16, 10, 24, "development"), Cell("list_tests", "zipf", 30, 3, 200),
             Cell("compared", "equal, medium", 16, 10, 12, "4")]  # fmt: skip
    covered, tested, differing = (line["lines"] for line in run(cells, workers, None))
    wrong = [f"{name}: {100 * line['coverage']:.0f} % of the intervals hold the truth"
             for name, line in covered.items() if line.get("coverage", 1.0) < 0.8]  # fmt: skip
    wrong += [f"{name}: {100 * line['safe']:.0f} % of the bounds are on the safe side"
              for name, line in covered.items() if line.get("safe", 1.0) < 0.8]  # fmt: skip
    if tested["nothing"]["rejected"] > 0.1:
        wrong.append(f"{100 * tested['nothing']['rejected']:.0f} % of lists that tell nothing are called a leak")
    if tested["little"]["rejected"] < 0.3:
        wrong.append(f"{100 * tested['little']['rejected']:.0f} % of lists that tell a little are found")
    return wrong + [f"{name}: {100 * line['tables']:.0f} % of tables show a difference that is none"
                    for name, line in differing.items() if line["tables"] > 0.26]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=300, help="of cells held out; others have a third")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part", action="append", help="these parts alone")
    parser.add_argument("--held-out", action="store_true", help="only designs that nothing was chosen on")
    parser.add_argument("--results", type=Path, help="file of results; cells it has are not computed again")
    parser.add_argument("--table", type=Path, help="where to write the table")
    parser.add_argument("--kept", action="store_true", help="compute nothing: only the cells that the file has")
    parser.add_argument("--cost", action="store_true", help="say what the run costs, and stop")
    parser.add_argument("--quick", action="store_true", help="check three cells and fail where one does not hold")
    arguments = parser.parse_args()
    if arguments.quick:
        wrong = quick(arguments.workers)
        print("\n".join(wrong) or "all three hold")
        sys.exit(bool(wrong))
    cells = held_out_cells(arguments.simulations)
    cells += [] if arguments.held_out else chosen_cells(arguments.simulations // 3)
    cells = [cell for cell in cells if arguments.part is None or cell.part in arguments.part]
    there = results_of(arguments.results)
    missing = [cell for cell in cells if there.get(cell.name, {}).get("simulations", 0) < cell.simulations]
    hours = sum(cell.seconds for cell in missing) / 3600
    print(
        f"{len(cells) - len(missing)} of {len(cells)} cells are there; about {hours:.1f} core-hours to go",
        file=sys.stderr,
    )
    if arguments.cost:
        return
    if arguments.kept:
        cells = [cell for cell in cells if cell.name in there]
    text = table(run(cells, arguments.workers, arguments.results))
    if arguments.table is None:
        print(text)
    else:
        arguments.table.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
