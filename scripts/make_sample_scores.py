"""Make the bundled sample: cosine scores of AudioMNIST speech, plain and with noise on the embeddings.

    python scripts/make_sample_scores.py EMBEDDINGS.npz

EMBEDDINGS.npz holds `vectors`, `utterance`, `speaker` and `sex`, one row per utterance of ten spoken digits. The
speakers are split into halves, dev and eval, balanced in sex; each is enrolled with the mean of eight utterances, and
others are the trials.
Protection is Gaussian noise, drawn anew for every utterance, of `NOISE` times the length of the embedding.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

NOISE = 6.0
ENROL_UTTERANCES = 8
TRIALS = {"dev": 3, "eval": 5}
SEED = 20260101
HOME = Path(__file__).resolve().parents[1] / "src" / "zeroevidence" / "sample" / "scores"


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("embeddings", type=Path)
    data = np.load(parser.parse_args().embeddings)
    order = np.argsort(data["utterance"])
    utterance, speaker, sex = (data[name][order] for name in ("utterance", "speaker", "sex"))
    plain = unit(data["vectors"][order].astype(np.float64))
    noise = np.random.default_rng(SEED).normal(size=plain.shape) * NOISE / np.sqrt(plain.shape[1])
    noisy = unit(plain + noise)

    people = {s: [name for name in np.unique(speaker) if sex[speaker == name][0] == s] for s in ("F", "M")}
    splits = {"dev": people["F"][0::2] + people["M"][0::2], "eval": people["F"][1::2] + people["M"][1::2]}
    for split, names in splits.items():
        folder = HOME / split
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(names)
        rows = {name: np.flatnonzero(speaker == name) for name in names}
        trials = [i for name in names for i in rows[name][ENROL_UTTERANCES : ENROL_UTTERANCES + TRIALS[split]]]
        for condition, enrol, trial in (("oo", plain, plain), ("oa", plain, noisy), ("aa", noisy, noisy)):
            profiles = unit(np.stack([enrol[rows[name][:ENROL_UTTERANCES]].mean(axis=0) for name in names]))
            scores = profiles @ trial[trials].T
            lines = [
                f"{name} {utterance[t]} {scores[i, j]:.4f}\n"
                for i, name in enumerate(names)
                for j, t in enumerate(trials)
            ]
            (folder / f"{condition}.scores").write_text("".join(lines), encoding="utf-8")
        key = [
            f"{name} {utterance[t]} {'target' if speaker[t] == name else 'nontarget'}\n"
            for name in names
            for t in trials
        ]
        (folder / "trials").write_text("".join(key), encoding="utf-8")


if __name__ == "__main__":
    main()
