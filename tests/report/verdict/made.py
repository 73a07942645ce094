"""Rows made by hand, for sentences that depend on single facts."""

from dataclasses import replace
from types import SimpleNamespace

import zeroevidence as ze
from tests.report.conftest import THREATS
from zeroevidence.evaluation import MeasureResult, Setup
from zeroevidence.evaluation.rows.curves import People
from zeroevidence.evaluation.rows.setup import Resampling
from zeroevidence.report.verdict import verdict
from zeroevidence.uncertainty.null import Null

P_VALUES = {"beaten": 0.001, "at-chance": 0.6, "untested": None}
AGAINST = SimpleNamespace(**THREATS)
SETUP = Setup(recorded="ZE", null=Resampling("speaker", 999))


def tested(value, unit, chance, **limits):
    """A measure that beats chance, is at chance, or was not tested."""
    p_value = P_VALUES[chance]
    null = None if p_value is None else Null(0.0, 0.0)
    return MeasureResult(value, unit, null=null, p_value=p_value, **limits)


def listed_people(linked, *, named=None, falsely=None, trials=5, bits=0.1):
    """People whose recordings get the right name this often."""
    count = len(linked)
    names = tuple(f"p{i:02d}" for i in range(count))
    return People(names, (trials,) * count, (bits,) * count, (bits,) * count, tuple(linked), falsely, named)


def search_row(top1=0.3, alid=0.5, chance="beaten", *, people=None, about=None, speakers=20, limits=None, **labels):
    """A search through twenty identities; `limits` are those of top-1 and of ALID."""
    top_limits, bit_limits = limits or ({}, {})
    metrics = {"top1": tested(top1, "rate", chance, **top_limits), "alid": tested(alid, "bit", chance, **bit_limits)}
    if people is not None and people.named is not None:
        metrics["people_named"] = MeasureResult(sum(people.named) / len(people.named), "rate", low=0.02, bound=0.9)
    counts = {"identities": 20, "trials": 5 * speakers, "speakers": speakers}
    return ze.Evaluation(metrics, counts, SETUP, labels or {"system": "s"}, about or ze.About(), people=people)


def pairs_row(d_ece=0.1, eer=0.3, chance="beaten", *, about=None, limits=None, **labels):
    """Single comparisons; `limits` are those of D_ECE and of the EER."""
    evidence_limits, error_limits = limits or ({"low": 0.5 * d_ece, "high": 1.01 * d_ece}, {})
    metrics = {"d_ece": tested(d_ece, "bit", chance, **evidence_limits)}
    if eer is not None:
        metrics["eer"] = MeasureResult(eer, "rate", **error_limits)
    counts = {"target": 60, "nontarget": 600}
    return ze.Evaluation(metrics, counts, SETUP, labels or {"system": "s"}, about or ze.About())


def attribute_row(system, value, chance="beaten", *, role="attack", attacker="logistic", name="sex", **about):
    """Evidence that a classifier finds of an attribute."""
    labels = {"system": system, "split": "test", "attacker": attacker}
    described = ze.About("attribute", role, attribute=name, **about)
    metrics, counts = {"d_ece": tested(value, "bit", chance, low=0.0, high=value)}, {"target": 9, "nontarget": 9}
    return ze.Evaluation(metrics, counts, SETUP, labels, described)


def developed(row, bits):
    """The row of an attacker who learned so many bits of development people."""
    return replace(row, about=replace(row.about, development=bits))


def control(chance="beaten", **labels):
    """The same people without protection."""
    return search_row(1.0, 4.0, chance, about=AGAINST.control, **{"system": "unprotected", **labels})


def too_coarse():
    """Two rows, each beyond chance by itself, whose joint test cannot say."""
    rows = [search_row(system=system) for system in "st"]
    return [row.with_metrics({name: replace(row[name], p_value=0.03) for name in ("top1", "alid")}) for row in rows]


def headline(*rows):
    """The headline of a verdict."""
    return verdict(rows).headline


def text(*rows):
    """The paragraph of a verdict, with plain spaces."""
    return verdict(rows).paragraph.replace("\u00a0", " ")


def short(*rows):
    """The summary of a verdict as one text, with plain spaces."""
    return " ".join(verdict(rows).summary).replace("\u00a0", " ")


def paragraph(*rows):
    """The paragraph for an impact assessment, with plain spaces."""
    return verdict(rows).assessment.replace("\u00a0", " ")


def check_sides(part, sentence, said, unsaid):
    """A sentence stands in a part of the verdict on each list of rows in `said`, and on none in `unsaid`."""
    for rows, expected in [*((rows, True) for rows in said), *((rows, False) for rows in unsaid)]:
        assert (sentence in part(*rows)) == expected, (sentence, part(*rows))


def check_own_rows(part, cases):
    """Each sentence stands in a part of the verdict on its own rows, and on those of no other sentence."""
    for sentence in cases:
        assert [other for other, rows in cases.items() if sentence in part(*rows)] == [sentence]
