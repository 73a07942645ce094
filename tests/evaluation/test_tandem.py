"""Which spreads of a tandem allow for other attacks, and by how much."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence import Run
from zeroevidence.data.formats.asvspoof import read_tandem
from zeroevidence.data.formats.asvspoof_sides import TandemFiles
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.scores import TandemScores, TrialScores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.comparison import compare
from zeroevidence.evaluation.tandem import ALL, evaluate_tandem, tandem_spreads, trial_classes
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.verification import eer
from zeroevidence.measure.tandem.cost import CostModel, adcf_min, cm_cllr, cm_dcf, cm_dcf_min, cm_eer
from zeroevidence.measure.tandem.tdcf import (
    AsvRates,
    asv_rates,
    fixed_rates,
    tdcf_fixed_joint,
    tdcf_joint_min,
    tdcf_min,
)
from zeroevidence.measure.tandem.teer import teer
from zeroevidence.plot.rows import row_names
from zeroevidence.report import FORMATS, render
from zeroevidence.uncertainty.spread import estimate_spread

MODEL = CostModel.preset("2021")


def countermeasure(attacks, *, unlabelled=0):
    """Scores of a countermeasure that finds some attacks harder than others, and their labels."""
    rng = np.random.default_rng(1)
    attack = np.arange(800) % attacks
    names = np.array([f"A{i:02}" for i in attack])
    names[:unlabelled] = ""
    who = np.array([f"s{i}" for i in rng.integers(0, 20, 800)])
    spoof = TrialScores(rng.normal(0, 1, 800) + 2.0 * (attack % 2), speakers=who, attacks=names)
    return TandemScores(cm_bonafide=TrialScores(rng.normal(3, 1, 800), speakers=who), cm_spoof=spoof)


def spreads(scores):
    return tandem_spreads(trial_classes(scores)[0], (), MODEL, 200, 0)


@pytest.mark.parametrize(("attacks", "widened"), [(5, False), (6, True), (7, True)])
def test_six_attacks_are_the_fewest_that_stand_for_others(attacks, widened):
    assert spreads(countermeasure(attacks)).by_attack == widened


@pytest.mark.parametrize("unlabelled", [1, 800])
def test_every_spoof_must_say_how_it_was_made(unlabelled):
    assert not spreads(countermeasure(8, unlabelled=unlabelled)).by_attack


def test_the_spread_of_attacks_is_added_to_that_of_speakers():
    scores = countermeasure(6)
    found = spreads(scores).spreads[ALL]["cm_eer"]
    alone = spreads(countermeasure(6, unlabelled=1)).spreads[ALL]["cm_eer"]
    bonafide, spoof = scores.cm_bonafide.scores, scores.cm_spoof.scores
    without = np.array([cm_eer(bonafide, spoof[np.arange(800) % 6 != attack]) for attack in range(6)])
    attacks = estimate_spread(0.0, without, np.full(6, 1 / 6), 6.0)
    assert found.error == pytest.approx(np.hypot(alone.error, attacks.error))
    assert found.freedom == pytest.approx(alone.combine(attacks).freedom)
    assert found.people == 6.0


def test_spoofs_of_all_systems_must_say_how_they_were_made():
    rng = np.random.default_rng(2)
    scores = countermeasure(8)
    verifier = {f"asv_{kind}": TrialScores(rng.normal(size=90)) for kind in ("target", "nontarget", "spoof")}
    assert not spreads(TandemScores(**verifier, **scores.classes())).by_attack
    labelled = TrialScores(rng.normal(size=90), attacks=np.resize([f"A{i:02}" for i in range(8)], 90))
    assert spreads(TandemScores(**{**verifier, **scores.classes(), "asv_spoof": labelled})).by_attack


def tandem(seed=0, speakers=20, n=400):
    """A tandem whose trials belong to speakers, each with an offset of their own."""
    rng = np.random.default_rng(seed)
    offset = rng.normal(0, 1, speakers)

    def trials(mean, size, attacks=None):
        who = rng.integers(0, speakers, size)
        return TrialScores(
            rng.normal(mean, 1, size) + offset[who],
            speakers=np.array([f"s{i}" for i in who]),
            attacks=None if attacks is None else rng.choice(attacks, size),
        )

    return TandemScores(
        cm_bonafide=trials(3, n),
        cm_spoof=trials(0, n, ["A07", "A08"]),
        asv_target=trials(3, n),
        asv_nontarget=trials(0, n),
        asv_spoof=trials(2, n, ["A07", "A08"]),
    )


def without_speakers(scores):
    return TandemScores(
        **{name: TrialScores(trials.scores, attacks=trials.attacks) for name, trials in scores.classes().items()}
    )


@pytest.mark.parametrize("preset", ["2019", "2021", "asvspoof5"])
def test_rows_are_those_of_the_functions(preset):
    scores = tandem()
    rows = evaluate_tandem(scores, model=preset, by="attack", intervals=0, labels={"system": "x"})
    convention = "pooled" if preset == "asvspoof5" else "challenge"
    target, nontarget, bonafide = (
        getattr(scores, name).scores for name in ("asv_target", "asv_nontarget", "cm_bonafide")
    )
    shared = {"system": "x", "costs": f"{preset} ({'legacy' if preset == '2019' else 'revised'})"}
    assert [row.labels for row in rows] == [{**shared, "attack": name} for name in ("all", "A07", "A08")]
    for row, attack in zip(rows, (None, "A07", "A08"), strict=True):
        asv, cm = (
            part.scores if attack is None else part.scores[part.attacks == attack]
            for part in (scores.asv_spoof, scores.cm_spoof)
        )
        rates = asv_rates(target, nontarget, asv, convention=convention)
        behind = fixed_rates(CostModel.preset(preset)) or rates
        expected = {
            "tdcf_min": tdcf_min(bonafide, cm, behind, preset).tdcf_min,
            "tdcf_fixed_joint": tdcf_fixed_joint(bonafide, cm, rates, preset).tdcf_min,
            "tdcf_joint_min": tdcf_joint_min(target, nontarget, asv, bonafide, cm, preset).tdcf_min,
            "teer": teer(target, nontarget, asv, bonafide, cm, convention=convention).teer,
            "p_fa_spoof": rates.p_fa_spoof,
            "cm_eer": cm_eer(bonafide, cm),
            "cm_dcf_min": cm_dcf_min(bonafide, cm, preset).dcf,
        }
        assert {name: row.metrics[name].value for name in expected} == expected
        assert (row.counts["spoof"], row.counts["cm_spoof"]) == (len(asv), len(cm))
        assert set(row.metrics) <= set(MEASURES)
        assert all(metric.unit == MEASURES[name].unit for name, metric in row.metrics.items())
        assert all(metric.low is None for metric in row.metrics.values())
    assert ("organisers" if preset == "asvspoof5" else convention) in rows[0].metrics["tdcf_min"].method
    assert convention in rows[0].metrics["teer"].method
    assert f"|preset:{preset}|" in rows[0].signature
    assert f"|eer:{convention}|" in rows[0].signature


def test_asvspoof5_has_a_verifier_of_its_own():
    """The organisers' for the minimum and for the actual cost, whether scores of another are given or not."""
    scores = tandem()
    bonafide, spoof = scores.cm_bonafide.scores, scores.cm_spoof.scores
    alone = TandemScores.of(cm_bonafide=bonafide, cm_spoof=spoof)
    rates = AsvRates(p_miss=0.01880141010575793, p_fa=0.01881016557566423, p_fa_spoof=0.4607082907604729)
    expected = tdcf_min(bonafide, spoof, rates, "2021").tdcf_min
    model = replace(CostModel.preset("asvspoof5"), cm_threshold=1.5)
    rows = [evaluate_tandem(given, model=model, intervals=0)[0] for given in (alone, scores)]
    for row in rows:
        assert row["tdcf_min"].value == expected
        assert min(row.curves["t_dcf"].y) == pytest.approx(expected)
        assert row["tdcf_act"].value >= expected
        assert "ASV of the organisers" in row["tdcf_act"].method
    assert rows[0]["tdcf_act"].value == rows[1]["tdcf_act"].value
    assert "tdcf_min" not in evaluate_tandem(alone, model="2021", intervals=0)[0].metrics


