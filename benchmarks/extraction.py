"""Extraction against the bare forward pass of the model on the same features, in the same run.

    python benchmarks/extraction.py CARD [CORPUS] [--utterances 24] [--threads 1] [--repeats 3]

CARD is a model card, `cards.json#NAME` for one of several. CORPUS is anything that `zeroevidence audit` reads; without
it, noise of 3 to 8 seconds is written to a temporary folder. Extraction reads and decodes the audio, computes features,
runs the model and stores the vectors in an empty cache; the bare pass only runs the model. Both take turns, and the
best of each is compared.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.extractors.extract import extract
from zeroevidence.data.audio import load_audio, write_audio
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.run import Run


def noise(folder, count):
    rng = np.random.default_rng(0)
    made = []
    for k in range(count):
        file = Path(folder) / f"{k}.flac"
        write_audio(file, 0.1 * rng.normal(size=16000 * (3 + k % 6)))
        made.append(Utterance(str(k), "s", file))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("card")
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--utterances", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    model = load_extractor(arguments.card)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.corpus:
            utterances = list(read_corpus(arguments.corpus))
            utterances = utterances[:: max(1, len(utterances) // arguments.utterances)][: arguments.utterances]
        else:
            utterances = noise(folder, arguments.utterances)
        features = [model.features(load_audio(utterance, model.sample_rate))[None] for utterance in utterances]
        model.forward(features[0])
        taken, bare, again = [], [], []
        for turn in range(arguments.repeats):
            start = time.perf_counter()
            for frames in features:
                model.forward(frames)
            bare.append(time.perf_counter() - start)
            for times in (taken, again):
                start = time.perf_counter()
                extract(utterances, model, run=Run(cores=arguments.threads, cache=Path(folder, f"cache{turn}")))
                times.append(time.perf_counter() - start)
    count = len(utterances)
    print(
        f"{model.name}, {count} utterances, {arguments.threads} thread(s): bare forward {count / min(bare):.2f}/s, "
        f"extraction {count / min(taken):.2f}/s, ratio {min(bare) / min(taken):.2f}; stored {count / min(again):.0f}/s"
    )


if __name__ == "__main__":
    main()
