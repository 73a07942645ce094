"""Equal error rates of our attackers on the VoicePrivacy 2020 x-vectors, beside the published ones.

    python benchmarks/attack_vpc2020.py [FOLDER]

FOLDER holds the x-vectors (`vpc2020_xvectors/*.npz`) and is looked for in `../shared/data/embeddings` beside the
project; the published values are read from `../scores/vpc2020/reference_metrics.tsv`. Trials are the published ones:
every utterance of a sex against every enrolled speaker of that sex.

The published PLDA was trained on thousands of other speakers, whose x-vectors are not public. Ours is trained on the 20
people of the other sex in the same test set, the only ones at hand that it does not compare.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.measure.pairs.verification import eer

SETS = {"samegender_f0orig": "orig", "samegender_f0orig_retrained": "anon"}  # and what the extractor was trained on
BACKENDS = (Cosine, Plda)
CONDITIONS = {"OO": ("orig", "orig"), "OA": ("orig", "anon"), "AA": ("anon", "anon")}
WORDS = {"orig": "original", "anon": "anonymised"}


def trained(arrays, backend, sex, trained_on):
    """A back-end that learned from all people of the other sex."""
    other = "m" if sex == "f" else "f"
    of_other = arrays[f"enrolls_{trained_on}_sex"] == other.upper()
    vectors, speakers = (
        np.concatenate([arrays[f"enrolls_{trained_on}_{key}"][of_other], arrays[f"trials_{other}_{trained_on}_{key}"]])
        for key in ("x", "spk")
    )
    return backend().fit(vectors, speakers)


def eer_of(fitted, arrays, sex, enrolment, trial):
    """EER in percent of all trials of a sex against the mean vectors of the enrolled."""
    here = arrays[f"enrolls_{enrolment}_sex"] == sex.upper()
    vectors, speakers = (arrays[f"enrolls_{enrolment}_{key}"][here] for key in ("x", "spk"))
    names = np.unique(speakers)
    profiles = np.stack([vectors[speakers == name].mean(axis=0) for name in names])
    scores = fitted.score(profiles, arrays[f"trials_{sex}_{trial}_x"])
    mated = arrays[f"trials_{sex}_{trial}_spk"][:, None] == names
    return 100.0 * eer(scores[mated], scores[~mated])


def main():
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "embeddings"
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not home.is_dir():
        sys.exit(f"{home}: no such folder; name the one that holds vpc2020_xvectors")
    with (home.parent / "scores" / "vpc2020" / "reference_metrics.tsv").open() as lines:
        published = {
            (row["condition"], row["enrol_trial"].upper(), row["sex"]): float(row["ref_EER_pct"])
            for row in csv.DictReader(lines, delimiter="\t")
        }
    print("| extractor trained on | back-end trained on | sides | sex | cosine | PLDA | published PLDA |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: |")
    for name, native in SETS.items():
        arrays = dict(np.load(home / "vpc2020_xvectors" / f"{name}.npz"))
        for trained_on in ("orig", "anon"):
            for sex in "fm":
                fitted = [trained(arrays, backend, sex, trained_on) for backend in BACKENDS]
                for condition, sides in CONDITIONS.items():
                    cells = [f"{eer_of(one, arrays, sex, *sides):.1f}" for one in fitted]
                    published_rate = f"{published[name, condition, sex]:.1f}" if trained_on == native else ""
                    line = [WORDS[native], WORDS[trained_on], condition, sex, *cells, published_rate]
                    print("| " + " | ".join(line) + " |", flush=True)


if __name__ == "__main__":
    main()
