"""The bundled data as files in a folder, to try every command on."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.sample import PROTECTIONS, sample_rows, sample_sets


def write_sample(folder: str, *, overwrite: bool) -> None:
    """Write the bundled scores with their keys, and the embeddings of each part, and say what is where."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise UsageError(f"{folder}: is a file; expected a folder")
    if home.is_dir() and any(home.iterdir()) and not overwrite:
        raise UsageError(f"{folder}: is not empty; --overwrite replaces the bundled files in it")
    try:
        _scores(home)
        _embeddings(home)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    conditions = "oo, oa, aa (original or anonymised enrolment against original or anonymised trials)"
    click.echo(f"{home}/scores/{{dev,eval}}: trials (the key) and the scores {conditions}")
    click.echo(
        f"{home}/embeddings/{{{','.join(('original', *PROTECTIONS))}}}: train, dev_enrol, dev_trial, eval_enrol, "
        "eval_trial (.npz with vectors, utterance, speaker, sex)"
    )


def _scores(home: Path) -> None:
    for split in ("dev", "eval"):
        target = home / "scores" / split
        target.mkdir(parents=True, exist_ok=True)
        for row in sample_rows(split):
            shutil.copyfile(row.scores, target / row.scores.name)
            shutil.copyfile(row.key, target / row.key.name)


def _embeddings(home: Path) -> None:
    for kind in ("original", *PROTECTIONS):
        target = home / "embeddings" / kind
        target.mkdir(parents=True, exist_ok=True)
        for name, part in sample_sets(kind).parts().items():
            assert part.speakers is not None
            np.savez(
                target / f"{name}.npz",
                vectors=part.vectors,
                utterance=part.ids,
                speaker=part.speakers,
                sex=part.attributes["sex"],
            )
