"""Word errors and processor time of Whisper with the window that it is given, and with its own of 30 s.

    python benchmarks/hearing.py [SPEECH] [--people 125] [--protect NAME]

One recording of each person is heard, by one thread; the interval of the difference leaves people out at random.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from unittest import mock

import numpy as np

from zeroevidence.auditing.word_errors import closest_words, corpus_transcripts
from zeroevidence.data.audio import load_speech
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.evaluation.utility import word_errors
from zeroevidence.protect import load_protector
from zeroevidence.protect.voices.speech_models import RATE, load_recogniser, recognisers

WHOLE = ((30, 0), (30, 3))  # attempts, as of `recognisers`


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("speech", nargs="?", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--people", type=int, default=125)
    parser.add_argument("--protect")
    given = parser.parse_args()
    corpus = read_corpus(given.speech, draw=False)
    said, whisper = corpus_transcripts(corpus, given.speech), load_recogniser("whisper")
    heard = list({each.speaker: each for each in corpus}.values())[: given.people]
    waves = [load_speech(each, RATE).wave for each in heard]
    if given.protect:
        protector = load_protector(given.protect)
        waves = [protector(wave, RATE, each) for wave, each in zip(waves, heard, strict=True)]
    errors, seconds = {}, sum(map(len, waves)) / RATE
    print("| window | recordings | WER [%] | s per s of speech |\n| --- | ---: | ---: | ---: |")
    for title, attempts in (("speech and silence", recognisers._ATTEMPTS), ("30 s", WHOLE)):
        with mock.patch.object(recognisers, "_ATTEMPTS", attempts):
            begin = time.process_time()
            texts = [whisper(wave, "en").text for wave in waves]
            taken = time.process_time() - begin
        pairs = [closest_words(said[each.id], text) for each, text in zip(heard, texts, strict=True)]
        counts = word_errors([pair[0] for pair in pairs], [pair[1] for pair in pairs])
        errors[title] = np.stack([counts[:, :3].sum(axis=1), counts[:, 3]])
        rate = 100 * errors[title][0].sum() / errors[title][1].sum()
        print(f"| {title} | {len(waves)} | {rate:.1f} | {taken / seconds:.3f} |", flush=True)
    short, whole = errors.values()
    drawn = np.random.default_rng(0).integers(0, len(waves), (2000, len(waves)))
    rates = [100 * side[0][drawn].sum(axis=1) / side[1][drawn].sum(axis=1) for side in (short, whole)]
    low, high = np.percentile(rates[0] - rates[1], (2.5, 97.5))
    difference = 100 * (short[0].sum() / short[1].sum() - whole[0].sum() / whole[1].sum())
    print(f"difference {difference:.1f} points (95 %: {low:.1f} to {high:.1f})")


if __name__ == "__main__":
    main()
