"""Make the bundled sample of a protection that hides voices: speechocean762 sentences, before and after a cascade.

    python scripts/make_sample_cascade.py WORK [--speech ../shared/data/speechocean] [--people 24]

Some people, evenly over their names, are anonymised into WORK with the protector `cascade` (extra `cascade`), and both
kinds of speech are embedded by CAM++ as it comes with this package. What WORK holds already is not anonymised again.
Recordings that the cascade refuses are left out on both sides. Vectors are stored in half precision.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path

import numpy as np

from zeroevidence.attack.extractors.extractor import load_extractor
from zeroevidence.auditing.inputs.left_out import read_usable
from zeroevidence.data.speech.audio import load_audio
from zeroevidence.protect.anonymising.anonymise import anonymise
from zeroevidence.protect.anonymising.release import CARD

PROTECTION, ENCODER, RATE = "cascade", "campplus", 16_000
HOME = Path(__file__).resolve().parents[1] / "src" / "zeroevidence" / "sample"


def write_original(work: Path, speech: Path, people: int) -> Path:
    """Write the table of the chosen people, without roles, and return its folder."""
    with (speech / "utterances.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    names = sorted({row["speaker"] for row in rows})
    names = names[:: len(names) // people][:people]
    original = work / "original"
    original.mkdir(parents=True, exist_ok=True)
    with (original / "utterances.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("utterance", "speaker", "path", "sex"))
        for row in rows:
            if row["speaker"] in names:
                path = os.path.relpath(speech / row["path"], original)
                writer.writerow((row["utterance"], row["speaker"], path, row["sex"]))
    return original


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--people", type=int, default=24)
    given = parser.parse_args()
    original, protected = write_original(given.work, given.speech.absolute(), given.people), given.work / "anonymised"
    if not (protected / CARD).exists():
        anonymise(original, protected, protect=PROTECTION)
    corpus, _ = read_usable(original, [protected])
    encoder = load_extractor(ENCODER)
    vectors = {
        name: np.concatenate([encoder.embed([load_audio(each, RATE)]) for each in speech]).astype(np.float16)
        for name, speech in (("original", corpus), ("protected", corpus.replaced(protected)))
    }
    np.savez_compressed(
        HOME / "speechocean_cascade.npz",
        utterance=[each.id for each in corpus],
        speaker=[each.speaker for each in corpus],
        sex=[each.attributes["sex"] for each in corpus],
        **vectors,
    )


if __name__ == "__main__":
    main()
