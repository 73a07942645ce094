"""Make the bundled audit sample: embeddings of AudioMNIST speech, original and protected by two methods.

    python scripts/make_sample_embeddings.py AUDIOMNIST_FOLDER EXTRACTOR [--cache FOLDER]

Speakers are shared out over train, dev and eval as `zeroevidence audit` does it with seed 0. Enrolment is the first
four digits of an utterance, training and trials the first two: on whole strings of ten digits recognition is perfect.
EXTRACTOR is what `audit --extractor` takes; the bundled file was made with an ECAPA-TDNN trained on VoxCeleb. Vectors
are stored in half precision.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.extractors.extract import extract
from zeroevidence.data.formats.corpora import read_corpus, read_segments
from zeroevidence.protect import load_protector
from zeroevidence.run import Run

DIGITS = {"enrol": 4, "trial": 2, "train": 2}
PROTECTORS = {"original": None, "mcadams": "mcadams-random", "pitch": "pitch:4"}
HOME = Path(__file__).resolve().parents[1] / "src" / "zeroevidence" / "sample"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("extractor")
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    segments = read_segments(arguments.corpus / "segments.tsv")
    utterances = [
        replace(each, start=segments[each.id][0][0], end=segments[each.id][DIGITS[each.role] - 1][1])
        for each in sorted(read_corpus(arguments.corpus, seed=0), key=lambda each: each.id)
    ]
    extractor = load_extractor(arguments.extractor)
    arrays = {
        "utterance": np.array([utterance.id for utterance in utterances]),
        "speaker": np.array([utterance.speaker for utterance in utterances]),
        "sex": np.array([utterance.attributes["sex"] for utterance in utterances]),
        "role": np.array([utterance.role for utterance in utterances]),
        "split": np.array([utterance.split or "train" for utterance in utterances]),
    }
    for name, protector in PROTECTORS.items():

        def show(done: int, total: int, name: str = name) -> None:
            print(f"{name}: {done} of {total}", end="\n" if done == total else "\r", file=sys.stderr)

        run = Run(cores=2, cache=arguments.cache, progress=lambda *_, show=show: show)
        transform = None if protector is None else load_protector(protector, seed=0)
        found = extract(utterances, extractor, transform=transform, run=run)
        arrays[name] = found.vectors.astype(np.float16)
    np.savez_compressed(HOME / "audiomnist_ecapa.npz", **arrays)


if __name__ == "__main__":
    main()
