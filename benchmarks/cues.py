"""What cues beside the voice tell about people, before and after voices are changed, and how fast they are measured.

    python benchmarks/cues.py [CORPUS] [--protect NAME ...] [--cuts 4] [--features]

CORPUS is anything that `zeroevidence audit` reads with enrolment and trials for everybody; without it, `speechocean`
beside the project. An attacker learns centre and within-person covariance from the original speech of half of the
people, and looks for the others' trials among their profiles, which are means of original enrolment. Scores are cosines
after whitening. Top-1 is averaged over cuts into halves, each used both ways. With `--features`, the variance of the
means of people over the mean variance within people follows for each feature of unprotected speech.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import covariances, diagonalise
from zeroevidence.attack.extractors.extractor import load_extractor
from zeroevidence.data.formats.corpora.read import read_corpus
from zeroevidence.data.speech.audio import load_audio
from zeroevidence.protect import load_protector


def top1(original, trial, speakers, enrols, cuts):
    """The share of trials whose speaker's profile is the nearest; the vectors of both sides are rows of utterances."""
    people, hits = np.unique(speakers), []
    for seed in range(cuts):
        drawn = np.random.default_rng(seed).permutation(people)
        halves = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
        for trained_on, sought in (halves, halves[::-1]):
            train = np.isin(speakers, trained_on)
            spread = covariances(original[train], speakers[train], shrinkage="auto")
            axes, _ = diagonalise(spread.between, spread.within)
            backend = Cosine().fit(original[train] @ axes, speakers[train])
            profiles = np.stack([original[enrols & (speakers == speaker)].mean(axis=0) for speaker in sought])
            tried = ~enrols & np.isin(speakers, sought)
            named = sought[backend.score(profiles @ axes, trial[tried] @ axes).argmax(axis=1)]
            hits.append(np.mean(named == speakers[tried]))
    return float(np.mean(hits))


def print_features(model, vectors, speakers):
    """How far people differ by each feature, over how far their utterances do; the largest first."""
    by_speaker = [vectors[speakers == speaker] for speaker in np.unique(speakers)]
    within = np.mean([group.var(axis=0) for group in by_speaker], axis=0)
    ratio = np.var([group.mean(axis=0) for group in by_speaker], axis=0) / np.maximum(within, 1e-9)
    names = [f"`cue:{cue.name}` | {feature.name}" for cue in model.cues for feature in cue.features]
    print("| extractor | feature | between people / within |\n| --- | --- | ---: |")
    for at in np.argsort(-ratio):
        print(f"| {names[at]} | {ratio[at]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path)
    parser.add_argument("--protect", nargs="*", default=["mcadams", "pitch:4", "formant:1.2"])
    parser.add_argument("--cuts", type=int, default=4)
    parser.add_argument("--features", action="store_true")
    options = parser.parse_args()
    home = options.corpus or Path(__file__).resolve().parents[2] / "shared" / "data" / "speechocean"
    if not home.exists():
        sys.exit(f"{home}: no such corpus; name one")
    utterances = list(read_corpus(home))
    model = load_extractor("cues")
    speakers = np.array([utterance.speaker for utterance in utterances])
    enrols = np.array([utterance.role == "enrol" for utterance in utterances])
    sides = {"unprotected": None, **{name: load_protector(name) for name in options.protect}}
    vectors = {name: np.zeros((len(utterances), model.dim)) for name in sides}
    seconds = taken = 0.0
    for row, utterance in enumerate(utterances):
        wave = load_audio(utterance, model.sample_rate)
        start = time.process_time()
        vectors["unprotected"][row] = model.embed([wave])[0]
        taken, seconds = taken + time.process_time() - start, seconds + len(wave) / model.sample_rate
        for name, protector in sides.items():
            if protector is not None and not enrols[row]:
                vectors[name][row] = model.embed([protector(wave, model.sample_rate, utterance)])[0]
    people = len(np.unique(speakers))
    print(f"all cues: {seconds / taken:.0f} times real time; chance is {100 / (people / 2):.1f} %")
    print(f"| extractor | dimensions | {' | '.join(sides)} |")
    print(f"| --- | ---: |{' ---: |' * len(sides)}")
    ends = np.cumsum([0, *(len(cue.features) for cue in model.cues)])
    columns = {f"cue:{cue.name}": np.arange(*ends[k : k + 2]) for k, cue in enumerate(model.cues)}
    for cue, at in {**columns, "cues": np.arange(model.dim)}.items():
        original = vectors["unprotected"][:, at]
        shares = [top1(original, side[:, at], speakers, enrols, options.cuts) for side in vectors.values()]
        print(f"| `{cue}` | {len(at)} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |", flush=True)
    if options.features:
        print_features(model, vectors["unprotected"], speakers)


if __name__ == "__main__":
    main()
