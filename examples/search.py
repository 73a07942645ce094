"""Local Information Disclosure: posteriors, distributions, EER against LID, calibration (figures 1 to 5; tables 3, 4).

Systems lie between two bounds: `unprotected` speech, and `random`, embeddings of noise. The paper's two worked examples
(sections 4.1 and 5.2) are computed as well. Source: Šterns et al. 2026.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _shared import Sheet, number, run, searches

import zeroevidence as ze
from zeroevidence.calibrate.rows import AffineCalibration, fit_rows
from zeroevidence.measure.search.disclosure import row_evidence

_TABLE = (
    ("eer", "EER", 2, 1.0),
    ("cllr_min", "min Cllr", 2, 1.0),
    ("mean_rank_disclosure", "MeanD (bits)", 2, 1.0),
    ("alid", "ALID (bits)", 2, 1.0),
    ("pdr", "PDR (%)", 1, 100.0),
    ("ndr", "NDR (%)", 1, 100.0),
    ("lid_pos", "LID+ (bits)", 2, 1.0),
    ("lid_neg", "LID- (bits)", 2, 1.0),
    ("lid_max", "LID_max (bits)", 2, 1.0),
)


def make(sheet: Sheet, data: Path | None) -> None:
    """Evaluate all searches and draw them."""
    options = ze.Options(intervals=0, null=0)
    matrices = searches(data)
    rows = {
        name: ze.evaluate(matrix, dev=dev, labels={"system": name}, options=options)
        for name, (matrix, dev) in matrices.items()
    }
    system = rows["noise on embeddings" if data is None else "f0orig"]
    sheet.figure("search-fig1", "histogram", _scenarios(options))
    sheet.figure("search-fig2", "posterior", system)
    sheet.figure("search-fig2-histogram", "posterior", system, form="histogram")
    sheet.figure("search-priors", "lid-over-priors", list(rows.values()))
    sheet.figure("search-fig3", "lid-histogram", system)
    sheet.figure("search-fig4", "lid-ccdf", list(rows.values()))
    sheet.figure("search-fig5", "eer-lid", list(rows.values()), width=5.0)
    sheet.table("search-table3", ("experiment", "w", "b", "b less prior log-odds"), _calibrations(matrices))
    sheet.table(
        "search-table4",
        ("experiment", *(title for _, title, _, _ in _TABLE)),
        [(name, *(number(row, key, digits, scale) for key, _, digits, scale in _TABLE)) for name, row in rows.items()],
    )
    sheet.table("search-worked-examples", ("what", "value"), _worked())


def _calibrations(matrices: dict[str, tuple[ze.ScoreMatrix, ze.ScoreMatrix]]) -> list[tuple[str, str, str, str]]:
    """Affine calibrations learned on the other speakers."""
    lines = []
    for name, (_, dev) in matrices.items():
        fit = fit_rows(dev.scores, dev.mated)
        assert isinstance(fit, AffineCalibration)
        lines.append((name, f"{fit.weight:.2f}", f"{fit.bias:.2f}", f"{fit.bias - fit.prior_log_odds:.2f}"))
    return lines


def _scenarios(options: ze.Options) -> list[ze.Evaluation]:
    """Score distributions that overlap wholly, in part, and not at all."""
    rng = np.random.default_rng(0)
    return [
        ze.evaluate(
            ze.Scores(rng.normal(shift, 1.0, 2000), rng.normal(0.0, 1.0, 20_000)),
            labels={"system": name},
            options=options,
        )
        for name, shift in (("unlinkable", 0.0), ("semi-linkable", 2.0), ("fully linkable", 9.0))
    ]


def _worked() -> list[tuple[str, str]]:
    matrix = ze.ScoreMatrix(
        [[0.9, 0.8, 0.8, 0.8], [0.7, 0.6, 0.6, 0.6], [0.4, 0.5, 0.4, 0.4], [0.2, 0.2, 0.3, 0.2]], [0, 0, 1, 2]
    )
    pairs = ze.evaluate(matrix, options=ze.Options(intervals=0, null=0))
    calibration = AffineCalibration("by hand", 1.5, -1.0, float(np.log(1 / 5)))
    row = row_evidence(np.array([[0.9, 0.7, 0.4, 1.1, 1.2, 0.4]]), np.array([3]), calibration)
    return [
        ("section 4.1: EER", number(pairs, "eer")),
        ("section 4.1: top-1 accuracy", number(pairs, "top1")),
        ("section 5.2: posterior of the true identity", f"{row.posterior[0]:.2f}"),
        ("section 5.2: LID (bits)", f"{row.lid[0]:.2f}"),
    ]


if __name__ == "__main__":
    run(__doc__ or "", make)