def test_costs_of_two_forms_are_not_compared():
    """Rows under other costs are on another scale: tables name each, and no difference is taken."""
    rows = [evaluate_tandem(tandem(), model=p, intervals=20, labels={"system": p})[0] for p in ("2019", "2021")]
    assert rows[0]["tdcf_fixed_joint"].value == rows[1]["tdcf_fixed_joint"].value
    assert rows[0]["tdcf_fixed_joint"].low < float(rows[0]["tdcf_fixed_joint"]) < rows[0]["tdcf_fixed_joint"].high
    table = render(rows, "md")
    assert "2019 (legacy)" in table
    assert "2021 (revised)" in table
    assert row_names(rows) == ["2019, 2019 (legacy)", "2021, 2021 (revised)"]
    assert row_names([rows[0], replace(rows[0], labels={**rows[0].labels, "system": "x"})]) == ["2019", "x"]
    titles = [MEASURES[name].title for name in ("tdcf_min", "tdcf_act", "tdcf_fixed_joint", "tdcf_joint_min")]
    assert [re.search(r"\((\w+)\)$", title)[1] for title in titles] == ["constrained"] * 2 + ["unconstrained"] * 2
    with pytest.raises(UsageError, match="differ in the system alone"):
        compare(rows, ["tdcf_min"])


