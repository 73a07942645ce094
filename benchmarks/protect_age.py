"""What is left of age in embeddings of speechocean762, as a number and as bands, over several cuts of the people.

    python benchmarks/protect_age.py

It takes about a minute of one core for each kind of embeddings, which are looked for in `../shared/data/embeddings`
beside the project. Each cut deals people of all ages into thirds: to fit protectors, to train attackers, to test.
Protectors of classes are fitted on bands of age; attackers guess the number. In each cut the attacker counts that the
attack people chose. `null` is what 95 % of bits stay below when ages are dealt to the tested people at random.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from zeroevidence import Options
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.protect import Roles, assess_number
from zeroevidence.protect.assessment.numbers import splits_by_number, with_bands
from zeroevidence.protect.assessment.regressors.regressor import REGRESSORS
from zeroevidence.protect.attributes.shared.bands import Bands
from zeroevidence.protect.fitting import fit
from zeroevidence.protect.tradeoff.strengths import set_strength

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "embeddings"
FILES = {"ECAPA": "speechocean_ecapa.npz", "CAM++": "speechocean_campplus.npz"}
BANDS = Bands((12.0, 18.0, 25.0))
NOISE = {"leace": (0.0,), "transport": (0.0, 1.0), "conditional": (0.0, 1.0)}
ATTACKERS = [name for name in REGRESSORS if name != "boosting"]  # slow, and behind the others on these vectors
COLUMNS = ("bits", "null", "correlation", "rank", "error", "EER [%]")


def main() -> None:
    """Print a line for each kind of embeddings and each protector."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=5, help="cuts of the people, at least five")
    parser.add_argument("--first", type=int, default=0, help="seed of the first cut")
    parser.add_argument(
        "--classifier", action="append", choices=list(REGRESSORS), help=f"{', '.join(ATTACKERS)} unless given"
    )
    options = parser.parse_args()
    if options.cuts < 5:
        parser.error("--cuts: fewer than five say little")
    print(f"| embeddings | protector | noise | {' | '.join(COLUMNS)} | chosen |")
    print(f"| --- | --- | ---: |{' ---: |' * len(COLUMNS)} --- |")
    for title, name in FILES.items():
        data = read_embeddings(DATA / name)
        results: dict[tuple[str, float], list[list[float]]] = {}
        chosen: dict[tuple[str, float], list[str]] = {}
        for number, roles in enumerate(splits_by_number(data, "age", options.cuts, seed=options.first)):
            for system, values, attacker in measured(roles, options.classifier or ATTACKERS, options.first + number):
                results.setdefault(system, []).append(values)
                chosen.setdefault(system, []).append(attacker)
        for (protector, noise), values in results.items():
            numbers = " | ".join(f"{one:.2f}" for one in np.mean(values, axis=0))
            print(f"| {title} | {protector} | {noise:g} | {numbers} | {', '.join(chosen[protector, noise])} |")
        print(f"{title}: {len(np.unique(require_speakers(data)))} people", file=sys.stderr, flush=True)


def measured(roles: Roles, attackers: list[str], seed: int) -> list[tuple[tuple[str, float], list[float], str]]:
    """For each system the numbers of the attacker that the attack people chose, and its name."""
    systems: dict[str, tuple[str, float]] = {"unprotected": ("unprotected", 0.0)}
    protectors = {}
    for kind, levels in NOISE.items():
        train: Embeddings = roles.train if kind == "conditional" else with_bands(roles.train, "age", BANDS)
        fitted = fit(train, "age", kind, parameters={"noise_seed": seed}).protector
        for noise in levels:
            name = f"{kind} {noise:g}"
            systems[name], protectors[name] = (kind, noise), set_strength(fitted, noise)
    rows = assess_number(
        protectors, roles, "age", regressors=attackers, options=Options(intervals=0, null=50, seed=seed), seed=seed
    )
    errors = {row.labels["system"]: 100 * float(row["eer"]) for row in rows if row.about.role == "utility"}
    measured_rows = []
    for system, key in systems.items():
        row = next(candidate for candidate in rows if candidate.labels["system"] == system)
        bits = row["attribute_bits"]
        assert bits.null is not None
        values = [float(bits), bits.null.quantile]
        values += [float(row[f"attribute_{name}"]) for name in ("correlation", "rank_correlation", "error")]
        measured_rows.append((key, [*values, errors[system]], row.labels["attacker"]))
    return measured_rows


if __name__ == "__main__":
    main()
