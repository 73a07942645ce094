"""What the protector `onevoice` leaves of a speaker, and of words.

Steps, of which the second can run on another machine, with a GPU and without the speech corpus:

    python benchmarks/onevoice.py codes WORK --speech ../shared/data/speechocean
    python benchmarks/onevoice.py train WORK
    python benchmarks/onevoice.py audit WORK --draws DRAWS
    python benchmarks/onevoice.py words --speech ../shared/data/speechocean
    python benchmarks/onevoice.py counts --speech ../shared/data/audiomnist

`codes` keeps the codes of every recording, from which the protected speech follows (it needs the extra `onevoice`).
`train` speaks them, keeps cues and what CAM++ makes of them, as it comes and trained on the 60 people to learn from.
`audit` attacks with everything that `--effort full` has for these: DRAWS is the folder of `benchmarks/draws.py`, whose
unprotected speech serves as the control, with the same people to learn from, to choose on and to evaluate. `words` lets
Whisper base (the extra `recogniser`) hear recordings of the evaluated people, as they are and protected; none of them
had a part in the training of the protector. `counts` asks where codes tell people apart: the attacker sees only how
often each code occurs in a recording, in all of it, where it is loud or where it is quiet, with each code once for as
long as it lasts, and with the mean of each recording taken off before codes are chosen.
"""

from __future__ import annotations

import argparse
import csv
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import draws
import numpy as np

SIZES = (512, 128)
PITCH = 180.0
QUIET = 30.0  # dB below the loudest frame of a recording


