"""Do the intervals cover, and are the p-values honest? Simulated speaker-clustered scores with known truth.

    python benchmarks/validity.py [--simulations 500] [--replicates 400] [--workers 2]

A score is the sum of effects of the enrolment, of the trial's speaker, of the pair of speakers, of the utterance and of
chance, plus a shift for mated pairs. Over all speakers both classes are Gaussian with the same variance, so EER and
D_ECE have closed forms; the truth of ALID is the mean of many simulations under the same calibration. `coverage` is the
share of 95 % intervals that hold the truth: by speaker as the toolkit does it, and by single scores, as is usual. The
last lines test the p-values of the null against uniformity (Kolmogorov-Smirnov) when the shift is zero.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy import integrate, stats

from zeroevidence.calibrate.pav import pool, rank
from zeroevidence.calibrate.rows import AffineCalibration, fit_rows
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.options import Options
from zeroevidence.evaluation.search import lid_of_everyone, search
from zeroevidence.evaluation.trust import Replicates, replicate
from zeroevidence.measure.disclosure import row_evidence
from zeroevidence.measure.registry import find_measure
from zeroevidence.measure.verification import eer_of
from zeroevidence.measure.zebra import d_ece_of, evidence_gain
from zeroevidence.uncertainty.draws import run_batches
from zeroevidence.uncertainty.null import Null, PairNull, SearchNull
from zeroevidence.uncertainty.pairs import PairResampler
from zeroevidence.uncertainty.search import SearchResampler

EFFECTS = {"enrolment": 0.5, "speaker": 0.5, "pair": 0.5, "utterance": 0.5, "chance": 0.7}
UTTERANCES = 10
SHIFT = 1.5


def simulate(n_speakers, shift, seed):
    rng = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(n_speakers), UTTERANCES)
    n = len(speaker)
    scores = (
        EFFECTS["enrolment"] * rng.normal(size=(1, n_speakers))
        + EFFECTS["speaker"] * rng.normal(size=n_speakers)[speaker][:, None]
        + EFFECTS["pair"] * rng.normal(size=(n_speakers, n_speakers))[speaker]
        + EFFECTS["utterance"] * rng.normal(size=(n, 1))
        + EFFECTS["chance"] * rng.normal(size=(n, n_speakers))
    )
    scores[np.arange(n), speaker] += shift
    names = np.array([f"s{i}" for i in range(n_speakers)])
    return ScoreMatrix(scores, speaker, trial_speakers=names[speaker], enrolment_speakers=names)


def closed_forms(shift):
    d = shift**2 / sum(value**2 for value in EFFECTS.values())
    gain = integrate.quad(
        lambda a: stats.norm.pdf(a, d / 2, d**0.5) * float(evidence_gain(np.array([a]))[0]),
        -60,
        60,
        points=[0],
        limit=400,
    )[0]
    return {"eer": float(stats.norm.cdf(-np.sqrt(d) / 2)), "d_ece": 2 * gain / np.log(2)}


def calibration_and_truth(n_speakers, shift):
    """A calibration fitted on many speakers, and the ALID it gives on average."""
    many = [simulate(n_speakers, shift, (1, i)) for i in range(20)]
    fit = fit_rows(np.concatenate([m.scores for m in many]), np.concatenate([m.mated for m in many]))
    lids = [
        row_evidence(m.scores, m.mated, fit).lid.mean()
        for m in (simulate(n_speakers, shift, (2, i)) for i in range(20_000 // n_speakers))
    ]
    return fit, float(np.mean(lids))


def covered(job):
    """Whether the intervals of one simulation hold the truth: (measure, by speaker or score) -> bool."""
    n_speakers, replicates, seed, weight, truth = job
    matrix = simulate(n_speakers, SHIFT, (3, seed))
    scores = matrix.to_scores()
    ranked = rank(scores.target, scores.nontarget)
    options = Options(intervals=replicates, seed=seed)
    evidence = row_evidence(matrix.scores, matrix.mated, AffineCalibration("fixed", weight, 0.0, 0.0))
    values = {"eer": eer_of(ranked.counts), "d_ece": d_ece_of(pool(ranked.counts)), "alid": float(evidence.lid.mean())}
    result = {}

    def judge(found, how, names):
        for name in names:
            low, high = found.bounds(name, values[name], find_measure(name).interval(None), options)
            result[name, how] = low <= truth[name] <= high

    judge(replicate(scores, ranked, None, None, options), "speaker", ("eer", "d_ece"))
    naive = PairResampler(scores, ranked, options.pairs, by_score=True)
    judge(gathered(naive, naive.halves(128), {}, replicates), "score", ("eer", "d_ece"))
    singled = np.zeros(len(evidence.lid), dtype=np.int64)
    for how, clusters in (("speaker", matrix.mated), ("score", np.arange(len(evidence.lid)))):
        trials = SearchResampler(evidence, singled, clusters, seed=seed)
        judge(gathered(trials, {}, trials.jackknife(), replicates), how, ("alid",))
    return result


def gathered(resampler, halves, jackknife, replicates):
    parts = list(run_batches(resampler.draw, replicates))
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Replicates("", resampler.n_clusters, values, jackknife, halves)


def null_p_values(job):
    """P-values of D_ECE and ALID for scores that tell nothing."""
    n_speakers, seed = job
    matrix = simulate(n_speakers, 0.0, (4, seed))
    dev = simulate(n_speakers, 0.0, (5, seed))
    scores = matrix.to_scores()
    ranked = rank(scores.target, scores.nontarget)
    observed = d_ece_of(pool(ranked.counts))
    options = Options(linkability="pav", seed=seed)
    pairs = PairNull(scores.target, scores.nontarget, matrix, options.pairs)
    permuted = np.concatenate([part["d_ece"] for part in run_batches(pairs.draw, 199)])
    found = search(matrix, ScoreMatrix(dev.scores, dev.mated), options)
    rows = SearchNull(matrix, lid_of_everyone(matrix, found, options), seed)
    lids = np.concatenate([part["alid"] for part in run_batches(rows.draw, 199)])
    alid = float(found.evidence.lid.mean())
    return Null.under(observed, permuted).p_value, Null.under(alid, lids).p_value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=500)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--speakers", type=int, nargs="+", default=[5, 10, 30, 100])
    arguments = parser.parse_args()
    print("| speakers | measure | coverage by speaker | coverage by score |")
    print("| ---: | --- | ---: | ---: |")
    with ProcessPoolExecutor(arguments.workers) as processes:
        for n_speakers in arguments.speakers:
            fit, alid = calibration_and_truth(n_speakers, SHIFT)
            truth = {**closed_forms(SHIFT), "alid": alid}
            jobs = [(n_speakers, arguments.replicates, s, fit.weight, truth) for s in range(arguments.simulations)]
            results = list(processes.map(covered, jobs, chunksize=4))
            for name in ("eer", "d_ece", "alid"):
                shares = [100 * np.mean([r[name, how] for r in results]) for how in ("speaker", "score")]
                print(f"| {n_speakers} | `{name}` | {shares[0]:.1f} % | {shares[1]:.1f} % |", flush=True)
        values = np.array(
            list(processes.map(null_p_values, [(30, s) for s in range(arguments.simulations)], chunksize=4))
        )
    for index, name in enumerate(("d_ece", "alid")):
        p = stats.kstest(values[:, index], "uniform").pvalue
        share = 100 * np.mean(values[:, index] <= 0.05)
        print(f"null of {name}: Kolmogorov-Smirnov p = {p:.3f}; {share:.1f} % of the p-values are at most 0.05")


if __name__ == "__main__":
    main()
