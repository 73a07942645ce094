"""Breakdown by attack: each row is what the single functions say of that attack alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zeroevidence.errors import InputError
from zeroevidence.measure.tandem.by_attack import by_attack
from zeroevidence.measure.tandem.cost import CostModel, cm_eer
from zeroevidence.measure.tandem.tdcf import asv_rates, fixed_rates, tdcf_joint_min, tdcf_min
from zeroevidence.measure.tandem.teer import teer

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    labels = np.repeat(["B", "A", "C"], 60)
    return {
        "asv_target": rng.normal(3, 1, 80),
        "asv_nontarget": rng.normal(0, 1, 90),
        "asv_spoof": rng.normal(np.repeat([2.0, 1.0, 0.0], 60), 1),
        "asv_attack": labels,
        "cm_bonafide": rng.normal(2, 1, 170),
        "cm_spoof": rng.normal(np.repeat([0.0, 1.0, -9.0], 60), 1),
        "cm_attack": labels.tolist(),
    }


@pytest.mark.parametrize("model", ["2019", "2021", "asvspoof5"])
def test_rows_are_the_single_measures(scored, model):
    table = by_attack(**scored, model=model)
    assert [row.attack for row in table.attacks] == ["A", "B", "C"]
    convention = "pooled" if model == "asvspoof5" else "challenge"
    tar, non, bona = scored["asv_target"], scored["asv_nontarget"], scored["cm_bonafide"]
    for row in (table.pooled, *table.attacks):
        of = np.array([row.attack in (None, label) for label in scored["cm_attack"]])
        asv, cm = scored["asv_spoof"][of], scored["cm_spoof"][of]
        rates = asv_rates(tar, non, asv, convention=convention)
        assert (row.n_asv, row.n_cm, row.p_fa_spoof) == (of.sum(), of.sum(), rates.p_fa_spoof)
        behind = fixed_rates(CostModel.preset(model)) or rates
        assert row.tdcf_min == tdcf_min(bona, cm, behind, model).tdcf_min
        assert row.tdcf_joint_min == tdcf_joint_min(tar, non, asv, bona, cm, model).tdcf_min
        assert row.teer == teer(tar, non, asv, bona, cm, convention=convention).teer
        assert row.cm_eer == cm_eer(bona, cm)


def test_order_of_trials_does_not_matter(scored):
    order = np.random.default_rng(1).permutation(180)
    moved = dict(scored)
    moved["cm_spoof"], moved["cm_attack"] = scored["cm_spoof"][order], np.array(scored["cm_attack"])[order]
    assert by_attack(**moved) == by_attack(**scored)


def test_attack_that_never_passes_the_verifier(scored):
    scored["asv_spoof"][scored["asv_attack"] == "C"] = -np.inf
    row = by_attack(**scored, model="2019").attacks[2]
    assert (row.p_fa_spoof, row.tdcf_min) == (0.0, 1.0)


def test_errors(scored):
    wrong = {**scored, "cm_attack": ["X", *scored["cm_attack"][1:]]}
    with pytest.raises(InputError, match="attack X has CM scores but no ASV scores"):
        by_attack(**wrong)
    wrong = {**scored, "asv_attack": np.array(["Y", *scored["asv_attack"][1:]])}
    with pytest.raises(InputError, match="attack Y has ASV scores but no CM scores"):
        by_attack(**wrong)
    with pytest.raises(InputError, match="180 CM spoof scores but 3 attack labels"):
        by_attack(**{**scored, "cm_attack": ["A", "B", "C"]})
    with pytest.raises(InputError, match="no CM spoof scores"):
        by_attack(**{**scored, "cm_spoof": [], "cm_attack": []})


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared reference data are not beside the project")
def test_asvspoof_2019_evaluation():
    """RawGAT-ST: the table of 13 attacks; A17 and A18 are its hardest for the CM (Tak et al. 2021)."""

    def rows(path):
        return np.array([line.split() for line in (DATA / "scores" / path).read_text().splitlines()])

    asv, cm = (
        rows("asvspoof2019_la_asv/ASVspoof2019.LA.asv.eval.gi.trl.scores.txt"),
        rows("rawgat_st_cm/Scores.txt"),
    )
    asv_score, cm_score = asv[:, 2].astype(float), cm[:, 3].astype(float)
    asv_spoof, cm_spoof = asv[:, 1] == "spoof", cm[:, 2] == "spoof"
    table = by_attack(
        asv_score[asv[:, 1] == "target"],
        asv_score[asv[:, 1] == "nontarget"],
        asv_score[asv_spoof],
        asv[asv_spoof, 0],
        cm_score[~cm_spoof],
        cm_score[cm_spoof],
        cm[cm_spoof, 1],
        "2019",
    )
    assert [row.attack for row in table.attacks] == [f"A{k:02d}" for k in range(7, 20)]
    assert {row.n_cm for row in table.attacks} == {4914}
    assert round(table.pooled.tdcf_min, 4) == 0.0335
    hardest = sorted(table.attacks, key=lambda row: -row.cm_eer)[:2]
    assert [row.attack for row in hardest] == ["A18", "A17"]
