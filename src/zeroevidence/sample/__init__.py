"""Real scores and embeddings that come with the package; their data card is README.md beside this file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence.auditing import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import Material, threat_from_sides
from zeroevidence.evaluation import About
from zeroevidence.evaluation.reading.score_files import ScoreFile

_HOME = Path(__file__).parent / "scores"
_EMBEDDINGS = Path(__file__).parent / "audiomnist_ecapa.npz"
_SENTENCES = Path(__file__).parent / "speechocean_campplus.npz"
_CASCADE = Path(__file__).parent / "speechocean_cascade.npz"
EXTRACTOR = "ECAPA-TDNN (VoxCeleb)"
# Name in the file, and the protector as the command line knows it.
PROTECTIONS = {"mcadams": "mcadams-random", "pitch": "pitch:4"}
THREEFOLD = "mcadams+pitch+formant"  # of sentences
CASCADE = "cascade"  # of the same sentences, as far as a recogniser understands them
SPLITS = ("dev", "eval")
_CONDITIONS: dict[str, tuple[Material, Material]] = {
    "oo": ("original", "original"),
    "oa": ("original", "anonymised"),
    "aa": ("anonymised", "anonymised"),
}


def sample_rows(split: str = "eval") -> list[ScoreFile]:
    """The three conditions of one split, ``dev`` or ``eval``: score files with their key, labels and attacker."""
    folder = _HOME / split
    labels = {"system": "embedding noise", "dataset": "audiomnist", "split": split}
    return [
        ScoreFile(
            str(folder / f"{condition}.scores"),
            str(folder / "trials"),
            labels=labels,
            about=About.against(threat_from_sides(*sides, "original")),
        )
        for condition, sides in _CONDITIONS.items()
    ]


def sample_sets(kind: str) -> EmbeddingSets:
    """Bundled embeddings of AudioMNIST speech: ``original``, or protected by ``mcadams`` or ``pitch``."""
    return _sets(_EMBEDDINGS, kind)


def sentence_sets(kind: str) -> EmbeddingSets:
    """Bundled embeddings of speechocean762 sentences: ``original``, ``protected``, or ``trained``.

    The last are of protected speech too, by an encoder that was fine-tuned on protected speech of other people.
    """
    return _sets(_SENTENCES, kind)


def cascade_sets(kind: str) -> EmbeddingSets:
    """Bundled embeddings of the sentences that a cascade understood: ``original``, ``protected``, or ``trained``."""
    if kind != "original":
        return _sets(_CASCADE, kind)
    with np.load(_CASCADE) as data:
        return _sets(_SENTENCES, kind, data["utterance"])


def _sets(file: Path, kind: str, only: np.ndarray | None = None) -> EmbeddingSets:
    """Read embeddings of a kind; those of some utterances alone where `only` names them."""
    with np.load(file) as data:
        at = slice(None) if only is None else np.isin(data["utterance"], only)
        vectors, sex = data[kind][at].astype(np.float32), data["sex"][at]
        embeddings = Embeddings(vectors, data["utterance"][at], data["speaker"][at], {"sex": sex})
        return EmbeddingSets.from_roles(embeddings, data["split"][at], data["role"][at])