def test_countermeasure_alone_and_single_system():
    scores = tandem()
    bonafide, spoof = scores.cm_bonafide.scores, scores.cm_spoof.scores
    (row,) = evaluate_tandem(TandemScores.of(cm_bonafide=bonafide, cm_spoof=spoof), intervals=0)
    assert list(row.metrics) == ["cm_eer", "cm_cllr", "cm_dcf", "cm_dcf_min"]
    assert row.metrics["cm_cllr"].value == pytest.approx(cm_cllr(bonafide, spoof), rel=1e-12)
    assert row.metrics["cm_dcf"].value == cm_dcf(bonafide, spoof).dcf
    assert row.metrics["cm_dcf_min"].value == cm_dcf_min(bonafide, spoof).dcf
    assert row.counts == {"cm_bonafide": 400, "cm_spoof": 400}
    parts = [scores.asv_target.scores, scores.asv_nontarget.scores, scores.asv_spoof.scores]
    single = TandemScores.of(sasv_target=parts[0], sasv_nontarget=parts[1], sasv_spoof=parts[2])
    (row,) = evaluate_tandem(single, model="adcf-paper", intervals=0)
    assert row.metrics["adcf_min"].value == adcf_min(*parts, "adcf-paper").adcf
    assert row.counts == {"target": 400, "nontarget": 400, "spoof": 400}
    for form in FORMATS:
        assert row.signature in render([row], form)


def test_intervals_say_what_was_resampled():
    scores = tandem()
    (row,) = evaluate_tandem(scores)
    for name, metric in row.metrics.items():
        assert metric.low <= metric.high, name
        assert metric.method.endswith("interval by speaker"), name
    assert row.metrics["tdcf_min"].low < row.metrics["tdcf_min"].value < row.metrics["tdcf_min"].high
    assert "|spk:20|ci:speaker20|level:0.95|seed:0|" in row.signature
    assert row.flags == ()
    (alone,) = evaluate_tandem(without_speakers(scores), intervals=100)
    assert alone.metrics["teer"].method.endswith("interval by trial")
    assert "|spk:unknown|ci:trial100|" in alone.signature
    assert str(alone.flags[0]).startswith("speakers-unknown: intervals resample trials")
    # Speakers differ from each other, so pretending that trials are independent makes intervals too narrow.
    wide, narrow = (one.metrics["cm_eer"].high - one.metrics["cm_eer"].low for one in (row, alone))
    assert wide > 1.2 * narrow
    half = scores.cm_bonafide.speakers.copy()
    half[:100] = ""
    partly = TandemScores(**{**scores.classes(), "cm_bonafide": TrialScores(scores.cm_bonafide.scores, speakers=half)})
    (mixed,) = evaluate_tandem(partly, intervals=20)
    assert "|ci:speaker+trial20|" in mixed.signature
    assert "100 cm bonafide" in mixed.flags[0].sentence
    (few,) = evaluate_tandem(tandem(speakers=3), intervals=20)
    assert str(few.flags[0]).startswith("no-intervals: 3")
    assert few["cm_eer"].low is None


