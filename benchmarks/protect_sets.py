"""Real embeddings with known sex that benchmarks of attribute protectors measure on, and workers to share the work."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.protect.assessment.labels import stratified_parts
from zeroevidence.protect.choice import Fold, split_people


@dataclass(frozen=True, slots=True)
class EmbeddingSet:
    """A title for tables, a file, and whether children are left out of it."""

    title: str
    file: str
    adults: bool = False

    def read(self, home, least_age):
        """Embeddings with the attribute `sex`; of adults, people of at least that age."""
        path = Path(home) / self.file
        if self.file.startswith("vpc2020"):
            return xvectors(path)
        data = read_embeddings(path)
        return data.take(np.load(path)["age"] >= least_age) if self.adults else data


SETS = {
    "vpc2020": EmbeddingSet("VPC 2020 x-vectors", "vpc2020_xvectors/samegender_f0orig.npz"),
    "audiomnist-ecapa": EmbeddingSet("AudioMNIST, ECAPA", "audiomnist_ecapa.npz"),
    "audiomnist-campplus": EmbeddingSet("AudioMNIST, CAM++", "audiomnist_campplus.npz"),
    "audiomnist-ge2e": EmbeddingSet("AudioMNIST, GE2E", "audiomnist_resemblyzer.npz"),
    "adults-ecapa": EmbeddingSet("speechocean762 adults, ECAPA", "speechocean_ecapa.npz", adults=True),
    "adults-campplus": EmbeddingSet("speechocean762 adults, CAM++", "speechocean_campplus.npz", adults=True),
}


def xvectors(path):
    """The original x-vectors of the VoicePrivacy 2020 test set, enrolment and trials together."""
    arrays = np.load(path)
    parts = ("enrolls_orig", "trials_f_orig", "trials_m_orig")
    x, utterance, speaker, sex = (
        np.concatenate([arrays[f"{part}_{key}"] for part in parts]) for key in ("x", "utt", "spk", "sex")
    )
    _, first = np.unique(utterance, return_index=True)
    return Embeddings(x[first], utterance[first], speaker[first], {"sex": sex[first]})


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A fold whose attacked half is cut again: a quarter of all people trains attackers, a quarter is tested."""

    fold: Fold
    tested: np.ndarray

    def sides(self, vectors):
        """The two quarters with these vectors."""
        everyone = self.fold.with_vectors(vectors)
        return everyone.take(~self.tested), everyone.take(self.tested)

    @property
    def attack(self):
        """The quarter that trains attackers, unprotected."""
        return self.sides(self.fold.others.vectors)[0]

    @property
    def test(self):
        """The quarter that is tested, unprotected."""
        return self.sides(self.fold.others.vectors)[1]


def cut_people(data, seed):
    """The people of each sex, cut at random."""
    fold = split_people(data, "sex", seed=seed)[0]
    return Cut(fold, stratified_parts(fold.others, "sex", 2, seed) == 1)


def add_set_options(parser):
    """Where the embeddings are, which to take, and how many processes."""
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--set", dest="sets", action="append", choices=SETS, help="these alone; may be repeated")
    parser.add_argument("--workers", type=int, default=1, help="processes that work at the same time")


def home_of(options):
    """The folder with the embeddings; the run ends where there is none."""
    home = options.data or Path(__file__).resolve().parents[2] / "shared" / "data" / "embeddings"
    if not home.is_dir():
        sys.exit(f"{home}: no such folder; name the one that holds the embeddings")
    return home


def worked(function, tasks, workers):
    """What a function makes of each task, in their order, as soon as it is there; one thread for each worker."""
    if workers == 1:
        yield from map(function, tasks)
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # read by the processes when they start
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(function, tasks)
