"""What protectors leave of the speaker's sex in real embeddings, and of the speaker.

    python benchmarks/protect.py [--data FOLDER] [--set NAME] [--first 0] [--splits 3] [--workers 1]
                                 [--protector NAME] [--variants] [--published]

FOLDER holds `vpc2020_xvectors/`, `audiomnist_*.npz` and `speechocean_*.npz` and is looked for in
`../shared/data/embeddings` beside the project. The people of each sex are cut into thirds: one to fit the protectors,
one to train attackers on protected vectors, one to test; everything is averaged over several such cuts. Protectors are
those of the table of attribute protectors, as they are; --variants adds other settings. `D_ECE` is that of the attacker
that people of the second third choose, `three` that of the strongest of three attackers with fixed settings on the
tested people, and `person` that of the chosen attacker who judges all vectors of a person together. `null` is the mean
D_ECE when sex is dealt to people at random. With --published the three attackers are all there are, as in the tables
that were made before there were others. Workers share the cuts of all sets; their number changes no result.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from protect_sets import SETS, add_set_options, home_of, worked
from sklearn.base import clone

from zeroevidence.evaluation import Options
from zeroevidence.protect import AttackOptions, Roles, assess, attributes, make_protector
from zeroevidence.run import Run

# Kind of protector, and parameters.
VARIANTS = {
    "linear, shrunk": ("linear", {"shrinkage": "auto"}),
    "adversarial, strength 0.3": ("adversarial", {"strength": 0.3}),
    "flow, stopped early": ("flow", {"held_out": 0.2}),
    "flow, pca front": ("flow", {"linear_map": "pca", "learning_rate": 3e-4, "epochs": 50}),
}
THREE = ("logistic", "perceptron", "boosting")
ZEROS = "no protection, only which entries are zero"
MEASURES = ("d_ece", "cllr_min", "mutual_information")
HEADINGS = ("null", "min Cllr", "tags [%]", "MI [bit/dim]", "EER [%]", "min Cllr of EER")
ADULT = 18


@dataclass(frozen=True, slots=True)
class Cut:
    """One set of embeddings, cut into thirds by a seed, and what to measure on it."""

    name: str
    seed: int
    home: Path
    protectors: tuple[str, ...]
    published: bool


class Zeros:
    """What is left of a vector if only its zeros are kept."""

    def transform(self, x):
        """One where an entry is zero."""
        return (x == 0.0).astype(float)


def seeded(protector, seed):
    """A fresh copy with that seed, where it has one."""
    fresh = clone(protector)
    return fresh.set_params(random_state=seed) if "random_state" in fresh.get_params() else fresh


def tags(rows):
    """Test vectors by tag, as shares, averaged."""
    names = [name for name in "0ABCDEF" if any(row.metrics["tag_counts"].value.get(name) for row in rows)]
    counts = [row.metrics["tag_counts"].value for row in rows]
    shares = {name: np.mean([count.get(name, 0) / sum(count.values()) for count in counts]) for name in names}
    return " ".join(f"{name} {100 * share:.0f}" for name, share in shares.items())


def settings():
    """Every kind of protector with its defaults, and other settings: kind and parameters by name."""
    return {kind.name: (kind.name, {}) for kind in attributes.ATTRIBUTE_PROTECTORS.values()} | VARIANTS


def measured(cut):
    """The rows that count in one cut, by system and by what they say, in the order of the table."""
    data = SETS[cut.name].read(cut.home, ADULT)
    roles = Roles.split(data, "sex", seed=cut.seed)
    train = roles.train
    made = {name: make_protector(*settings()[name]) for name in cut.protectors}
    fitted = {
        name: seeded(one, cut.seed).fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
        for name, one in made.items()
    }
    if (np.asarray(data.vectors) == 0.0).mean() > 0.01:
        fitted[ZEROS] = Zeros()
    return first_rows(fitted, roles, cut.seed, cut.published)


def first_rows(fitted, roles, seed, published):
    """Of each system the rows that count: the chosen attacker, that of people, the three, and verification."""
    measuring, run = Options(intervals=0, null=50), Run(seed=seed)
    former = AttackOptions(THREE, cross_validated=False, verification=published, map_method="none")
    rows = {}
    three = assess(fitted, roles, "sex", former, measuring, run)
    for row in (
        three
        if published
        else [*three, *assess(fitted, roles, "sex", AttackOptions(map_method="none"), measuring, run)]
    ):
        old = row.about.development is None and row.about.question == "attribute" and not published
        what = "three" if old else "person" if row.about.pooled else row.about.question
        if row.about.role != "training":  # the strongest classifier comes first
            rows.setdefault((row.labels["system"], what), row)
    return rows


def line(title, system, cuts, published):
    """One line of the table, from the rows of each cut."""
    attribute_rows, verified = ([rows[system, what] for rows in cuts] for what in ("attribute", "identity"))
    d_ece, cllr, information = (np.mean([row.metrics[m].value for row in attribute_rows]) for m in MEASURES)
    null = np.mean([row.metrics["d_ece"].null.mean for row in attribute_rows])
    eer, left = (np.mean([row.metrics[m].value for row in verified]) for m in ("eer", "cllr_min"))
    cells = [f"{d_ece:.3f}"]
    if not published:
        weaker = (np.mean([rows[system, what]["d_ece"].value for rows in cuts]) for what in ("three", "person"))
        three, person = (f"{value:.3f}" for value in weaker)
        cells = [three, f"**{d_ece:.3f}**", ", ".join(row.labels["attacker"] for row in attribute_rows), person]
    cells += [
        f"{null:.3f}",
        f"{cllr:.3f}",
        tags(attribute_rows),
        f"{information:.3f}",
        f"{100 * eer:.2f}",
        f"{left:.3f}",
    ]
    return "| " + " | ".join([title, system, *cells]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_set_options(parser)
    parser.add_argument("--first", type=int, default=0, help="seed of the first cut")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--protector", action="append", choices=settings(), help="this one alone; may be repeated")
    parser.add_argument("--variants", action="store_true", help="other settings of protectors too")
    parser.add_argument("--published", action="store_true", help="only the three attackers of the first tables")
    options = parser.parse_args()
    usual = [name for name in settings() if options.variants or name not in VARIANTS]
    protectors, published = tuple(options.protector or usual), options.published
    extra = ("D_ECE",) if published else ("three", "D_ECE", "chosen", "person")
    headings = ("embeddings", "protector", *extra, *HEADINGS)
    print("| " + " | ".join(headings) + " |")
    texts = ("embeddings", "protector", "chosen", "tags [%]")
    print("| " + " | ".join("---" if heading in texts else "---:" for heading in headings) + " |", flush=True)
    names, home = options.sets or list(SETS), home_of(options)
    seeds = range(options.first, options.first + options.splits)
    tasks = [Cut(name, seed, home, protectors, published) for name in names for seed in seeds]
    done = iter(worked(measured, tasks, options.workers))
    for name in names:
        cuts = [next(done) for _ in seeds]
        for system in dict.fromkeys(system for system, _ in cuts[0]):
            print(line(SETS[name].title, system, cuts, published), flush=True)


if __name__ == "__main__":
    main()