def test_all_attacks_together_stand_for_others_like_them():
    (few,), (many,) = (evaluate_tandem(countermeasure(number)) for number in (2, 8))
    assert few["cm_eer"].method.endswith("interval by speaker")
    assert many["cm_eer"].method.endswith("interval by speaker and attack")
    assert many["cm_eer"].high - many["cm_eer"].low > 2 * (few["cm_eer"].high - few["cm_eer"].low)
    assert many["cm_eer"].spread.freedom < 10
    by_attack = evaluate_tandem(countermeasure(8), by="attack")
    assert by_attack[0].metrics == many.metrics
    assert by_attack[1]["cm_eer"].method.endswith("interval by speaker")


def test_the_seed_decides_and_nothing_else():
    scores = tandem(n=60)
    first, again = (evaluate_tandem(scores, by="attack", intervals=30, run=Run(seed=1)) for _ in range(2))
    assert render(first, "json") == render(again, "json")
    other = evaluate_tandem(scores, by="attack", intervals=15, run=Run(seed=2))
    assert first[0].metrics["cm_eer"].low != other[0].metrics["cm_eer"].low
    assert first[0].metrics["cm_eer"].value == other[0].metrics["cm_eer"].value
    # The pooled row is the same with and without rows for attacks, and for any order of trials.
    assert evaluate_tandem(scores, intervals=30, run=Run(seed=1))[0].metrics["teer"] == first[0].metrics["teer"]
    turned = TandemScores(
        **{
            name: TrialScores(
                trials.scores[::-1],
                speakers=trials.speakers[::-1],
                attacks=None if trials.attacks is None else trials.attacks[::-1],
            )
            for name, trials in scores.classes().items()
        }
    )
    assert render(evaluate_tandem(turned, by="attack", intervals=30, run=Run(seed=1)), "json") == render(first, "json")


@slow
def test_by_trial_interval_covers_the_truth():
    rng = np.random.default_rng(3)
    hits = 0
    for seed in range(60):
        data = TandemScores.of(cm_bonafide=rng.normal(2, 1, 150), cm_spoof=rng.normal(0, 1, 150))
        metric = evaluate_tandem(data, intervals=100, run=Run(seed=seed))[0].metrics["cm_eer"]
        hits += metric.low <= 0.15865525393145707 <= metric.high  # Phi(-1)
    assert 50 <= hits <= 60


def test_values_without_a_class_are_left_out_and_told():
    data = TandemScores(
        cm_bonafide=TrialScores([2.0, 3.0], speakers=["a", "a"]), cm_spoof=TrialScores([0.0, 1.0], speakers=["b", "c"])
    )
    (row,) = evaluate_tandem(data)
    assert [flag.code for flag in row.flags] == ["no-intervals", "values-left-out"]
    assert row.metrics["cm_eer"].high is None


def test_errors():
    scores = tandem(n=30)
    missing = TandemScores(**{**scores.classes(), "cm_spoof": TrialScores(scores.cm_spoof.scores)})
    with pytest.raises(InputError, match="30 of 30 cm_spoof scores have no attack label"):
        evaluate_tandem(missing, by="attack")
    renamed = TrialScores(scores.cm_spoof.scores, attacks=np.full(30, "A99"))
    with pytest.raises(InputError, match="attack 'A99' has cm_spoof scores but no asv_spoof scores"):
        evaluate_tandem(TandemScores(**{**scores.classes(), "cm_spoof": renamed}), by="attack")
    with pytest.raises(InputError, match="unknown cost model '2020'"):
        evaluate_tandem(scores, model="2020")
    with pytest.raises(InputError, match="from 0 on"):
        evaluate_tandem(scores, intervals=-1)


