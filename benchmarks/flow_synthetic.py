"""Protectors where the truth is known: many people, 16 dimensions, evidence that is bent or sits in the spread.

    python benchmarks/flow_synthetic.py [--people 300] [--vectors 10] [--world bent] [--seed 0]

Half of the variance of a vector is its person's, half is its own. In the world `bent` the classes differ in the mean of
one dimension, and all dimensions are then bent into each other; in the world `spread` they differ in the means and
spreads of half of the dimensions, and are bent a little. So many people fit the protectors, half as many others train
attackers, half as many are tested. `perceptron` is what the paper attacked with, `chosen` the attacker that people of
the second group choose from all, `null` its mean when classes are dealt to people at random. Mutual information is that
between single dimensions and the class, on the people that protectors were fitted on and on the tested, with the drop
of the latter. `truth` has the D_ECE of the true LLR of the tested vectors.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation import Options
from zeroevidence.measure.measures import compute_family
from zeroevidence.measure.pairs.zebra import d_ece
from zeroevidence.measure.views import AttributeView
from zeroevidence.protect import AttackOptions, Roles, assess, make_protector
from zeroevidence.run import Run

DIMENSIONS = 16
PROTECTORS = {
    "linear": ("linear", {}),
    "transport": ("transport", {}),
    "flow": ("flow", {}),
}
BENDS = {"bent": 0.7, "spread": 0.3}


@dataclass(frozen=True, slots=True)
class Classes:
    """Two classes of Gaussians with diagonal covariances, before they are bent: a row of means and variances each."""

    means: np.ndarray
    variances: np.ndarray

    def llr(self, z):
        """The LLR of the second class."""
        first, second = (
            ((z - mean) ** 2 / variance + np.log(variance)).sum(axis=1)
            for mean, variance in zip(self.means, self.variances, strict=True)
        )
        return 0.5 * (first - second)


def classes_of(world):
    """The classes before they are bent."""
    means, spreads = np.zeros((2, DIMENSIONS)), np.ones((2, DIMENSIONS))
    if world == "bent":
        means[:, 0] = (-1.5, 1.5)
    else:
        spreads[1, :8] = np.tile((1.6, 0.7), 4)
        means[1, :8:3] = 0.7
    return Classes(means, spreads**2)


def bent(u, amount):
    """Rows bent twice: one half is moved by waves of the other, which a rotation has mixed; the volume stays."""
    rng = np.random.default_rng(7)
    half = DIMENSIONS // 2
    x = u.copy()
    for _ in range(2):
        x[:, :half] += amount * np.sin(1.5 * x[:, half:] @ rng.permutation(np.eye(half)))
        x[:, half:] += amount * np.cos(x[:, :half] @ rng.permutation(np.eye(half)))
        turn, _ = np.linalg.qr(rng.normal(size=(DIMENSIONS, DIMENSIONS)))
        x = x @ turn
    return x


def people(world, count, vectors, name, rng):
    """Embeddings of that many people, and the true LLR of each."""
    truth = classes_of(world)
    y = np.repeat(np.arange(count) % 2, vectors)
    people_effects = np.repeat(rng.normal(size=(count, DIMENSIONS)), vectors, axis=0)
    noise = np.sqrt(0.5) * (people_effects + rng.normal(size=people_effects.shape))
    u = truth.means[y] + np.sqrt(truth.variances[y]) * noise
    who = np.repeat([f"{name}{n}" for n in range(count)], vectors)
    ids = np.char.add(who, np.tile([f"-{n}" for n in range(vectors)], count))
    return Embeddings(bent(u, BENDS[world]), ids, who, {"class": np.array(["a", "b"])[y]}), truth.llr(u)


def true_disclosure(data, llr):
    """D_ECE of the true LLRs of vectors, which are in the order of the vectors."""
    second = data.attributes["class"] == "b"
    return d_ece(llr[second], llr[~second])


def information(data, protector):
    """Mutual information between single dimensions and the class, in 0.01 bit."""
    x = np.asarray(data.vectors, dtype=np.float64)
    moved = x if protector is None else protector.transform(x)
    return 100.0 * compute_family("attribute", AttributeView(moved, data.attributes["class"], 0))["mutual_information"]


def table(world, options):
    """One line for each protector in one world."""
    rng = np.random.default_rng(options.seed)
    count = options.people
    sides, llrs = zip(
        *(
            people(world, n, options.vectors, name, rng)
            for name, n in zip("fat", (count, count // 2, count // 2), strict=True)
        ),
        strict=True,
    )
    print(f"| {world} | truth | | {true_disclosure(sides[-1], llrs[-1]):.3f} | | | | | |", flush=True)
    roles = Roles(*sides)  # which puts people in the order of their names, and LLRs are not
    fitted = {
        name: make_protector(*made).fit(
            roles.train.vectors, roles.train.attributes["class"], speakers=roles.train.speakers
        )
        for name, made in PROTECTORS.items()
    }
    rows = assess(
        fitted,
        roles,
        "class",
        AttackOptions(verification=False, map_method="none"),
        Options(intervals=0, null=50),
        Run(seed=options.seed),
    )
    before = information(roles.test, None)
    for name, protector in {UNPROTECTED: None, **fitted}.items():
        test_rows = [
            row
            for row in rows
            if row.labels["system"] == name and row.about.role != "training" and not row.about.pooled
        ]
        paper = next(row for row in test_rows if row.labels["attacker"] == "perceptron")
        null = test_rows[0].metrics["d_ece"].null.mean
        seen, left = information(roles.train, protector), information(roles.test, protector)
        cells = (
            f"{paper['d_ece'].value:.3f}",
            f"{test_rows[0]['d_ece'].value:.3f}",
            test_rows[0].labels["attacker"],
            f"{null:.3f}",
        )
        drop = "" if protector is None else f"{100.0 * (1.0 - left / before):.0f}"
        print("| " + " | ".join((world, name, *cells, f"{seen:.2f}", f"{left:.2f}", drop)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=300, help="to fit protectors on")
    parser.add_argument("--vectors", type=int, default=10, help="of each person")
    parser.add_argument("--world", choices=BENDS, action="append", help="this one alone")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    numbers = ("perceptron", "D_ECE", "chosen", "null", "MI, fitted on", "MI", "drop [%]")
    print("| world | protector | " + " | ".join(numbers) + " |")
    print("| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |", flush=True)
    for world in options.world or BENDS:
        table(world, options)


if __name__ == "__main__":
    main()
