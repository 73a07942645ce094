"""What protectors leave of the speaker's sex in real embeddings, and of the speaker.

    python benchmarks/protect.py [--data FOLDER] [--first 0] [--splits 3] [--only NAME] [--variants] [--published]

FOLDER holds `vpc2020_xvectors/`, `audiomnist_*.npz` and `speechocean_*.npz` and is looked for in
`../shared/data/embeddings` beside the project. The people of each sex are cut into thirds: one to fit the protectors,
one to train attackers on protected vectors, one to test; everything is averaged over several such cuts. Protectors are
those of the table of attribute protectors, as they are; --variants
adds other settings. `D_ECE` is that of the attacker that people of the second third choose, `three` that of the
strongest of three attackers with fixed settings on the tested people, and `person` that of the chosen attacker who
judges all vectors of a person together. `null` is the mean D_ECE when sex is dealt to people at random. With
--published the three attackers are all there are, as in the tables that were made before there were others.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation import Options
from zeroevidence.protect import Roles, assess, attributes, make_protector

# Kind of protector, and parameters.
VARIANTS = {
    "linear, shrunk": ("linear", {"shrinkage": "auto"}),
    "adversarial, strength 0.3": ("adversarial", {"strength": 0.3}),
    "flow, stopped early": ("flow", {"held_out": 0.2}),
    "flow, pca front": ("flow", {"front": "pca", "learning_rate": 3e-4, "epochs": 50}),
}
THREE = ("logistic", "perceptron", "boosting")
ZEROS = "no protection, only which entries are zero"
MEASURES = ("d_ece", "cllr_min", "mutual_information")
HEADINGS = ("null", "min Cllr", "tags [%]", "MI [bit/dim]", "EER [%]", "min Cllr of EER")
ADULT = 18


def xvectors(path):
    """The original x-vectors of the VoicePrivacy 2020 test set, enrolment and trials together."""
    arrays = np.load(path)
    parts = ("enrolls_orig", "trials_f_orig", "trials_m_orig")
    x, utterance, speaker, sex = (
        np.concatenate([arrays[f"{part}_{key}"] for part in parts]) for key in ("x", "utt", "spk", "sex")
    )
    _, first = np.unique(utterance, return_index=True)
    return Embeddings(x[first], utterance[first], speaker[first], {"sex": sex[first]})


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
    shares = {name: np.mean([one.get(name, 0) / sum(one.values()) for one in counts]) for name in names}
    return " ".join(f"{name} {100 * share:.0f}" for name, share in shares.items())


def adults(path):
    """Those of speechocean762 who are grown up: children's sex is hardly heard."""
    return read_embeddings(path).take(np.load(path)["age"] >= ADULT)


def protectors(variants):
    """Every kind of protector with its defaults, and other settings where asked for."""
    settings = {kind.name: (kind.name, {}) for kind in attributes.kinds()} | (VARIANTS if variants else {})
    return {name: make_protector(kind, more) for name, (kind, more) in settings.items()}


def first_rows(fitted, roles, seed, published):
    """Of each system the rows that count: the chosen attacker, that of people, the three, and verification."""
    how = {"mapped": "none", "options": Options(intervals=0, null=50, seed=seed), "seed": seed}
    rows = {}
    three = assess(fitted, roles, "sex", classifiers=THREE, cross_validated=False, verification=published, **how)
    for row in three if published else [*three, *assess(fitted, roles, "sex", **how)]:
        old = row.about.development is None and row.about.question == "attribute" and not published
        what = "three" if old else "person" if row.about.pooled else row.about.question
        if row.about.role != "training":  # the strongest classifier comes first
            rows.setdefault((row.labels["system"], what, seed), row)
    return rows


def line(name, kind, found, seeds, published):
    """One line of the table."""
    told, verified = ([found[kind, what, seed] for seed in seeds] for what in ("attribute", "identity"))
    d_ece, cllr, information = (np.mean([row.metrics[m].value for row in told]) for m in MEASURES)
    null = np.mean([row.metrics["d_ece"].null.mean for row in told])
    eer, left = (np.mean([row.metrics[m].value for row in verified]) for m in ("eer", "cllr_min"))
    cells = [f"{d_ece:.3f}"]
    if not published:
        others = (np.mean([found[kind, what, seed]["d_ece"].value for seed in seeds]) for what in ("three", "person"))
        three, person = (f"{value:.3f}" for value in others)
        cells = [three, f"**{d_ece:.3f}**", ", ".join(row.labels["attacker"] for row in told), person]
    cells += [f"{null:.3f}", f"{cllr:.3f}", tags(told), f"{information:.3f}", f"{100 * eer:.2f}", f"{left:.3f}"]
    return "| " + " | ".join([name, kind, *cells]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--first", type=int, default=0, help="seed of the first cut")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", help="embeddings whose name has this in it")
    parser.add_argument("--protector", help="this one alone")
    parser.add_argument("--variants", action="store_true", help="other settings of protectors too")
    parser.add_argument("--published", action="store_true", help="only the three attackers of the first tables")
    options = parser.parse_args()
    home = options.data or Path(__file__).resolve().parents[2] / "shared" / "data" / "embeddings"
    if not home.is_dir():
        sys.exit(f"{home}: no such folder; name the one that holds the embeddings")
    sets = {
        "VPC 2020 x-vectors": lambda: xvectors(home / "vpc2020_xvectors" / "samegender_f0orig.npz"),
        "AudioMNIST, ECAPA": lambda: read_embeddings(home / "audiomnist_ecapa.npz"),
        "AudioMNIST, CAM++": lambda: read_embeddings(home / "audiomnist_campplus.npz"),
        "AudioMNIST, GE2E": lambda: read_embeddings(home / "audiomnist_resemblyzer.npz"),
        "speechocean762 adults, ECAPA": lambda: adults(home / "speechocean_ecapa.npz"),
        "speechocean762 adults, CAM++": lambda: adults(home / "speechocean_campplus.npz"),
    }
    extra = ("D_ECE",) if options.published else ("three", "D_ECE", "chosen", "person")
    headings = ("embeddings", "protector", *extra, *HEADINGS)
    print("| " + " | ".join(headings) + " |")
    words = ("embeddings", "protector", "chosen", "tags [%]")
    print("| " + " | ".join("---" if one in words else "---:" for one in headings) + " |")
    seeds = range(options.first, options.first + options.splits)
    for name, load in sets.items():
        if options.only and options.only not in name:
            continue
        data, found = load(), {}
        for seed in seeds:
            roles = Roles.split(data, "sex", seed=seed)
            train = roles.train
            fitted = {
                kind: seeded(one, seed).fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
                for kind, one in protectors(options.variants).items()
                if options.protector in (None, kind)
            }
            if (np.asarray(data.vectors) == 0.0).mean() > 0.01:
                fitted[ZEROS] = Zeros()
            found |= first_rows(fitted, roles, seed, options.published)
        for kind in (UNPROTECTED, *fitted):
            print(line(name, kind, found, seeds, options.published), flush=True)


if __name__ == "__main__":
    main()