def test_published_figures_of_rawgat_on_asvspoof_2019(shared):
    data = read_tandem(
        TandemFiles(
            shared / "scores/rawgat_st_cm/Scores.txt",
            shared / "scores/asvspoof2019_la_asv/ASVspoof2019.LA.asv.eval.gi.trl.scores.txt",
            asv_key=shared / "scores/asvspoof2019_la_protocols/ASVspoof2019.LA.asv.eval.gi.trl.txt",
        )
    ).data
    rows = evaluate_tandem(data, model="2019", by="attack", intervals=0)
    assert [row.labels["attack"] for row in rows] == ["all", *(f"A{i:02d}" for i in range(7, 20))]
    pooled = rows[0].metrics
    # Tak et al., "End-to-end spectro-temporal graph attention networks ...", ASVspoof workshop 2021.
    assert round(pooled["tdcf_min"].value, 4) == 0.0335
    assert round(100 * pooled["cm_eer"].value, 2) == 1.06
    assert round(100 * pooled["asv_eer"].value, 3) == 2.458
    assert all(row.counts["spoof"] == row.counts["cm_spoof"] == 4914 for row in rows[1:])
    for preset, fixed in (("2021", 0.0942), ("2019", 0.0335)):
        (row,) = evaluate_tandem(data, model=preset, intervals=0)
        by_name = {name: round(row[name].value, 4) for name in ("tdcf_min", "tdcf_fixed_joint", "tdcf_joint_min")}
        assert by_name == {"tdcf_min": fixed, "tdcf_fixed_joint": 0.0642, "tdcf_joint_min": 0.0441}
    (row,) = evaluate_tandem(data, model="adcf", intervals=0)  # the same costs, without the scripts' convention
    assert float(row["tdcf_fixed_joint"]) == pytest.approx(_unconstrained(data), rel=1e-12)
    worst = max(rows[1:], key=lambda row: row.metrics["tdcf_min"].value)
    assert worst.labels["attack"] == "A17"
    hardest = sorted(rows[1:], key=lambda row: -row.metrics["cm_eer"].value)[:2]
    assert [row.labels["attack"] for row in hardest] == ["A18", "A17"]
    assert rows[0].counts == {
        "target": 5370, "nontarget": 33327, "spoof": 63882, "cm_bonafide": 7355, "cm_spoof": 63882, "speakers": 48
    }  # fmt: skip
    assert json.loads(render(rows, "json"))["rows"][11]["labels"] == {"attack": "A17", "costs": "2019 (legacy)"}


def _unconstrained(data):
    """The cost of seed 002 in plain NumPy, the verifier where its rates of misses and false alarms differ least."""
    asv = [np.sort(getattr(data, f"asv_{kind}").scores) for kind in ("target", "nontarget", "spoof")]
    cm = [np.sort(getattr(data, f"cm_{kind}").scores) for kind in ("bonafide", "spoof")]
    thresholds = np.concatenate(asv[:2])
    below = [np.searchsorted(scores, thresholds) / len(scores) for scores in asv]
    at = np.argmin(np.abs(below[0] - (1.0 - below[1])))
    miss, alarm, spoofed = below[0][at], 1.0 - below[1][at], 1.0 - below[2][at]
    rejected, fake = (np.searchsorted(scores, np.append(np.concatenate(cm), np.inf)) / len(scores) for scores in cm)
    cost = 0.9405 * (rejected + (1 - rejected) * miss) + 10 * 0.0095 * (1 - rejected) * alarm
    return np.min(cost + 10 * 0.05 * (1 - fake) * spoofed) / min(0.9405, 10 * 0.0095 + 10 * 0.05)


@pytest.mark.parametrize(
    ("preset", "priors", "costs", "value"),
    [("adcf", (0.9405, 0.0095, 0.05), (1, 10, 10), 0.6001), ("adcf-paper", (0.9, 0.05, 0.05), (1, 10, 20), 0.6576)],
)
def test_development_verifier_of_2019(shared, preset, priors, costs, value):
    """The a-DCF of Shim et al. 2024 in plain NumPy: at every threshold, over the better of accepting and rejecting."""
    folder = shared / "scores"
    scores = folder / "asvspoof2019_la_asv/ASVspoof2019.LA.asv.dev.gi.trl.scores.txt"
    data = read_tandem(
        TandemFiles(sasv=scores, asv_key=folder / "asvspoof2019_la_protocols/ASVspoof2019.LA.asv.dev.gi.trl.txt")
    ).data
    (row,) = evaluate_tandem(data, model=preset, intervals=0)
    assert round(100 * row.metrics["sv_eer"].value, 3) == 2.426
    _, kind, score = np.loadtxt(scores, dtype=str).T
    score = score.astype(float)
    accepted = [
        1.0 - np.searchsorted(np.sort(score[kind == name]), np.append(score, np.inf)) / np.sum(kind == name)
        for name in ("target", "nontarget", "spoof")
    ]
    weight = np.multiply(priors, costs)
    cost = weight[0] * (1.0 - accepted[0]) + weight[1] * accepted[1] + weight[2] * accepted[2]
    expected = cost.min() / min(weight[0], weight[1] + weight[2])
    assert row.metrics["adcf_min"].value == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(value, abs=5e-5)