def rows_of(speech: Path) -> list[dict[str, str]]:
    with (speech / "utterances.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def load(path: Path) -> np.ndarray:
    from zeroevidence.data.audio import load_audio

    wave = np.asarray(load_audio(path, 16_000), np.float32)
    return wave / np.abs(wave).max() * 0.5


def heard(path: Path) -> list[np.ndarray]:
    from zeroevidence.protect.voices.onevoice import load_networks

    wave, networks = load(path), load_networks()
    return [networks.encode(wave, size).astype(np.int16) for size in SIZES]


def codes(work: Path, speech: Path) -> None:
    rows = rows_of(speech)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        every = list(pool.map(heard, [speech / row["path"] for row in rows], chunksize=8))
    draws.save(
        work / "codes.npz",
        length=np.array([len(each[0]) for each in every]),
        **{f"codes_{size}": np.concatenate([each[k] for each in every]) for k, size in enumerate(SIZES)},
        **{
            name: np.array([row[field] for row in rows])
            for name, field in (("id", "utterance"), ("speaker", "speaker"), ("role", "role"))
        },
    )


def spoken(recorded: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of CAM++ and cues of what the voice makes of codes."""
    from zeroevidence.attack.extractors import load_extractor
    from zeroevidence.attack.onnx_cards import FRONT_ENDS
    from zeroevidence.protect.voices.onevoice import load_networks

    wave = load_networks().decode(recorded.astype(np.int64), np.full(3 * len(recorded), PITCH), size)
    wave = (wave * 0.5 / np.abs(wave).max()).astype(np.float32)
    features = FRONT_ENDS[draws.FRONT_END["campplus"]](wave).astype(np.float16)
    return features, load_extractor("cues").embed([wave])[0]


def train(work: Path) -> None:
    draws.TRAINED = (0, 1)
    with np.load(work / "codes.npz") as data, ProcessPoolExecutor(os.cpu_count()) as pool:
        labels = {field: data[field] for field in ("id", "speaker", "role")}
        for size in SIZES:
            name = f"onevoice-{size}"
            recordings = np.split(data[f"codes_{size}"], np.cumsum(data["length"])[:-1])
            made = list(pool.map(partial(spoken, size=size), recordings, chunksize=4))
            once = np.zeros(len(made), np.int64)
            frames = [features for features, _ in made]
            length = np.array([len(each) for each in frames])
            target = work / f"campplus-{name}-features.npz"
            draws.save(target, frames=np.concatenate(frames), length=length, draw=once, **labels)
            draws.save(work / f"cues-{name}.npz", vectors=np.stack([each for _, each in made]), draw=once, **labels)
            draws.train(work, "campplus", None, [name])


def audit(work: Path, unprotected: Path, intervals: int) -> None:
    import zeroevidence as ze
    from zeroevidence.auditing import EncodedSpeech
    from zeroevidence.auditing.embedding_audit import audit_folds
    from zeroevidence.auditing.encoders import encode_cues

    def sets(*files: Path) -> ze.EmbeddingSets:
        (released,), role = draws.embeddings(list(files), 1)
        groups = draws.people(released.speakers)
        split = np.select([np.isin(released.speakers, group) for group in groups], ["train", "dev", "eval"], "")
        return ze.EmbeddingSets.from_roles(released, split, np.array([role[name] for name in released.ids.tolist()]))

    print("| codes | attacker | EER [%] | top-1 [%] | ALID [bit] |")
    print("| ---: | --- | ---: | ---: | ---: |")
    plain = sets(unprotected / "campplus-unprotected-0.npz")
    plain_cues = sets(*sorted(unprotected.glob("cues-unprotected-*.npz")))
    for size in SIZES:
        protected = [sets(work / f"campplus-onevoice-{size}-{trained}.npz") for trained in (0, 1)]
        encoders = [
            EncodedSpeech("campplus", plain, protected[0]),
            EncodedSpeech("campplus-trained", None, protected[1], "anonymised"),
            *encode_cues(plain_cues, sets(work / f"cues-onevoice-{size}.npz")),
        ]
        measuring = ze.Options(intervals=intervals, null=200)
        options = ze.AuditOptions(
            attackers=("backend-informed", "semi-informed"), effort="full", measuring=measuring, system="onevoice"
        )
        result = audit_folds([encoders], options, deterministic=True)
        chosen = [result.strongest]
        for encoder in ("campplus", "campplus-trained", "cues"):
            of_encoder = [
                row for row in result.rows if row.about.role == "attack" and row.labels.get("encoder") == encoder
            ]
            chosen.append(max(of_encoder, key=lambda row: row.about.development))
        for row in chosen:
            title = f"{row.labels['encoder']}, {row.labels['backend']}"
            cells = [draws._cell(row[measure], *form) for measure, *form in draws.FORMS]
            print(f"| {size} | {title} | {' | '.join(cells)} |", flush=True)


def words(speech: Path, number: int) -> None:
    from types import SimpleNamespace

    from zeroevidence.auditing.word_errors import closest_words
    from zeroevidence.evaluation.utility import word_errors
    from zeroevidence.protect import load_protector
    from zeroevidence.protect.voices.speech_models import recognise

    rows = rows_of(speech)
    evaluated = draws.people(np.array([row["speaker"] for row in rows]))[2]
    pool = [row for row in rows if row["speaker"] in evaluated]
    some = [pool[i] for i in np.random.default_rng(2).permutation(len(pool))[:number]]
    print("| speech | WER [%] |")
    print("| --- | ---: |")
    for title in ("original", *(f"onevoice:{size}" for size in SIZES)):
        pairs = []
        for row in some:
            wave = load(speech / row["path"])
            if title != "original":
                wave = load_protector(title)(wave, 16_000, SimpleNamespace(id=row["utterance"], speaker=row["speaker"]))
            pairs.append(closest_words(row["text"], recognise("whisper", wave).text))
        errors = word_errors([said for said, _ in pairs], [text for _, text in pairs]).sum(axis=0)
        print(f"| {title} | {100 * errors[:3].sum() / errors[3]:.0f} |", flush=True)


def counted(path: Path) -> dict[str, np.ndarray]:
    """Square roots of how often each code occurs in a recording, one entry for each variant."""
    from zeroevidence.protect.voices.onevoice import HOP, load_networks

    wave, networks = load(path), load_networks()
    vectors = networks.vectors(wave)
    power = np.square(np.pad(wave, (0, len(vectors) * HOP - len(wave)))).reshape(-1, HOP).sum(axis=1)
    loud = power > power.max() * 10.0 ** (-QUIET / 10.0)

    def codes_of(frames: np.ndarray, size: int) -> np.ndarray:
        book = networks._books[f"codes_{size}"]
        return np.asarray(((book**2).sum(axis=1) - 2.0 * frames @ book.T).argmin(axis=1))

    def share(codes: np.ndarray, size: int) -> np.ndarray:
        return np.sqrt(np.bincount(codes, minlength=size) / max(len(codes), 1))

    made = {}
    for size in (512, 128, 32):
        codes = codes_of(vectors, size)
        made[f"{size} codes"] = share(codes, size)
        if size != 512:
            made[f"{size} codes, mean taken off"] = share(codes_of(vectors - vectors.mean(axis=0), size), size)
        if size == 128:
            made["128 codes, loud frames"] = share(codes[loud], size)
            made["128 codes, quiet frames"] = share(codes[~loud], size)
            made["128 codes, each once"] = share(codes[np.r_[True, np.diff(codes) != 0]], size)
    return made


def counts(speech: Path, recordings: int) -> None:
    import zeroevidence as ze
    from zeroevidence.data.formats.corpora import read_corpus

    by_person: dict[str, list] = {}
    for utterance in read_corpus(speech, draw=False):
        by_person.setdefault(utterance.speaker, []).append(utterance)
    chosen = [utterance for each in by_person.values() for utterance in each[:recordings]]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        every = list(pool.map(counted, [utterance.path for utterance in chosen], chunksize=8))
    ids, speakers = (np.array([getattr(each, field) for each in chosen]) for field in ("id", "speaker"))
    measuring = ze.Options(intervals=400, null=0)
    options = ze.AuditOptions(
        attackers=("backend-informed",), backends=("whitened",), effort="quick", folds=3, measuring=measuring
    )
    sides = {name: ze.Embeddings(np.stack([each[name] for each in every]), ids, speakers) for name in every[0]}
    print(f"{len(chosen)} recordings of {len(by_person)} people in {speech.name}")
    print("| counts of | top-1 [%] | ALID [bit] |")
    print("| --- | ---: | ---: |")
    for name, side in sides.items():
        row = ze.audit(side, side, options).strongest
        cells = [draws._cell(row[measure], *form) for measure, *form in draws.FORMS[1:]]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("codes", "train", "audit", "words", "counts"))
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--draws", type=Path, help="The folder of benchmarks/draws.py.")
    parser.add_argument("--intervals", type=int, default=400, help="Replicates of intervals.")
    parser.add_argument("--number", type=int, default=100, help="Recordings that are heard.")
    parser.add_argument("--recordings", type=int, default=8, help="Recordings of each person whose codes are counted.")
    arguments = parser.parse_args()
    if arguments.step == "codes":
        arguments.work.mkdir(parents=True, exist_ok=True)
        codes(arguments.work, arguments.speech)
    elif arguments.step == "train":
        train(arguments.work)
    elif arguments.step == "audit":
        audit(arguments.work, arguments.draws, arguments.intervals)
    elif arguments.step == "counts":
        counts(arguments.speech, arguments.recordings)
    else:
        words(arguments.speech, arguments.number)


if __name__ == "__main__":
    main()
