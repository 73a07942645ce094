"""What an attacker gains who runs the anonymiser several times: on the speech to train on, and on the speech to enrol.

Four steps, so that the middle ones can run on another machine, with a GPU and without the speech corpus:

    python benchmarks/draws.py pack WORK --speech ../shared/data/speechocean
    python benchmarks/draws.py protect WORK
    python benchmarks/draws.py train WORK
    python benchmarks/draws.py evaluate WORK
    python benchmarks/draws.py cues WORK
    python benchmarks/draws.py full WORK

`pack` writes the waveforms, in two compressed files. `protect` draws each protection five times for the training people
and ten times for what is enrolled, trials once, and keeps the features. `train` fits an encoder for each protection on
one draw and on five (60 people to train on, 20 to stop on, 45 evaluated, cut 0 of `trained_attacker.py`) and keeps what
the encoder makes of everything, before and after. `evaluate` prints the table. Each step continues where it stopped.
`cues` measures the cues of unprotected speech and of the three voice changes together, in five draws, for the files of
waveforms that are there. `full` audits these with one draw and with five, with all attackers of `--effort full`: both
encoders, those trained on as many draws, cues and fusions. Only `protect`, `train` and `cues` take long.
`train` takes `--encoder campplus`, or `ecapa` with `--model FILE`, its ONNX file.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np

PROTECTIONS = {
    "mcadams": "mcadams:0.5..0.9:utterance",
    "pitch+formant": "pitch:-4..4:utterance+formant:0.8..1.25:utterance",
    "mcadams+pitch+formant": "mcadams:0.5..0.9:utterance+pitch:-4..4:utterance+formant:0.8..1.25:utterance",
}
UNPROTECTED = "unprotected"
FRONT_END = {"campplus": "kaldi-fbank", "ecapa": "speechbrain-fbank"}
TRAINED, ENROLLED = (0, 1, 5), (1, 2, 5, 10)  # draws; 0 for the encoder as it comes
COMBINED, OFTEN, BLOCK = "mcadams+pitch+formant", 5, 50  # of the audits: protection, draws; recordings saved at once
FORMS = (("eer", 100, 1), ("top1", 100, 0), ("alid", 1, 2))  # measures with factor and digits
SEED, PARTS, STEP = 1, 2, 10  # seed of the release; files of waveforms; frames that lengths are cut to multiples of


def people(speakers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training, development and evaluated people."""
    order = np.random.default_rng(0).permutation(np.unique(speakers))
    return order[:60], order[60:80], order[80:]