def test_sample_of_the_2019_package(shared):
    folder = shared / "scores/asvspoof2019_tdcf_v1_sample"
    with pytest.raises(InputError, match=r"cm_dev.txt:1681: duplicate of 'p257/p257_225' \(first on line 925\)"):
        read_tandem(TandemFiles(folder / "cm_dev.txt", folder / "asv_dev.txt"))
    loaded = read_tandem(
        TandemFiles(folder / "cm_dev.txt", folder / "asv_dev.txt", reading=ReadingOptions(duplicates="keep-all"))
    )
    (row,) = evaluate_tandem(loaded, model="2019", intervals=0)
    assert round(100 * row.metrics["asv_eer"].value, 3) == 4.437
    assert "|cm-duplicates:keep-all:3780|" in row.signature


def test_thresholds_that_were_set_beforehand():
    scores = tandem()
    model = CostModel(pi_tar=0.9, pi_non=0.05, pi_spoof=0.05, asv_threshold=1.0, cm_threshold=1.5)
    (row,) = evaluate_tandem(scores, model=model, intervals=20)
    miss, passed = np.mean(scores.cm_bonafide.scores < 1.5), np.mean(scores.cm_spoof.scores >= 1.5)
    asv = [np.mean(getattr(scores, f"asv_{kind}").scores >= 1.0) for kind in ("target", "nontarget", "spoof")]
    by_hand = {"a": (1 - miss) * (1 - asv[0]), "b": (1 - miss) * asv[1], "c": passed * asv[2], "d": miss}
    assert row["tdcf_errors"].value == pytest.approx(by_hand)
    cost = 0.9 * (by_hand["a"] + by_hand["d"]) + 0.5 * by_hand["b"] + 0.5 * by_hand["c"]
    verifier = 0.9 * (1 - asv[0]) + 0.5 * asv[1]
    assert row["tdcf_act"].value == pytest.approx(cost / (verifier + min(0.9 - verifier, 0.5 * asv[2])))
    assert row["tdcf_act"].value >= row["tdcf_min"].value
    assert row["tdcf_act"].method.startswith("revised, CM at 1.5, ASV at 1")
    assert row["tdcf_act"].low < row["tdcf_act"].value < row["tdcf_act"].high
    assert "|asv-at:1|cm-at:1.5|" in row.signature
    assert row.curves["threshold_asv"].y == pytest.approx(asv)
    assert row.curves["threshold_cm"].x == (1.5, 1.5)
    (plain,) = evaluate_tandem(scores, intervals=0)
    assert "tdcf_act" not in plain
    with pytest.raises(InputError, match="cm_threshold is NaN"):
        CostModel(pi_tar=0.9, pi_non=0.05, pi_spoof=0.05, cm_threshold=float("nan"))


def test_people_are_left_out_also_where_they_are_heard():
    rng = np.random.default_rng(0)
    people = np.array([f"s{i:02d}" for i in range(12)])
    said = np.array([f"u{i:02d}" for i in range(12)])
    claimed, heard = (one.ravel() for one in np.meshgrid(np.arange(12), np.arange(12)))
    other = claimed != heard
    claimed, heard = claimed[other], heard[other]
    target, nontarget = rng.normal(2.0, 1.0, 12), rng.normal(0.0, 1.0, len(heard)) + 0.5 * heard / 12
    scores = TandemScores(
        cm_bonafide=TrialScores(rng.normal(2.0, 1.0, 12), people, said),
        cm_spoof=TrialScores(rng.normal(0.0, 1.0, 12), people),
        asv_target=TrialScores(target, people, said),
        asv_nontarget=TrialScores(nontarget, people[claimed], said[heard]),
        asv_spoof=TrialScores(rng.normal(1.0, 1.0, 12), people),
    )
    (row,) = evaluate_tandem(scores)
    values = np.array(
        [eer(np.delete(target, one), nontarget[(claimed != one) & (heard != one)]) for one in range(len(people))]
    )
    error = np.sqrt(11 / 12 * ((values - values.mean()) ** 2).sum())
    assert row["asv_eer"].spread.error == pytest.approx(error, rel=1e-9)
