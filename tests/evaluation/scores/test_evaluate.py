"""The one call: what it holds, what it signs, and that it agrees with the functions it is made of."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.evaluation import add_similarity, joint_signature
from zeroevidence.measure.measures import MEASURES

QUICK = ze.Options(intervals=0, null=0)


def evaluate(data, options=QUICK, **more):
    """Without intervals and nulls, which are tested elsewhere."""
    return ze.evaluate(data, options=options, **more)


def gaussian(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(1, 1, 100), rng.normal(0, 1, 900)


def test_values_are_those_of_the_functions():
    target, nontarget = gaussian()
    result = evaluate(ze.Scores(target, nontarget))
    for name in ("eer", "cllr_min", "dcf_act", "dcf_min", "d_ece", "worst_case", "tag", "tag_counts", "linkability"):
        assert result.metrics[name].value == getattr(ze, name)(target, nontarget), name
    # sums over sorted scores round differently
    assert result.metrics["cllr"].value == pytest.approx(ze.cllr(target, nontarget), rel=1e-14)
    assert result.metrics["eer_rocch"].value == ze.eer(target, nontarget, method="rocch")
    assert result.metrics["tpr_at_fpr"].value == {
        f"{level:g}": rate for level, rate in ze.tpr_at_fpr(target, nontarget).items()
    }
    assert result.counts == {"target": 100, "nontarget": 900}
    assert set(result.metrics) <= set(MEASURES)


def test_signature_says_what_matters_and_nothing_else():
    target, nontarget = gaussian()
    signature = evaluate(ze.Scores(target, nontarget)).signature
    assert signature.startswith("ZE|one-to-one|cal:pav|ties:pooled|linkability:density|")
    assert "|n:100+900|" in signature
    assert signature.endswith(f"|v:{ze.__version__}")
    shuffled = ze.Scores(target[::-1], nontarget[::-1])
    assert evaluate(shuffled).signature == signature
    assert evaluate(ze.Scores(nontarget, target)).signature != signature
    changed = target.copy()
    changed[0] = np.nextafter(changed[0], 9)
    assert evaluate(ze.Scores(changed, nontarget)).signature != signature
    other = ze.Options(linkability="pav", intervals=0, null=0)
    assert "|linkability:pav|" in evaluate(ze.Scores(target, nontarget), options=other).signature
    assert "|missing:3|" in evaluate(ze.Scores(target, nontarget), relaxed=[RelaxedRule("missing", 3)]).signature


def test_single_precision_is_signed_like_the_same_numbers_in_double():
    target, nontarget = (a.astype(np.float32) for a in gaussian())
    double = ze.Scores(target.astype(np.float64), nontarget.astype(np.float64))
    assert evaluate(ze.Scores(target, nontarget)).signature == evaluate(double).signature


def test_joint_signature():
    one = evaluate(ze.Scores(*gaussian()))
    two = evaluate(ze.Scores(*gaussian(1)))
    signatures = [one.signature, two.signature]
    assert joint_signature(signatures[:1]) == one.signature
    assert joint_signature(signatures).startswith("ZE|rows:2|")
    assert joint_signature(signatures) != joint_signature(signatures[::-1])


def test_results_cannot_be_changed():
    result = evaluate(ze.Scores(*gaussian()))
    with pytest.raises(TypeError):
        result.metrics["eer"] = None
    with pytest.raises(AttributeError):
        result.metrics["eer"].value = 0.5


def test_similarity_is_added_beside_the_original_row():
    from zeroevidence.data.formats.scores.read import read_scores
    from zeroevidence.sample import sample_rows

    rows = []
    for row in sample_rows():
        data = read_scores(row.scores, row.key).data
        rows.append((evaluate(data, labels=row.labels, about=row.about), data))
    plain, crossed, both = add_similarity(rows)
    assert "deid" not in plain.metrics
    matrices = [ze.similarity_matrix(data)[0] for _, data in rows]
    assert crossed.metrics["deid"].value == ze.deid(matrices[0], matrices[1])
    assert both.metrics["voice_distinctiveness_gain"].value == ze.voice_distinctiveness_gain(matrices[0], matrices[2])
    assert add_similarity(rows[1:])[0].metrics.keys() == rows[1][0].metrics.keys()


def test_every_public_name_can_be_imported():
    for name in ze.__all__:
        assert getattr(ze, name) is not None
    assert set(ze.__all__) <= set(dir(ze))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ze.nonsense
