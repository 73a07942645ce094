"""Make the weights of the protector `onevoice`.

    python scripts/onevoice/make.py pack PEOPLE ../shared/data/speechocean [--flite flite] [--people 60]
    python scripts/onevoice/make.py prepare WORK --encoder encoder_model.ort [--flite flite] [--sentences 3000]
    python scripts/onevoice/make.py listen WORK PEOPLE --encoder encoder_model.ort
    python scripts/onevoice/make.py train WORK [--minutes 9]
    python scripts/onevoice/make.py export WORK FOLDER
    python scripts/onevoice/make.py hear WORK ../shared/data/speechocean --encoder encoder_model.ort [--people 60]
    python scripts/onevoice/make.py refine WORK FOLDER [--minutes 24]

`prepare` lets the free voices of Flite read sentences and runs the content encoder of Moonshine over them (processors
only). `pack` and `listen` do so for recordings of people with transcripts: from these, the part that makes codes learns
how people sound; the part that makes speech of codes learns from the voice of Flite alone. `train` wants a GPU;
`export` writes the ONNX files and the codebooks.

`hear` and `refine` go on from what the package bundles, on processors: the part that makes codes learns to find, in
recordings of people and readings by other voices, in other rooms and by other devices, the codes that the voice has
where it reads the same text. `refine` needs some of what `prepare` writes (`--sentences 500`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

TARGET = "slt"
VOICES = ["slt", "rms", "awb", "kal16"]
_PART = 25  # sentences of a file


def prepare_part(job: tuple[int, list[str], Path, str, Path, int]) -> float:
    """Prepare some sentences and write them; return seconds of speech."""
    from speech import load_encoder, prepare_sentence

    number, sentences, folder, flite, encoder_path, copies = job
    path = folder / f"part-{number:04d}.npz"
    if path.exists():
        return 0.0
    encoder = load_encoder(encoder_path)
    prepared = [
        prepare_sentence(text, number * _PART + k, [flite], encoder, TARGET, VOICES, copies)
        for k, text in enumerate(sentences)
    ]
    joined = {name: np.concatenate([item[name] for item in prepared]) for name in ("wave", "pitch", "sounds")}
    joined["features"] = np.concatenate([item["features"] for item in prepared], axis=1)
    joined["lengths"] = np.array([item["features"].shape[1] for item in prepared])
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        np.savez(file, **joined)
    temporary.rename(path)
    return len(joined["wave"]) / 16_000


def prepare(work: Path, encoder: Path, flite: str, sentences: int, copies: int, workers: int, minutes: float) -> None:
    """Prepare all sentences, or as many as the time allows."""
    from sentences import write_sentences

    work.mkdir(parents=True, exist_ok=True)
    texts = write_sentences(sentences, seed=1)
    jobs = [(k // _PART, texts[k : k + _PART], work, flite, encoder, copies) for k in range(0, len(texts), _PART)]
    begin, spoken = time.monotonic(), 0.0
    with multiprocessing.Pool(workers) as pool:
        for done, seconds in enumerate(pool.imap_unordered(prepare_part, jobs), start=1):
            spoken += seconds
            if done % 20 == 0 or done == len(jobs):
                print(
                    f"{done} of {len(jobs)} parts, {spoken / 3600:.2f} h, {time.monotonic() - begin:.0f} s", flush=True
                )
            if time.monotonic() - begin > 60 * minutes:
                pool.terminate()
                break


def prepare_people(work: Path, folder: Path, encoder: Path, copies: int, workers: int) -> None:
    """Run the content encoder over packed recordings of people."""
    import json

    from people import prepare_recording

    listed = json.loads((folder / "sounds.json").read_text())
    jobs = [(folder / f"{item['utterance']}.ogg", k, encoder, copies) for k, item in enumerate(listed)]
    with multiprocessing.Pool(workers) as pool:
        prepared = pool.map(prepare_recording, jobs, chunksize=4)
    parts = [part for recording in prepared for part in recording]
    np.savez(
        work / "people.npz",
        features=np.concatenate(parts),
        lengths=[len(part) for part in parts],
        recording=np.repeat(np.arange(len(listed)), copies + 1),
        sounds=json.dumps(listed),
    )


def hear(work: Path, corpus: Path, encoder: Path, flite: str, people: int, copies: int, workers: int) -> None:
    """Run the content encoder over recordings of people and over readings of their transcripts."""
    from people import recordings_of
    from refining import prepare_pair

    jobs = [
        (corpus / row["path"], row["text"], k, encoder, flite, TARGET, copies)
        for k, row in enumerate(recordings_of(corpus, people))
    ]
    work.mkdir(parents=True, exist_ok=True)
    with multiprocessing.Pool(workers) as pool:
        pairs = pool.map(prepare_pair, jobs, chunksize=4)
    np.savez(work / "pairs.npz", pairs=np.array(pairs, dtype=object))


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("pack", "prepare", "listen", "train", "export", "hear", "refine"))
    parser.add_argument("work", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--flite", default="flite")
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--people", type=int, default=60)
    given = parser.parse_args()
    if given.step == "prepare":
        prepare(given.work, given.encoder, given.flite, given.sentences, given.copies, given.workers, given.minutes)
    elif given.step == "pack":
        from people import pack

        pack(given.folder, given.work, given.flite, TARGET, given.people)
    elif given.step == "listen":
        prepare_people(given.work, given.folder, given.encoder, given.copies, given.workers)
    elif given.step == "hear":
        hear(given.work, given.folder, given.encoder, given.flite, given.people, given.copies, given.workers)
    elif given.step == "refine":
        from refining import refine

        refine(given.work, given.folder, given.minutes, given.seed)
    elif given.step == "train":
        from training import train

        train(given.work, given.work / "voice.pt", given.minutes, given.batch, given.seed)
    else:
        from exporting import export

        export(given.work / "voice.pt", given.folder)


if __name__ == "__main__":
    main()
