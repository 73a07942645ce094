"""Utility as in [Noé et al. 2022, table 4]: a PLDA of unprotected vectors, both sides protected, computed once more."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import logit
from scipy.stats import multivariate_normal
from sklearn.isotonic import IsotonicRegression

from zeroevidence import Embeddings, Options
from zeroevidence.protect import AttackOptions, LinearNuller, Roles, assess


def people(number=45, each=8, dimension=5):
    """People with unequal numbers of recordings, who differ by sex along one direction more than by anything else."""
    rng = np.random.default_rng(0)
    index = np.repeat(np.arange(number), each + np.arange(number) % 3)
    sex = np.arange(number) % 2
    voices = rng.normal(size=(number, dimension)) * [1.0, 1.5, 0.7, 1.2, 0.5]
    voices[:, 0] += 3.0 * sex
    vectors = voices[index] + 0.6 * rng.normal(size=(len(index), dimension)) + 2.0
    names = np.array([f"p{i:02d}" for i in index])
    ids = np.array([f"{name}-{i:04d}" for i, name in enumerate(names)])
    order = rng.permutation(len(index))
    return Embeddings(vectors[order], ids[order], names[order], {"sex": np.array(["f", "m"])[sex[index]][order]})


def shrunk(covariance, rows):
    """Mixed with a multiple of the identity as [Ledoit & Wolf 2004] have it for centred rows."""
    n, d = rows.shape
    sample = rows.T @ rows / n
    distance = ((sample - np.trace(sample) / d * np.eye(d)) ** 2).sum()
    noise = sum(((np.outer(row, row) - sample) ** 2).sum() for row in rows) / n**2
    share = min(noise, distance) / distance
    return (1.0 - share) * covariance + share * np.trace(covariance) / d * np.eye(d)


class TwoCovariances:
    """Speakers N(m, B), utterances around them N(0, W), by moments; vectors centred and of length sqrt(d)."""

    def __init__(self, x, names):
        self.centre = x.mean(axis=0)
        x = self.prepared(x)
        groups = [x[names == name] for name in np.unique(names)]
        sizes = np.array([len(group) for group in groups])
        self.mean, n, s = x.mean(axis=0), len(x), len(groups)
        inside = np.concatenate([group - group.mean(axis=0) for group in groups])
        outside = np.stack([np.sqrt(len(group)) * (group.mean(axis=0) - self.mean) for group in groups])
        within = inside.T @ inside / (n - s)
        between = (outside.T @ outside / (s - 1) - within) / ((n - (sizes**2).sum() / n) / (s - 1))
        self.within, between = shrunk(within, inside), shrunk(between, outside)
        values, axes = eigh(between, self.within)  # no direction has a negative variance
        back = np.linalg.inv(axes)
        self.between = (back.T * np.maximum(values, 0.0)) @ back

    def prepared(self, x):
        away = x - self.centre
        return np.sqrt(x.shape[1]) * away / np.linalg.norm(away, axis=1, keepdims=True)

    def llr(self, enrol, trial):
        """Log-densities of the pair, of one speaker and of two."""
        e, t = self.prepared(enrol), self.prepared(trial)
        d, total = len(self.mean), self.between + self.within
        one = np.block([[total, self.between], [self.between, total]])
        alone = multivariate_normal(self.mean, total)
        pairs = np.concatenate([np.tile(e, (len(t), 1)), np.repeat(t, len(e), axis=0)], axis=1)
        joint = multivariate_normal(np.tile(self.mean, 2), one).logpdf(pairs)
        return (joint - alone.logpdf(pairs[:, :d]) - alone.logpdf(pairs[:, d:])).reshape(len(t), len(e))


def rates(target, other):
    """EER where lines between points of the ROC cross the diagonal, and min Cllr by isotonic regression."""
    thresholds = np.concatenate([np.unique(np.concatenate([target, other])), [np.inf]])
    miss = np.array([(target < threshold).mean() for threshold in thresholds])
    alarm = np.array([(other >= threshold).mean() for threshold in thresholds])
    after = int(np.argmax(miss >= alarm))
    step, gap = np.diff(miss - alarm)[after - 1], (alarm - miss)[after - 1]
    eer = miss[after - 1] + gap / step * (miss[after] - miss[after - 1])
    scores = np.concatenate([target, other])
    share = IsotonicRegression().fit_transform(scores, np.repeat([1.0, 0.0], [len(target), len(other)]))
    with np.errstate(divide="ignore"):
        llr = logit(share) - np.log(len(target) / len(other))
    costs = np.logaddexp(0.0, -llr[: len(target)]).mean() + np.logaddexp(0.0, llr[len(target) :]).mean()
    return eer, 0.5 * costs / np.log(2.0)


def verified(model, x, names, ids):
    """The first half of each person's vectors, by name, against the rest."""
    enrolled, tried = [], []
    for name in np.unique(names):
        rows = np.flatnonzero(names == name)
        rows = rows[np.argsort(ids[rows])]
        enrolled.append(x[rows[: len(rows) // 2]].mean(axis=0))
        tried.append(x[rows[len(rows) // 2 :]])
    scores = model.llr(np.array(enrolled), np.concatenate(tried))
    same = np.repeat(np.arange(len(tried)), list(map(len, tried)))[:, None] == np.arange(len(enrolled))
    found = same[np.arange(len(scores)), scores.argmax(axis=1)]
    return *rates(scores[same], scores[~same]), found.mean()


@pytest.mark.parametrize("system", ["unprotected", "linear"])
def test_utility_is_that_of_an_independent_plda(system):
    roles = Roles.split(people(), "sex")
    train = roles.train
    nuller = LinearNuller().fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
    quick = Options(intervals=0, null=0)
    rows = assess({"linear": nuller}, roles, "sex", AttackOptions(["lda"], map_method="none"), quick)
    (row,) = (row for row in rows if row.about.role == "utility" and row.labels["system"] == system)
    sides = [roles.attack, roles.test]
    x, names, ids = (np.concatenate([getattr(side, part) for side in sides]) for part in ("vectors", "speakers", "ids"))
    model = TwoCovariances(train.vectors, train.speakers)  # of unprotected vectors
    eer, cllr_min, top1 = verified(model, nuller.transform(x, speakers=names) if system == "linear" else x, names, ids)
    assert 0.02 < eer < 0.45
    assert row.number("eer") == pytest.approx(eer, abs=1e-9)
    assert row.number("cllr_min") == pytest.approx(cllr_min, abs=1e-9)
    assert row.number("top1") == pytest.approx(top1, abs=1e-12)