def pack(work: Path, speech: Path) -> None:
    from zeroevidence.data.audio import load_audio

    with (speech / "utterances.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    work.mkdir(parents=True, exist_ok=True)
    for part in range(PARTS):
        target = work / f"waves-{part}.xz"
        some = rows[part::PARTS]
        waves = [np.round(load_audio(speech / row["path"], 16_000) * 2**15).astype(np.int16) for row in some]
        np.savez(
            work / f"rows-{part}.npz",
            length=[len(wave) for wave in waves],
            **{name: np.array([row[name] for row in some]) for name in ("utterance", "speaker", "role")},
        )
        if not target.exists():  # differences, with their high and low bytes apart
            steps = np.diff(np.concatenate(waves), prepend=np.int16(0)).astype(np.int16).view(np.uint16)
            folded = np.where(steps >> 15, ~(steps << 1), steps << 1)
            planes = np.concatenate([(folded >> 8).astype(np.uint8), (folded & 255).astype(np.uint8)])
            target.write_bytes(lzma.compress(planes.tobytes()))


def unpacked(work: Path, parts: Iterable[int] = range(PARTS)) -> list[tuple[SimpleNamespace, np.ndarray]]:
    """The utterances of some files with their waveforms."""
    speech = []
    for part in parts:
        high, low = np.frombuffer(lzma.decompress((work / f"waves-{part}.xz").read_bytes()), np.uint8).reshape(2, -1)
        folded = high.astype(np.uint16) << 8 | low
        steps = np.where(folded & 1, ~(folded >> 1), folded >> 1).astype(np.uint16).view(np.int16)
        with np.load(work / f"rows-{part}.npz") as rows:
            waves = np.split(np.cumsum(steps, dtype=np.int16), np.cumsum(rows["length"])[:-1])
            names = zip(rows["utterance"].tolist(), rows["speaker"].tolist(), rows["role"].tolist(), strict=True)
            speech += [
                (SimpleNamespace(id=name, speaker=speaker, role=role), wave.astype(np.float32) / 2**15)
                for (name, speaker, role), wave in zip(names, waves, strict=True)
            ]
    return speech


def save(target: Path, **arrays: np.ndarray) -> None:
    """Write a file that is there whole or not at all."""
    np.savez(target.with_suffix(".part.npz"), **arrays)
    target.with_suffix(".part.npz").replace(target)


def features_of(item: tuple[SimpleNamespace, np.ndarray], name: str, draws: int) -> list[dict[str, np.ndarray]]:
    """The features of an utterance in each draw, for each encoder."""
    from zeroevidence.attack.onnx_cards import FRONT_ENDS
    from zeroevidence.protect.voices import seeded_protectors

    utterance, wave = item
    if name == UNPROTECTED:
        waves = [wave]
    else:
        waves = [protector(wave, 16_000, utterance) for protector in seeded_protectors(PROTECTIONS[name], SEED, draws)]
    return [{name: FRONT_ENDS[end](wave).astype(np.float16) for name, end in FRONT_END.items()} for wave in waves]


def protect(work: Path, names: list[str]) -> None:
    """Keep the features of every utterance, in half precision and in as many draws as are used."""
    speech = unpacked(work)
    training, _, _ = people(np.array([utterance.speaker for utterance, _ in speech]))
    number = {
        utterance.id: 5 if utterance.speaker in training else (10 if utterance.role == "enrol" else 1)
        for utterance, _ in speech
    }
    for name in names:
        targets = {encoder: work / f"{encoder}-{name}-features.npz" for encoder in FRONT_END}
        if all(target.exists() for target in targets.values()):
            continue
        started = time.perf_counter()
        drawn = {}
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            for draws in (1, 5, 10):
                some = [item for item in speech if number[item[0].id] == draws]
                task = partial(features_of, name=name, draws=draws)
                drawn |= {item[0].id: each for item, each in zip(some, pool.map(task, some, chunksize=4), strict=True)}
        rows = [(utterance, draw) for utterance, _ in speech for draw in range(len(drawn[utterance.id]))]
        labels = {field: np.array([getattr(each, field) for each, _ in rows]) for field in ("id", "speaker", "role")}
        for encoder, target in targets.items():
            frames = [drawn[utterance.id][draw][encoder] for utterance, draw in rows]
            length, draws = np.array([len(each) for each in frames]), np.array([draw for _, draw in rows])
            save(target, frames=np.concatenate(frames), length=length, draw=draws, **labels)
        print(f"{name}: {len(rows)} draws, {time.perf_counter() - started:.0f} s", flush=True)


def network(encoder: str, model: Path | None):
    """The encoder, to be trained further."""
    from zeroevidence.attack.networks import load_onnx

    if model is None:
        from zeroevidence.attack.encoders import find_encoder

        model = find_encoder(encoder).card.file
    return load_onnx(model)


def embedded(encoder, frames: list[np.ndarray]) -> np.ndarray:
    """What a network makes of utterances, in batches of one length: up to 90 ms are cut off the end of each."""
    import torch

    place = next(encoder.parameters()).device
    encoder.eval()
    lengths = np.array([max(len(each) // STEP * STEP, min(len(each), STEP)) for each in frames])
    vectors = [np.empty(0)] * len(frames)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        for some in np.array_split(rows, -(-len(rows) // 128)):
            batch = torch.from_numpy(np.stack([frames[i][:length] for i in some]).astype(np.float32)).to(place)
            with torch.no_grad():
                for i, vector in zip(some, encoder(batch).float().cpu().numpy(), strict=True):
                    vectors[i] = vector
    return np.stack(vectors)


def train(work: Path, encoder: str, model: Path | None, names: list[str]) -> None:
    import torch

    from zeroevidence.attack.training import TrainingSettings
    from zeroevidence.attack.training.features import FrameSet, TrainingFrames
    from zeroevidence.attack.training.loop import train as fit

    device = "cuda" if torch.cuda.is_available() else "cpu"
    for name in names:
        source = work / f"{encoder}-{name}-features.npz"
        if not source.exists():
            continue
        with np.load(source) as data:
            rows = {field: data[field] for field in ("id", "speaker", "role", "draw")}
            frames = np.split(data["frames"], np.cumsum(data["length"])[:-1])
        learners, stoppers, _ = people(rows["speaker"])
        for draws in TRAINED if name != UNPROTECTED else (0,):
            target = work / f"{encoder}-{name}-{draws}.npz"
            if target.exists():
                continue
            encoder_network = network(encoder, model).to(device)
            started = time.perf_counter()
            if draws:
                settings = TrainingSettings().filled("all")
                settings = TrainingSettings(epochs=int(np.ceil(settings.epochs / np.sqrt(draws)))).filled("all")
                chosen = [
                    np.flatnonzero(np.isin(rows["speaker"], group) & (rows["draw"] < most))
                    for group, most in ((learners, draws), (stoppers, 1))
                ]
                sets = [
                    FrameSet.join([frames[i].astype(np.float32) for i in some], rows["speaker"][some])
                    for some in chosen
                ]
                result = fit(encoder_network, TrainingFrames(*sets), settings)
                encoder_network = result.network
                print(
                    f"{encoder}, {name}, {draws} draws: {time.perf_counter() - started:.0f} s for "
                    f"{len(result.epochs) - 1} epochs of {len(sets[0])} recordings; development "
                    f"{result.epochs[0].development.bits:.2f} to {result.best_score.bits:.2f} bit",
                    flush=True,
                )
            vectors = embedded(encoder_network, frames).astype(np.float16)
            save(target, vectors=vectors, **rows)


def evaluate(work: Path, intervals: int) -> None:
    """Print the table, and which part of the bits that are missing to unprotected speech five draws bring."""
    columns = " | ".join(f"{number} enrolled" for number in ENROLLED)
    print(f"| protection | encoder | trained on | {columns} |")
    print("| --- | --- | --- |" + " --- |" * len(ENROLLED))
    kept = work / f"table-{intervals}.json"
    table = json.loads(kept.read_text()) if kept.exists() else {}
    for name in (UNPROTECTED, *PROTECTIONS):
        for encoder, draws in product(FRONT_END, TRAINED):
            file = work / f"{encoder}-{name}-{draws}.npz"
            if not file.exists():
                continue
            with np.load(file) as data:
                rows = {field: data[field] for field in data.files}
            trained = f"{draws} draw{'s'[: draws > 1]}" if draws else "as it comes"
            cells = []
            for enrolled in ENROLLED if name != UNPROTECTED else (1,):
                title = f"{name} | {encoder} | {trained} | {enrolled}"
                if title not in table:
                    table[title] = measured(rows, max(draws, 1), enrolled, intervals)
                    kept.write_text(json.dumps(table, indent=1))
                error, top, bits = table[title]
                cells.append(f"{error.split()[0]} / {top.split()[0]} / {bits}")
            cells += [""] * (len(ENROLLED) - len(cells))
            print(f"| {name} | {encoder} | {trained} | {' | '.join(cells)} |", flush=True)
    for name, encoder in product(PROTECTIONS, FRONT_END):
        titles = [f"{UNPROTECTED} | {encoder} | as it comes | 1"]
        titles += [f"{name} | {encoder} | {number} draw{'s'[: number > 1]} | {number}" for number in (1, 5)]
        if all(title in table for title in titles):
            most, once, often = (float(table[title][2].split()[0]) for title in titles)
            print(
                f"{name}, {encoder}: five draws bring {100 * (often - once) / (most - once):.0f} % of what is missing"
            )


def measured(rows: dict[str, np.ndarray], trained: int, enrolled: int, intervals: int) -> list[str]:
    """EER, top-1 and ALID of within-class whitening, its settings chosen on development people."""
    import zeroevidence as ze
    from zeroevidence.attack.ladder import ladder_steps
    from zeroevidence.auditing.step_attack import disclosure, score_trials
    from zeroevidence.evaluation.rows.about import DrawUse

    def drawn(draw: int) -> ze.Embeddings:
        chosen = rows["draw"] == draw
        return ze.Embeddings(rows["vectors"][chosen].astype(np.float32), rows["id"][chosen], rows["speaker"][chosen])

    released = drawn(0)
    split = np.select(
        [np.isin(released.speakers, group) for group in people(rows["speaker"])], ["train", "dev", "eval"], ""
    )
    role = dict(zip(rows["id"].tolist(), rows["role"].tolist(), strict=True))
    sets = ze.EmbeddingSets.from_roles(released, split, np.array([role[name] for name in released.ids.tolist()]))
    training = [drawn(draw) for draw in range(trained)]
    vectors, speakers = (
        np.concatenate([getattr(each, field)[np.isin(each.ids, sets.train.ids)] for each in training])
        for field in ("vectors", "speakers")
    )

    def enrolments(part: ze.Embeddings) -> list[ze.Embeddings]:
        every = [drawn(draw) for draw in range(enrolled)]
        return [part, *(each.take(np.isin(each.ids, part.ids)) for each in every[1:])]

    (step,) = (step for step in ladder_steps("quick") if step.name == "whitened")
    best = None
    for backend in step.candidates(60, vectors.shape[1]):
        fitted = backend.fit(vectors.astype(np.float64), speakers)
        dev = score_trials(fitted, enrolments(sets.dev_enrol), sets.dev_trial, DrawUse(enrolment=enrolled))
        bits = disclosure(dev)
        if best is None or bits > best[0]:
            best = bits, fitted, dev
    _, fitted, dev = best
    scores = score_trials(fitted, enrolments(sets.eval_enrol), sets.eval_trial, DrawUse(enrolment=enrolled))
    row = ze.evaluate(scores, dev=dev, options=ze.Options(intervals=intervals, null=0))
    return [_cell(row[measure], *form) for measure, *form in FORMS]


def cues_of(item: tuple[SimpleNamespace, np.ndarray], name: str, draws: int) -> np.ndarray:
    """The cues of an utterance in each draw."""
    from zeroevidence.attack.extractors import load_extractor
    from zeroevidence.protect.voices import seeded_protectors

    utterance, wave = item
    waves = [wave]
    if name != UNPROTECTED:
        waves = [protector(wave, 16_000, utterance) for protector in seeded_protectors(PROTECTIONS[name], SEED, draws)]
    return load_extractor("cues").embed([np.asarray(each, np.float32) for each in waves])


def cues(work: Path, out: Path) -> None:
    """Keep the cues of every utterance, in as many draws as are used."""
    from zeroevidence.run import available_cores

    speakers = np.concatenate([np.load(work / f"rows-{part}.npz")["speaker"] for part in range(PARTS)])
    training, _, _ = people(speakers)
    out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(available_cores()) as pool:
        for part in range(PARTS):
            speech = unpacked(work, [part]) if (work / f"waves-{part}.xz").exists() else []
            for name, first in product((UNPROTECTED, COMBINED), range(0, len(speech), BLOCK)):
                target = out / f"cues-{name}-{part}-{first}.npz"
                if any((folder / target.name).exists() for folder in (work, out)):
                    continue
                some = speech[first : first + BLOCK]
                drawn = [utterance.role == "enrol" or utterance.speaker in training for utterance, _ in some]
                number = [OFTEN if again and name != UNPROTECTED else 1 for again in drawn]
                started = time.perf_counter()
                measured_cues = list(pool.map(cues_of, some, [name] * len(some), number))
                rows = [(utterance, draw) for (utterance, _), n in zip(some, number, strict=True) for draw in range(n)]
                labels = {
                    field: np.array([getattr(row, field) for row, _ in rows]) for field in ("id", "speaker", "role")
                }
                draws = np.array([draw for _, draw in rows])
                save(target, vectors=np.concatenate(measured_cues), draw=draws, **labels)
                print(f"{target.name}: {len(rows)} draws, {time.perf_counter() - started:.0f} s", flush=True)


def embeddings(files: list[Path], draws: int):
    """The embeddings of each draw, and the role of each recording."""
    import zeroevidence as ze

    loaded = [np.load(file) for file in files]
    rows = {field: np.concatenate([data[field] for data in loaded]) for field in ("vectors", "id", "speaker", "draw")}
    role = dict(
        zip(*(np.concatenate([data[field] for data in loaded]).tolist() for field in ("id", "role")), strict=True)
    )
    chosen = [rows["draw"] == draw for draw in range(draws)]
    return [
        ze.Embeddings(rows["vectors"][some].astype(np.float32), rows["id"][some], rows["speaker"][some])
        for some in chosen
    ], role


def full(work: Path, intervals: int) -> None:
    """Print what the strongest attacker of `--effort full` learns with one draw and with five."""
    import zeroevidence as ze
    from zeroevidence.auditing import EncodedSpeech
    from zeroevidence.auditing.embedding_audit import audit_folds
    from zeroevidence.auditing.encoders import encode_cues

    def sets(files: list[Path], draws: int) -> ze.EmbeddingSets:
        (released, *further), role = embeddings(files, draws)
        groups = people(released.speakers)
        split = np.select([np.isin(released.speakers, group) for group in groups], ["train", "dev", "eval"], "")
        roles = np.array([role[name] for name in released.ids.tolist()])
        return ze.EmbeddingSets.from_roles(released, split, roles).with_draws(further)

    kept = work / f"full-{intervals}.json"
    table = json.loads(kept.read_text()) if kept.exists() else {}
    print("| draws | attacker | development [bit] | EER [%] | top-1 [%] | ALID [bit] | unprotected [bit] |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for draws in (1, OFTEN):
        if str(draws) not in table:
            encoders = []
            for encoder in FRONT_END:
                plain = [work / f"{encoder}-{name}-0.npz" for name in (UNPROTECTED, COMBINED)]
                encoders.append(EncodedSpeech(encoder, sets(plain[:1], 1), sets(plain[1:], draws)))
                trained = sets([work / f"{encoder}-{COMBINED}-{draws}.npz"], draws)
                encoders.append(EncodedSpeech(f"{encoder}-trained", None, trained, "anonymised"))
            measured_cues = [sorted(work.glob(f"cues-{name}-*.npz")) for name in (UNPROTECTED, COMBINED)]
            encoders += encode_cues(sets(measured_cues[0], 1), sets(measured_cues[1], draws))
            measuring = ze.Options(intervals=intervals, null=0)
            options = ze.AuditOptions(
                attackers=("backend-informed", "semi-informed"), effort="full", measuring=measuring, system=COMBINED
            )
            result = audit_folds([encoders], options)
            strongest = result.strongest
            named = ", ".join(strongest.labels[label] for label in ("encoder", "backend"))
            controls = [row.number("alid") for row in result.rows if row.about.role == "control"]
            cells = [_cell(strongest[measure], *form) for measure, *form in FORMS]
            table[str(draws)] = [named, f"{strongest.about.development:.2f}", *cells, f"{max(controls):.2f}"]
            kept.write_text(json.dumps(table, indent=1))
        print(f"| {draws} | {' | '.join(table[str(draws)])} |", flush=True)
    once, often = (float(table[str(draws)][4].split()[0]) for draws in (1, OFTEN))
    most = float(table["1"][5])
    print(f"five draws bring {100 * (often - once) / (most - once):.0f} % of what is missing")


def _cell(result, scale: float, digits: int) -> str:
    values = [f"{scale * float(x):.{digits}f}" for x in (result.value, result.low, result.high) if x is not None]
    return values[0] if len(values) == 1 else f"{values[0]} [{values[1]}, {values[2]}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("pack", "protect", "train", "evaluate", "cues", "full"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--encoder", choices=tuple(FRONT_END), default="campplus")
    parser.add_argument("--model", type=Path, help="The ONNX file of the encoder, where it is not bundled.")
    parser.add_argument("--intervals", type=int, help="Replicates of intervals [default: 400; 0 for full].")
    parser.add_argument("--only", choices=(UNPROTECTED, *PROTECTIONS), help="One of the protections.")
    parser.add_argument("--out", type=Path, help="Where cues are kept, if not in WORK.")
    arguments = parser.parse_args()
    names = [UNPROTECTED, *reversed(PROTECTIONS)] if arguments.only is None else [arguments.only]
    if arguments.step == "pack":
        pack(arguments.work, arguments.speech)
    elif arguments.step == "protect":
        protect(arguments.work, names)
    elif arguments.step == "train":
        train(arguments.work, arguments.encoder, arguments.model, names)
    elif arguments.step == "cues":
        cues(arguments.work, arguments.out or arguments.work)
    elif arguments.step == "full":
        full(arguments.work, arguments.intervals or 0)
    else:
        evaluate(arguments.work, 400 if arguments.intervals is None else arguments.intervals)


if __name__ == "__main__":
    main()
