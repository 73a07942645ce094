"""The one-to-one measures against one `np.sort` of all scores, in the same run.

    python benchmarks/one_to_one.py [--largest]

`measures` are EER, ROCCH-EER, min Cllr, D_ECE, worst case, tag counts and the 201-point minimum ECE profile;
`with cllr` adds actual Cllr and `pav` linkability; `single` is the same in single precision. Memory is the peak, the
scores included, in multiples of the scores.
"""

from __future__ import annotations

import argparse
import tracemalloc

import numpy as np
from timing import best, best_of_each

from zeroevidence.calibrate.pav import pool, pool_laplace, rank
from zeroevidence.measure.pairs.linkability import linkability_of
from zeroevidence.measure.pairs.verification import cllr, cllr_of, eer_of
from zeroevidence.measure.pairs.zebra import d_ece_of, ece_min_of, tag_counts_of, worst_case_of
from zeroevidence.measure.views import PairSettings


def measures(target, nontarget, with_cllr=False):
    ranked = rank(target, nontarget)
    blocks = pool(ranked.counts)
    laplace = pool_laplace(blocks)
    values = [
        eer_of(ranked.counts),
        eer_of(blocks),
        cllr_of(blocks),
        d_ece_of(blocks),
        worst_case_of(laplace),
    ]
    extra = [tag_counts_of(laplace), ece_min_of(blocks)]
    if with_cllr:
        values += [cllr(ranked.target, ranked.nontarget), linkability_of(ranked, PairSettings("pav"), blocks)]
    return values, extra


def draw(kind, n_target, n_nontarget, rng):
    if kind == "heavy tails":
        return rng.standard_t(1, n_target) + 2, rng.standard_t(1, n_nontarget)
    target, nontarget = rng.normal(2, 1, n_target), rng.normal(0, 1, n_nontarget)
    if kind == "ties":
        return np.round(target * 20) / 20, np.round(nontarget * 20) / 20
    return target, nontarget


def peak_over_scores(target, nontarget):
    tracemalloc.start()
    measures(target, nontarget, with_cllr=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return 1 + peak / (target.nbytes + nontarget.nbytes)


def other_libraries(target, nontarget):
    """Times of other libraries that are installed, for one measure each."""
    scores = np.concatenate((target, nontarget))
    labels = np.repeat([1, 0], (len(target), len(nontarget)))
    rows = {}
    try:
        from sklearn.isotonic import IsotonicRegression
        from sklearn.metrics import roc_curve

        rows["scikit-learn isotonic"] = lambda: IsotonicRegression().fit_transform(scores, labels)
        rows["scikit-learn ROC"] = lambda: roc_curve(labels, scores)
    except ImportError:
        print("  scikit-learn is not installed")
    try:
        from lir.data.models import LLRData
        from lir.metrics import cllr_min as lir_cllr_min

        data = LLRData(features=scores[:, None], labels=labels)
        lir_cllr_min(data)
        rows["lir min Cllr"] = lambda: lir_cllr_min(data)
    except Exception as error:
        print(f"  lir is not used: {error}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", action="store_true", help="only 10^5 + 10^7 scores, without other libraries")
    largest_only = parser.parse_args().largest
    rng = np.random.default_rng(0)
    sizes = [(10**5, 10**7)] if largest_only else [(10**3, 10**5), (10**4, 10**6), (10**5, 10**7)]
    for n_target, n_nontarget in sizes:
        for kind in ("gaussian", "ties", "heavy tails"):
            target, nontarget = draw(kind, n_target, n_nontarget, rng)
            both = np.concatenate((target, nontarget))
            single = target.astype(np.float32), nontarget.astype(np.float32)
            times = best_of_each(
                {
                    "sort": lambda both=both: np.sort(both),
                    "measures": lambda t=target, n=nontarget: measures(t, n),
                    "with cllr": lambda t=target, n=nontarget: measures(t, n, with_cllr=True),
                    "single": lambda single=single: measures(*single),
                },
                repeats=7,
            )
            floor = times["sort"]
            print(
                f"{n_target:.0e}+{n_nontarget:.0e} {kind:12s} sort {1e3 * floor:8.2f} ms   "
                + "   ".join(f"{name} {times[name] / floor:5.2f}" for name in ("measures", "with cllr", "single"))
                + f"   memory {peak_over_scores(target, nontarget):.2f}"
            )
            if kind == "gaussian" and n_nontarget < 10**7:
                for name, function in other_libraries(target, nontarget).items():
                    print(f"    {name}: {best(function, 2) / floor:.1f}")


if __name__ == "__main__":
    main()
