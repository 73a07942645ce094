"""What figures of a tandem are drawn of: its cost, score distributions, and thresholds."""

from __future__ import annotations

import numpy as np

from zeroevidence.data.tandem import KINDS
from zeroevidence.evaluation.rows.curves import Curve, Surface, as_curve, histograms, thinned
from zeroevidence.measure.tandem.cost import adcf_min
from zeroevidence.measure.tandem.tdcf import constrained_rates, tdcf_curve, tdcf_min, tdcf_surface, view_rates
from zeroevidence.measure.tandem.view import TandemView

_SURFACE_POINTS = 60


def tandem_curves(view: TandemView) -> dict[str, Curve]:
    """Cost of the tandem over the countermeasure's threshold, its minimum among the points."""
    rates = constrained_rates(view)
    if rates is None or view.cm is None:
        return {}
    cost = tdcf_curve(*view.cm, rates, view.model)
    keep = np.union1d(thinned(len(cost.tdcf)), [int(cost.tdcf.argmin())])
    return {"t_dcf": as_curve(cost.threshold[keep], cost.tdcf[keep])}


def tandem_surfaces(view: TandemView) -> dict[str, Surface]:
    """Cost over both thresholds, the countermeasure's (x) and the verifier's (y)."""
    if view.asv is None or view.cm is None:
        return {}
    surface = tdcf_surface(*view.asv, *view.cm, view.model, points=_SURFACE_POINTS)
    cm, asv = tuple(surface.threshold_cm.tolist()), tuple(surface.threshold_asv.tolist())
    return {"t_dcf": Surface(cm, asv, tuple(tuple(line) for line in surface.tdcf.tolist()))}


def tandem_profiles(view: TandemView) -> dict[str, Curve]:
    """Densities ``histogram_SIDE_KIND`` on common bins of a side, and ``threshold_SIDE`` with the rates there.

    A threshold is the one that was set beforehand, else that of the measures: the equal-error point of a verifier, the
    best of a countermeasure or a single system. The curve has one point for each kind of trial: the threshold, and the
    share of such trials that is accepted.
    """
    curves: dict[str, Curve] = {}
    for side, kinds in KINDS.items():
        if f"{side}_spoof" not in view.scores:
            continue
        classes = {f"{side}_{kind}": view.scores[f"{side}_{kind}"] for kind in kinds}
        curves |= histograms(classes)
        threshold = _threshold(view, side)
        if threshold is not None:
            shares = tuple(float((scores >= threshold).mean()) for scores in classes.values())
            curves[f"threshold_{side}"] = Curve((threshold,) * len(shares), shares)
    return curves


def _threshold(view: TandemView, side: str) -> float | None:
    if side == "asv":
        tandem_rates = view_rates(view)
        return None if tandem_rates is None else tandem_rates.threshold
    if side == "sasv":
        return None if view.sasv is None else adcf_min(*view.sasv, view.model).threshold
    rates = constrained_rates(view)
    if view.model.cm_threshold is not None or rates is None or view.cm is None:
        threshold: float | None = view.model.cm_threshold
        return threshold
    return tdcf_min(*view.cm, rates, view.model).threshold
