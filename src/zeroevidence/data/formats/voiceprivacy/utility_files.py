"""Utility files of a kit: transcripts that a recogniser wrote, and tables of the kit's own results.

``exp/asr/<set><suffix>/text`` is what the kits' recogniser wrote (2024 and later), ``data/<set>[<suffix>]/text`` the
reference. Tables are ``result_for_rank<suffix>``, ``results<suffix>.csv`` and, of 2020 and 2022, ``results.txt``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from zeroevidence.data.formats.voiceprivacy.published_tables import is_summary
from zeroevidence.data.formats.voiceprivacy.result_folders import kit_files
from zeroevidence.data.threat import UNPROTECTED, Training

_SET = re.compile(r"(?P<set>(?P<dataset>[^_]+)_(?P<split>[^_]+)(?:_asr)?)(?P<suffix>(?:_.+)?)")
_TABLE = re.compile(r"result_for_rank.*|results.*\.csv|results\.txt")


@dataclass(frozen=True, slots=True)
class KitTranscripts:
    """Transcripts of one set.

    Parameters
    ----------
    heard
        What the recogniser wrote.
    said
        The reference transcripts.
    speakers
        ``utt2spk`` beside the reference, None where there is none.
    labels
        System, data set and split, from the names of folders.
    speech
        Whether the speech is original or anonymised.
    """

    heard: Path
    said: Path
    speakers: Path | None
    labels: dict[str, str]
    speech: Training


def find_kit_transcripts(folder: str | Path, *, key: str | Path | None = None) -> list[KitTranscripts]:
    """Return the recogniser's transcripts under a kit's folder whose references are there.

    Parameters
    ----------
    folder
        The folder of the kit.
    key
        The ``data`` folder; otherwise ``data`` is looked for upwards.
    """
    transcripts = []
    for heard in kit_files(Path(folder)):
        if heard.name != "text" or not heard.parent.parent.name.startswith("asr"):
            continue
        match = _SET.fullmatch(heard.parent.name)
        said = None if match is None else _transcripts(heard, key, (heard.parent.name, match["set"]))
        if match is None or said is None:
            continue
        speakers = said.parent / "utt2spk"
        system = match["suffix"].removeprefix("_") or UNPROTECTED
        labels = {"system": system, "dataset": match["dataset"], "split": match["split"]}
        speech: Training = "anonymised" if match["suffix"] else "original"
        transcripts.append(KitTranscripts(heard, said, speakers if speakers.is_file() else None, labels, speech))
    return transcripts


def find_tables(folder: str | Path) -> list[Path]:
    """Return the tables of results under a kit's folder."""
    return [file for file in kit_files(Path(folder)) if _TABLE.fullmatch(file.name) and is_summary(file)]


def _transcripts(heard: Path, key: str | Path | None, names: tuple[str, ...]) -> Path | None:
    homes = (
        [Path(key), Path(key) / "data"] if key is not None else [folder / "data" for folder in heard.absolute().parents]
    )
    files = (home / name / "text" for home in homes for name in names)
    return next((file for file in files if file.is_file()), None)
