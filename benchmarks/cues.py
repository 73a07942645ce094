"""What cues beside the voice tell about people, before and after voices are changed, and how fast they are measured.

    python benchmarks/cues.py [CORPUS] [--protect NAME ...] [--cuts 4] [--features]
    python benchmarks/cues.py [CORPUS ...] --control [--protect NAME ...] [--recordings 8] [--keep FOLDER]
    python benchmarks/cues.py --generated {voice,room} [--runs 100] [--keep FOLDER]

CORPUS is anything that `zeroevidence audit` reads with enrolment and trials for everybody; without it, `speechocean`
beside the project. An attacker learns centre and within-person covariance from the original speech of half of the
people, and looks for the others' trials among their profiles, which are means of original enrolment. Scores are cosines
after whitening. Top-1 is averaged over cuts into halves, each used both ways. With `--features`, the variance of the
means of people over the mean variance within people follows for each feature of unprotected speech.

`--control` prints the room control of an audit instead: what is found from pauses and channel without a voice, of the
first so many recordings of each person.
`--generated` counts how often the control finds people in made-up recordings that share only their voice, or only their
room, within people (scripts/make_speech.py), before or after `formant:1.2`. What is done is kept in FOLDER, from which
the same command continues.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import covariances, diagonalise
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.extractors.extract import extract
from zeroevidence.auditing import AuditOptions
from zeroevidence.auditing.embedding_audit import CONTROL, room_control
from zeroevidence.auditing.embedding_sets import EncodedSpeech, draw_sets, sets_of
from zeroevidence.data.audio import load_audio
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.protect import load_protector
from zeroevidence.run import Run

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))
from scripts.make_speech import make_recordings  # noqa: E402 (the folder of scripts is no package)

_PEOPLE, _UTTERANCES = 36, 3  # of made-up recordings


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


def control_rows(folds, options, seed=0):
    """The rows of the room control, before and after protection, with their tests against chance."""
    encoded = [EncodedSpeech(CONTROL, *sides) for sides in folds]
    rows = room_control(encoded, AuditOptions(measuring=options), Run(seed)).rows
    return list(zip(rows, chances(rows), strict=True))


def print_control(homes, protections, recordings, keep):
    """The room control of each corpus, before protection and after each."""
    model = load_extractor(CONTROL)
    print("| corpus | protection | people | top-1 [%] | bits | of | p | flag |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for home in homes:
        number, utterances = Counter(), []
        for utterance in read_corpus(home, draw=False):
            number[utterance.speaker] += 1
            if number[utterance.speaker] <= recordings:  # roles are drawn anew, as some people are to be trained on
                utterances.append(replace(utterance, role=None, split=None))
        corpus = Corpus(tuple(utterances)).assign(0)
        embed = partial(extract, list(corpus), model, cache=keep, workers=2)
        original = sets_of(embed(), corpus)
        for name in protections:
            protected = sets_of(embed(transform=load_protector(name)), corpus)
            rows = control_rows([(original, protected)], Options(intervals=0))
            for row, chance in rows if name == protections[0] else rows[1:]:
                side = "none" if row.about.threat.is_bound else name
                values = f"{100 * row.number('top1'):.1f} | {row.number('alid'):.2f}"
                most = np.log2(row.counts["identities"])
                differ = "`recordings-differ`" if chance.beaten else ""
                line = f"{row.counts['identities']} | {values} | {most:.2f} | {chance.p_value:.3f} | {differ}"
                print(f"| {home.name} | {side} | {line} |", flush=True)


def print_generated(shared, runs, keep):
    """How often the control finds people in made-up recordings that share one thing within people."""
    model, protect = load_extractor(CONTROL), load_protector("formant:1.2")
    kept = None if keep is None else keep / f"generated-{shared}.jsonl"
    done = kept.read_text().splitlines() if kept is not None and kept.exists() else []
    results = [json.loads(line) for line in done]
    for seed in range(len(results), runs):
        made = make_recordings(_PEOPLE, _UTTERANCES, (shared,), np.random.default_rng(seed))
        speakers, names, waves = zip(*made, strict=True)
        changed = [
            protect(wave, model.sample_rate, Utterance(name, speaker, Path(name))) for speaker, name, wave in made
        ]
        sides = [Embeddings(model.embed(side), np.array(names), np.array(speakers)) for side in (waves, changed)]
        rows = control_rows(draw_sets(*sides, 0, seed), Options(intervals=0), seed)
        results.append([[row.number("alid"), bool(chance.beaten), chance.p_value] for row, chance in rows])
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with kept.open("a") as file:
                file.write(f"{json.dumps(results[-1])}\n")
    flags = np.array([[beaten for _, beaten, _ in rows] for rows in results])
    bits = np.mean([[alid for alid, _, _ in rows] for rows in results], axis=0)
    print(f"| shared | runs | flag before | flag after | either | mean bits before | after |\n|{' --- |' * 7}")
    counts = [*flags.sum(axis=0), flags.any(axis=1).sum()]
    print(f"| {shared} | {len(flags)} | {' | '.join(map(str, counts))} | {bits[0]:.2f} | {bits[1]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="*", type=Path)
    parser.add_argument("--protect", nargs="*", default=["mcadams", "pitch:4", "formant:1.2"])
    parser.add_argument("--cuts", type=int, default=4)
    parser.add_argument("--features", action="store_true")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--recordings", type=int, default=8)
    parser.add_argument("--generated", choices=["voice", "room"])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if options.generated:
        print_generated(options.generated, options.runs, options.keep)
        return
    homes = options.corpus or [_ROOT.parent / "shared" / "data" / "speechocean"]
    missing = [home for home in homes if not home.exists()]
    if missing:
        sys.exit(f"{missing[0]}: no such corpus; name one")
    if options.control:
        print_control(homes, options.protect, options.recordings, options.keep)
        return
    home = homes[0]
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
