"""What an attacker learns who fine-tunes the encoder on protected speech of other people, beside one who does not.

Three steps, so that the middle one can run on another machine, with a GPU and without the speech:

    python benchmarks/trained_attacker.py prepare WORK --speech ../shared/data/speechocean
    python benchmarks/trained_attacker.py train WORK
    python benchmarks/trained_attacker.py evaluate WORK
    python benchmarks/trained_attacker.py time WORK

`prepare` protects every utterance and keeps its features (8 bits each, about 22 MB for each protection), `train` fits
three attackers for each protection, one for each cut of the people (60 to train on, 20 to stop on, 45 evaluated), and
keeps what the encoder makes of all utterances before and after; `evaluate` prints the table. `time` needs none of them:
it times trainings on more and more recordings (`benchmarks/training_size.py`). All take `--encoder NAME`, as
`zeroevidence models` lists them. With ``--scope last`` only pooling and last layers are trained, which needs no GPU.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from training_size import report

PROTECTIONS = {
    "mcadams": "mcadams:0.5..0.9:utterance",
    "mcadams+pitch+formant": "mcadams:0.5..0.9:utterance+pitch:-4..4:utterance+formant:0.8..1.25:utterance",
}
CUTS = (0, 1, 2)
ENCODERS = {"": "", "last": ", last layers fine-tuned", "all": ", fine-tuned"}


def people(speakers: np.ndarray, cut: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training, development and evaluated people of a cut."""
    order = np.random.default_rng(cut).permutation(np.unique(speakers))
    return order[:60], order[60:80], order[80:]


def card(encoder: str):
    from zeroevidence.attack.encoders import find_encoder

    return find_encoder(encoder).card


def prepare(work: Path, encoder: str, speech: Path, names: list[str]) -> None:
    from zeroevidence.attack.onnx_cards import FRONT_ENDS
    from zeroevidence.data.audio import load_audio
    from zeroevidence.protect import load_protector

    front_end = FRONT_ENDS[card(encoder).front_end]
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
            frames.append(front_end(protector(wave, 16_000, utterance)))
        together = np.concatenate(frames)
        low, high = float(together.min()), float(together.max())
        coded = np.round((together - low) / (high - low) * 255).astype(np.uint8)
        lengths = np.array([len(feature) for feature in frames])
        np.savez_compressed(_features_file(work, encoder, name), length=lengths, frames=coded, reach=[low, high])
        print(f"{name}: {len(frames)} utterances, {len(coded)} frames", flush=True)


def _features_file(work: Path, encoder: str, name: str) -> Path:
    return work / f"{encoder}-{name}-features.npz"


def features(work: Path, encoder: str, name: str) -> list[np.ndarray]:
    """Features of all utterances."""
    with np.load(_features_file(work, encoder, name)) as data:
        frames, length, (low, high) = data["frames"], data["length"], data["reach"]
    start = np.cumsum(length) - length
    return [
        frames[i : i + n].astype(np.float32) / 255 * np.float32(high - low) + np.float32(low)
        for i, n in zip(start, length, strict=True)
    ]


def network(encoder: str):
    """The encoder, to be trained further."""
    from zeroevidence.attack.networks import load_onnx

    return load_onnx(card(encoder).file)


def embedded(encoder, feats: list[np.ndarray]) -> np.ndarray:
    """What a network makes of utterances."""
    import torch

    place = next(encoder.parameters()).device
    encoder.eval()
    with torch.no_grad():
        return np.stack(
            [encoder(torch.from_numpy(feature)[None].to(place))[0].float().cpu().numpy() for feature in feats]
        )


def fitted(encoder: str, feats: list[np.ndarray], speakers: np.ndarray, groups, **settings):
    """A network after training on the first group of people, stopped on the second; says how long it took."""
    import torch

    from zeroevidence.attack.training import TrainingSettings
    from zeroevidence.attack.training.features import FrameSet, TrainingFrames
    from zeroevidence.attack.training.loop import train as fit

    rows = [np.flatnonzero(np.isin(speakers, group)) for group in groups]
    sets = [FrameSet.join([feats[i] for i in some], speakers[some]) for some in rows]
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time  # of all cores together
    started = clock()
    found = fit(network(encoder), TrainingFrames(*sets), TrainingSettings(**settings).filled())
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    seconds = clock() - started
    before, after = found.epochs[0].development, found.best_score
    print(
        f"{seconds:.1f} s for {len(found.epochs) - 1} epochs of {len(sets[0])} utterances; "
        f"development {before.bits:.2f} to {after.bits:.2f} bit, EER {before.eer:.3f} to {after.eer:.3f}",
        flush=True,
    )
    return found.network


