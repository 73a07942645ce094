"""What an attacker learns who fine-tunes the encoder on protected speech of other people, beside one who does not.

Three steps, so that the middle one can run on another machine, with a GPU and without the speech:

    python benchmarks/trained_attacker.py prepare WORK --speech ../shared/data/speechocean
    python benchmarks/trained_attacker.py train WORK
    python benchmarks/trained_attacker.py evaluate WORK

`prepare` protects every utterance and keeps its features (8 bits each, about 26 MB for each protection), `train` fits
three attackers for each protection, one for each cut of the people (60 to train on, 20 to stop on, 45 evaluated), and
`evaluate` prints the table. ``train WORK --scope last`` needs no GPU, and trains only pooling and last layers.
"""

from __future__ import annotations

import argparse
import csv
import time
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

PROTECTIONS = {
    "mcadams": "mcadams:0.5..0.9:utterance",
    "mcadams+pitch+formant": "mcadams:0.5..0.9:utterance+pitch:-4..4:utterance+formant:0.8..1.25:utterance",
}
CUTS = (0, 1, 2)
ENCODERS = {"": "as it comes", "last": "last layers fine-tuned", "all": "fine-tuned"}
_LOW, _REACH = -14.0, 28.0  # of the features, in natural logarithms


def people(speakers: np.ndarray, cut: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training, development and evaluated people of a cut."""
    order = np.random.default_rng(cut).permutation(np.unique(speakers))
    return order[:60], order[60:80], order[80:]


def prepare(work: Path, speech: Path, names: list[str]) -> None:
    from zeroevidence.attack.features import kaldi_fbank
    from zeroevidence.data.audio import load_audio
    from zeroevidence.protect import load_protector

    with (speech / "utterances.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    work.mkdir(parents=True, exist_ok=True)
    speakers, roles = (np.array([row[name] for row in rows]) for name in ("speaker", "role"))
    np.savez(work / "people.npz", speaker=speakers, role=roles, utterance=np.array([row["utterance"] for row in rows]))
    for name in names:
        protector = load_protector(PROTECTIONS[name], seed=1)
        frames = []
        for row in rows:
            wave = load_audio(speech / row["path"], 16_000)
            utterance = SimpleNamespace(id=row["utterance"], speaker=row["speaker"])
            frames.append(kaldi_fbank(protector(wave, 16_000, utterance)))
        coded = np.clip(np.round((np.concatenate(frames) - _LOW) / _REACH * 255), 0, 255).astype(np.uint8)
        np.savez_compressed(work / f"{name}.npz", length=np.array([len(one) for one in frames]), frames=coded)
        print(f"{name}: {len(frames)} utterances, {len(coded)} frames", flush=True)


def features(work: Path, name: str, rows: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Features of some utterances, and whose they are."""
    with np.load(work / f"{name}.npz") as data:
        frames, length = data["frames"], data["length"]
    start = np.cumsum(length) - length
    with np.load(work / "people.npz") as known:
        speakers = known["speaker"]
    found = [frames[start[i] : start[i] + length[i]].astype(np.float32) / 255 * _REACH + _LOW for i in rows]
    return found, speakers[rows]


def network():
    """The encoder that comes with the package, to be trained further."""
    from zeroevidence.attack.encoders import find_encoder
    from zeroevidence.attack.networks import load_onnx

    return load_onnx(find_encoder("campplus").card.file)


def train(work: Path, names: list[str], cuts: list[int], scope: str, **given) -> None:
    import torch

    from zeroevidence.attack.training.frames import FrameSet
    from zeroevidence.attack.training.loop import train as fit
    from zeroevidence.attack.training.settings import TrainingSettings

    with np.load(work / "people.npz") as known:
        speakers = known["speaker"]
    settings = TrainingSettings.usual(scope, **given)
    for name in names:
        for cut in cuts:
            sets = [
                FrameSet.join(*features(work, name, np.flatnonzero(np.isin(speakers, group))))
                for group in people(speakers, cut)[:2]
            ]
            clock = time.process_time if scope == "last" else time.perf_counter  # other work on the cores counts not
            started = clock()
            found = fit(network(), *sets, settings)
            seconds = clock() - started
            torch.save(
                {k: v.half().cpu() for k, v in found.network.state_dict().items()}, state(work, name, cut, scope)
            )
            before, after = found.epochs[0].development, found.kept
            print(
                f"{name}, cut {cut}: {seconds:.1f} s for {len(found.epochs) - 1} epochs of {len(sets[0])} utterances; "
                f"development {before.bits:.2f} to {after.bits:.2f} bit, EER {before.eer:.3f} to {after.eer:.3f}",
                flush=True,
            )


def state(work: Path, name: str, cut: int, scope: str) -> Path:
    """Where the weights of a training are."""
    return work / (f"{name}-{cut}.pt" if scope == "all" else f"{name}-{cut}-{scope}.pt")


@lru_cache(maxsize=1)
def embedded(work: Path, name: str, number: int, state: Path | None):
    import torch

    encoder = network()
    if state is not None:
        encoder.load_state_dict({k: v.float() for k, v in torch.load(state, weights_only=True).items()})
    encoder.eval()
    feats, _ = features(work, name, np.arange(number))
    with torch.no_grad():
        return np.stack([encoder(torch.from_numpy(one)[None])[0].numpy() for one in feats])


def evaluate(work: Path, names: list[str], cuts: list[int], intervals: int) -> None:
    import zeroevidence as ze
    from zeroevidence.attack.attackers import find_attacker
    from zeroevidence.attack.ladder import rungs
    from zeroevidence.auditing.climbing import climb, fit_candidates

    with np.load(work / "people.npz") as known:
        speakers, roles, ids = known["speaker"], known["role"], known["utterance"]
    model = find_attacker("semi-informed")
    print("| protection | encoder | back-end | cut | EER [%] | top-1 [%] | ALID [bit] |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for name in names:
        for scope, words in ENCODERS.items():
            for cut in cuts:
                groups = people(speakers, cut)
                split = np.select([np.isin(speakers, group) for group in groups], ["train", "dev", "eval"], "")
                weights = state(work, name, cut, scope) if scope else None
                if weights is not None and not weights.exists():
                    continue
                vectors = ze.Embeddings(embedded(work, name, len(ids), weights), ids, speakers)
                sets = ze.EmbeddingSets.from_roles(vectors, split, roles)
                sides = {"original": sets, "anonymised": sets}
                for step in rungs("quick")[: 1 if scope == "all" else 2]:
                    attempt = climb(model, step.name, "campplus", sides, fit_candidates(step, sets.train))
                    row = ze.evaluate(attempt.scores, dev=attempt.dev, intervals=intervals, null=0)
                    shown = (("eer", 100, 1), ("top1", 100, 0), ("alid", 1, 2))
                    cells = (_cell(row[measure], scale, digits) for measure, scale, digits in shown)
                    print(f"| {name} | {words} | {step.name} | {cut} | {' | '.join(cells)} |", flush=True)


def _cell(one, scale: float, digits: int) -> str:
    value, low, high = (f"{scale * float(x):.{digits}f}" for x in (one.value, one.low, one.high))
    return f"{value} [{low}, {high}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("prepare", "train", "evaluate"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--scope", choices=("all", "last"), default="all")
    parser.add_argument("--epochs", type=int, help="Instead of the usual number.")
    parser.add_argument("--cut", type=int, choices=CUTS, help="One of the cuts of the people.")
    parser.add_argument("--intervals", type=int, default=400)
    parser.add_argument("--only", choices=tuple(PROTECTIONS), help="One of the protections.")
    given = parser.parse_args()
    names = list(PROTECTIONS) if given.only is None else [given.only]
    cuts = list(CUTS) if given.cut is None else [given.cut]
    if given.step == "prepare":
        prepare(given.work, given.speech, names)
    elif given.step == "train":
        train(given.work, names, cuts, given.scope, **({} if given.epochs is None else {"epochs": given.epochs}))
    else:
        evaluate(given.work, names, cuts, given.intervals)


if __name__ == "__main__":
    main()
