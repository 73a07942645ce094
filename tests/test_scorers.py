"""Measures for other libraries."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

import zeroevidence as ze


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.3
    return labels, rng.normal(size=400) + 1.5 * labels


@pytest.mark.parametrize("name", ze.scorers.__all__)
def test_scorers_are_the_measures(data, name):
    labels, scores = data
    expected = getattr(ze, name)(scores[labels], scores[~labels])
    scorer = getattr(ze.scorers, name)
    assert scorer(labels, scores) == expected
    assert scorer(labels.astype(int), scores.tolist()) == expected
    assert scorer(np.where(labels, "yes", "no"), scores) == expected


def test_models_are_chosen_by_them(data):
    labels, scores = data
    rng = np.random.default_rng(1)
    features = np.stack((scores, *rng.normal(size=(20, len(scores)))), axis=1)
    scorer = make_scorer(ze.scorers.eer, response_method="decision_function", greater_is_better=False)
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, scoring=scorer, cv=3).fit(features, labels)
    assert -0.5 < search.best_score_ < 0.0


@pytest.mark.parametrize(
    ("labels", "scores", "reason"),
    [
        ([1, 0], [0.1, 0.2, 0.3], "a label for each"),
        ([1, 1], [0.1, 0.2], "expected two classes, got 1"),
        ([0, 1], [0.1, np.nan], "NaN at position 1"),
    ],
)
def test_what_they_refuse(labels, scores, reason):
    with pytest.raises(ValueError, match=reason):
        ze.scorers.eer(labels, scores)


def test_metrics_of_training_loops(data):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from torchmetrics import MetricCollection

    from zeroevidence.contrib.torchmetrics import DisclosedEvidence, EqualErrorRate

    labels, scores = data
    metrics = MetricCollection([EqualErrorRate(), DisclosedEvidence()])
    for part in np.array_split(np.arange(len(scores)), 7):
        metrics.update(torch.tensor(scores[part]), torch.tensor(labels[part]))
    values = {name: float(value) for name, value in metrics.compute().items()}
    expected = {"EqualErrorRate": ze.scorers.eer, "DisclosedEvidence": ze.scorers.d_ece}
    assert values == pytest.approx({name: measure(labels, scores) for name, measure in expected.items()})
    metric = EqualErrorRate()
    metric.update(torch.tensor([0.1, 0.9], requires_grad=True), torch.tensor([0, 1]))
    assert float(metric.compute()) == 0.0
    metric.reset()
    assert metric.preds == []