def train(work: Path, encoder: str, names: list[str], cuts: list[int], **settings) -> None:
    with np.load(work / "people.npz") as stored:
        speakers = stored["speaker"]
    for name in names:
        feats = features(work, encoder, name)
        _keep(work, encoder, name, _which("", 0), embedded(network(encoder), feats))
        for cut in cuts:
            print(f"{encoder}, {name}, cut {cut}: ", end="")
            trained = fitted(encoder, feats, speakers, people(speakers, cut)[:2], **settings)
            _keep(work, encoder, name, _which(settings["scope"], cut), embedded(trained, feats))


def _which(scope: str, cut: int) -> str:
    """What the file is called that holds embeddings of an encoder."""
    return {"": "as-it-comes", "all": f"trained-{cut}", "last": f"last-{cut}"}[scope]


def _keep(work: Path, encoder: str, name: str, which: str, vectors: np.ndarray) -> None:
    np.save(work / f"{encoder}-{name}-{which}.npy", vectors.astype(np.float32))


def evaluate(work: Path, encoder: str, intervals: int, names: list[str]) -> None:
    import zeroevidence as ze
    from zeroevidence.attack.attackers import find_attacker
    from zeroevidence.attack.ladder import ladder_steps
    from zeroevidence.auditing.step_attack import fit_candidates, run_step

    with np.load(work / "people.npz") as stored:
        speakers, roles, ids = stored["speaker"], stored["role"], stored["utterance"]
    model = find_attacker("backend-informed")  # of either encoder, whose training the table names
    print("| protection | encoder | back-end | cut | EER [%] | top-1 [%] | ALID [bit] |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for name in names:
        for scope, title in ENCODERS.items():
            for cut in CUTS:
                groups = people(speakers, cut)
                split = np.select([np.isin(speakers, group) for group in groups], ["train", "dev", "eval"], "")
                file = work / f"{encoder}-{name}-{_which(scope, cut)}.npy"
                if not file.exists():
                    continue
                vectors = ze.Embeddings(np.load(file), ids, speakers)
                sets = ze.EmbeddingSets.from_roles(vectors, split, roles)
                sides = {"original": sets, "anonymised": sets}
                for step in ladder_steps("quick"):
                    attempt = run_step(model, step.name, encoder, sides, fit_candidates(step, sets))
                    row = ze.evaluate(attempt.scores, dev=attempt.dev, options=ze.Options(intervals=intervals, null=0))
                    columns = (("eer", 100, 1), ("top1", 100, 0), ("alid", 1, 2))
                    cells = (_cell(row[measure], scale, digits) for measure, scale, digits in columns)
                    print(f"| {name} | {encoder}{title} | {step.name} | {cut} | {' | '.join(cells)} |", flush=True)


def _cell(measured, scale: float, digits: int) -> str:
    value, low, high = (f"{scale * float(x):.{digits}f}" for x in (measured.value, measured.low, measured.high))
    return f"{value} [{low}, {high}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("prepare", "train", "evaluate", "time"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--encoder", default="campplus")
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--scope", choices=("all", "last"), default="all")
    parser.add_argument("--epochs", type=int, help="At most, instead of what is usual for the scope.")
    parser.add_argument("--cut", type=int, choices=CUTS, help="One of the cuts of the people.")
    parser.add_argument("--intervals", type=int, default=400)
    parser.add_argument("--recordings", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="For `time`.")
    parser.add_argument("--only", choices=tuple(PROTECTIONS), help="One of the protections.")
    arguments = parser.parse_args()
    names = list(PROTECTIONS) if arguments.only is None else [arguments.only]
    cuts = list(CUTS) if arguments.cut is None else [arguments.cut]
    settings = {"scope": arguments.scope} | ({} if arguments.epochs is None else {"epochs": arguments.epochs})
    if arguments.step == "prepare":
        prepare(arguments.work, arguments.encoder, arguments.speech, names)
    elif arguments.step == "train":
        train(arguments.work, arguments.encoder, names, cuts, **settings)
    elif arguments.step == "time":
        sizes = {"epochs": 2, "device": None, "encoder": arguments.encoder}
        report(arguments.work, arguments.recordings, **{**sizes, **settings})
    else:
        evaluate(arguments.work, arguments.encoder, arguments.intervals, names)


if __name__ == "__main__":
    main()
