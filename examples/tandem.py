"""Tandem detection cost: the t-DCF of a countermeasure before a verifier, over one threshold and over both.

Synthetic scores with the priors and costs of ASVspoof 2019 and 2021, as on the talk's slides; with --data the real
scores of ASVspoof 2019 LA (verifier) and RawGAT-ST (countermeasure). Source: Nautsch's talk on metrics in VoicePrivacy
and ASVspoof, 2021.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _shared import Sheet, number, run

from zeroevidence.data.formats.asvspoof import read_tandem
from zeroevidence.data.formats.asvspoof_sides import TandemFiles
from zeroevidence.data.scores import TandemScores
from zeroevidence.evaluation.tandem import evaluate_tandem
from zeroevidence.measure.measures import MEASURES


def make(sheet: Sheet, data: Path | None) -> None:
    """Evaluate with both cost models and draw the newer one."""
    scores = _synthetic() if data is None else _real(data / "scores")
    rows = [evaluate_tandem(scores, model=preset, intervals=0)[0] for preset in ("2019", "2021")]
    sheet.figure("tandem-curve", "t-dcf", rows)
    sheet.figure("tandem-scores", "tandem-scores", rows[1])
    sheet.figure("tandem-surface", "t-dcf-surface", rows[1])
    names = ("tdcf_min", "tdcf_fixed_joint", "tdcf_joint_min", "teer", "asv_eer", "cm_eer")
    sheet.table(
        "tandem-results",
        ("costs", *(MEASURES[name].title for name in names)),
        [(row.labels["costs"], *(number(row, name, 4) for name in names)) for row in rows],
    )


def _synthetic() -> TandemScores:
    rng = np.random.default_rng(0)
    return TandemScores.of(
        asv_target=rng.normal(4.0, 1.0, 2000),
        asv_nontarget=rng.normal(0.0, 1.0, 2000),
        asv_spoof=rng.normal(3.0, 1.0, 2000),
        cm_bonafide=rng.normal(3.0, 1.0, 2000),
        cm_spoof=rng.normal(0.0, 1.0, 2000),
    )


def _real(home: Path) -> TandemScores:
    asv = "ASVspoof2019.LA.asv.eval.gi.trl"
    return read_tandem(
        TandemFiles(
            str(home / "rawgat_st_cm" / "Scores.txt"),
            str(home / "asvspoof2019_la_asv" / f"{asv}.scores.txt"),
            asv_key=str(home / "asvspoof2019_la_protocols" / f"{asv}.txt"),
        )
    ).data


if __name__ == "__main__":
    run(__doc__ or "", make)
