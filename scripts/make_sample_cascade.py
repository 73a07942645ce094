"""Make the bundled sample of a protection that passes: sentences that a recogniser transcribed and one voice read.

    zeroevidence anonymise ../shared/data/speechocean -o CASCADE --protect cascade
    python scripts/make_sample_cascade.py CASCADE WORK

People are shared out as in `speechocean_campplus.npz`, whose vectors of original speech belong to this sample, too.
Recordings without a transcript are missing, and so are evaluated people who have no enrolment or no trial left. The
encoder that is fine-tuned on the cascade of the `train` and `dev` people is kept in WORK. Vectors are stored in half
precision.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from pathlib import Path

import numpy as np

from zeroevidence.attack.extractors import load_extractor
from zeroevidence.data.audio import load_audio

ENCODER = "campplus"
HOME = Path(__file__).resolve().parents[1] / "src" / "zeroevidence" / "sample"


def transcribed_files(cascade: Path) -> dict[str, Path]:
    """The files of the cascade by utterance."""
    with (cascade / "utterances.tsv").open(encoding="utf-8") as file:
        places = {row["utterance"]: cascade / row["path"] for row in csv.DictReader(file, delimiter="\t")}
    return {name: path.absolute() for name, path in places.items() if path.exists()}


def train(table: Path, attacker: Path) -> None:
    """Fine-tune the encoder, unless that has been done."""
    if not (attacker / "card.json").exists():
        command = [sys.executable, "-m", "zeroevidence", "train-attacker", str(table), "-o", str(attacker)]
        subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cascade", type=Path)
    parser.add_argument("work", type=Path)
    arguments = parser.parse_args()
    files = transcribed_files(arguments.cascade)
    with np.load(HOME / "speechocean_campplus.npz") as data:
        arrays = {name: data[name] for name in ("utterance", "speaker", "sex", "role", "split")}
    usable = np.isin(arrays["utterance"], list(files))
    evaluated = arrays["split"] == "eval"
    complete = set.intersection(
        *(set(arrays["speaker"][usable & evaluated & (arrays["role"] == role)]) for role in ("enrol", "trial"))
    )
    kept = usable & (~evaluated | np.isin(arrays["speaker"], list(complete)))
    arrays = {name: values[kept] for name, values in arrays.items()}

    arguments.work.mkdir(parents=True, exist_ok=True)
    table = arguments.work / "learn.tsv"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("utterance", "speaker", "path"))
        for name, speaker, split in zip(arrays["utterance"], arrays["speaker"], arrays["split"], strict=True):
            if split != "eval":
                writer.writerow((name, speaker, files[name]))
    train(table, arguments.work / "attacker")

    waves = [load_audio(files[name], 16_000) for name in arrays["utterance"]]
    for kind, encoder in (("protected", ENCODER), ("trained", str(arguments.work / "attacker" / "card.json"))):
        extractor = load_extractor(encoder)
        arrays[kind] = np.concatenate([extractor.embed([wave]) for wave in waves]).astype(np.float16)
    np.savez_compressed(HOME / "speechocean_cascade.npz", **arrays)


if __name__ == "__main__":
    main()
