"""Make the bundled sample of an attacker that trains: speechocean762 sentences, before and after fine-tuning.

    python scripts/make_sample_attacker.py WORK [--speech ../shared/data/speechocean]

WORK is the folder of `benchmarks/trained_attacker.py`, after its steps `prepare` and `train`. It holds embeddings of
protected speech by the published encoder and by the one fine-tuned on cut 0 of the people; original speech is embedded
here. Vectors are stored in half precision.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from zeroevidence.attack.extractors import load_extractor
from zeroevidence.data.audio import load_audio

PROTECTION, ENCODER, CUT = "mcadams+pitch+formant", "campplus", 0
HOME = Path(__file__).resolve().parents[1] / "src" / "zeroevidence" / "sample"


def people(speakers: np.ndarray) -> np.ndarray:
    """Train, dev or eval for each utterance: the cut of the benchmark."""
    order = np.random.default_rng(CUT).permutation(np.unique(speakers))
    return np.select([np.isin(speakers, order[:60]), np.isin(speakers, order[60:80])], ["train", "dev"], "eval")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    arguments = parser.parse_args()
    with (arguments.speech / "utterances.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    arrays = {name: np.array([row[name] for row in rows]) for name in ("utterance", "speaker", "sex", "role")}
    arrays["split"] = people(arrays["speaker"])
    encoder = load_extractor(ENCODER)
    original = np.concatenate([encoder.embed([load_audio(arguments.speech / row["path"], 16_000)]) for row in rows])
    protected = np.load(arguments.work / f"{ENCODER}-{PROTECTION}-as-it-comes.npy")
    trained = np.load(arguments.work / f"{ENCODER}-{PROTECTION}-trained-{CUT}.npy")
    arrays |= {
        name: vectors.astype(np.float16)
        for name, vectors in (("original", original), ("protected", protected), ("trained", trained))
    }
    np.savez_compressed(HOME / "speechocean_campplus.npz", **arrays)


if __name__ == "__main__":
    main()
