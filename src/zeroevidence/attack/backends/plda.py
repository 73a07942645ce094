r"""Two-covariance PLDA: log-likelihood ratios of "same speaker" against "different speakers".

The model is of Ioffe (2006), in the form of Brümmer & de Villiers (2010): a speaker is :math:`b \sim N(\mu, B)`, an
utterance of that speaker :math:`x = b + w,\ w \sim N(0, W)`. Both covariances are fitted by moments (analysis of
variance), which needs no iterations and no starting point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.attack.backends import BACKENDS, BackendKind, VectorEstimator, as_matrix, grouped, unit
from zeroevidence.errors import InputError, UsageError

Shrinkage: TypeAlias = float | Literal["auto"]


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """Mean, between-speaker and within-speaker covariance."""

    mean: FloatArray
    between: FloatArray
    within: FloatArray


def covariances(vectors: FloatArray, speakers: StrArray, *, shrinkage: Shrinkage = 0.0) -> Covariances:
    r"""Return unbiased between- and within-speaker covariances for any numbers of utterances :math:`n_i` per speaker.

    .. math::

        W = \frac{1}{n - S} \sum_{ij} (x_{ij} - m_i)(x_{ij} - m_i)', \quad
        B = \frac{1}{n_0} \Bigl(\frac{1}{S - 1} \sum_i n_i (m_i - m)(m_i - m)' - W\Bigr), \quad
        n_0 = \frac{1}{S - 1} \Bigl(n - \frac{\sum_i n_i^2}{n}\Bigr)

    B of few speakers may have negative eigenvalues; `Plda` puts them to zero.

    Parameters
    ----------
    vectors
        Embeddings, n x d.
    speakers
        Speaker of each.
    shrinkage
        Share of both covariances that is replaced by a multiple of the identity with the same trace; ``auto`` takes
        that of Ledoit & Wolf (2004), for W from the deviations of utterances and for B from those of speakers. It
        vanishes as utterances and speakers grow in number.
    """
    x, index, counts, means = grouped(vectors, speakers)
    total, people = len(x), len(counts)
    if total == people:
        raise InputError("every training speaker has one utterance; the spread within a speaker needs two of somebody")
    inside = x - means[index]
    mean = x.mean(axis=0)
    outside = np.sqrt(counts)[:, None] * (means - mean)
    within = inside.T @ inside / (total - people)
    effective = (total - (counts**2).sum() / total) / (people - 1)
    between = (outside.T @ outside / (people - 1) - within) / effective
    if shrinkage == "auto":
        share_within, share_between = ledoit_wolf_share(inside), ledoit_wolf_share(outside)
    else:
        if not 0.0 <= shrinkage <= 1.0:
            raise UsageError(f"shrinkage: expected auto, or a share from 0 to 1, got {shrinkage}")
        share_within = share_between = float(shrinkage)
    return Covariances(mean, _shrunk(between, share_between), _shrunk(within, share_within))


def ledoit_wolf_share(deviations: FloatArray) -> float:
    r"""Return the share of the covariance of centred vectors, n x d, that Ledoit & Wolf (2004) replace.

    With :math:`S = \frac{1}{n} \sum_i x_i x_i'` and :math:`\mu = \operatorname{tr} S / d`,

    .. math::

        \min\Bigl(1, \frac{\sum_i |x_i|^4 / n - |S|^2}{n (|S|^2 - d \mu^2)}\Bigr)

    scikit-learn has the same function; to import it would take each process of an audit a second and 100 MB.
    """
    n, d = deviations.shape
    lengths = np.einsum("ij,ij->i", deviations, deviations)
    spread = float(np.sum((deviations.T @ deviations / n) ** 2))
    distance = spread - float(np.mean(lengths)) ** 2 / d
    error = min((float(np.mean(lengths**2)) - spread) / n, distance)
    return error / distance if error > 0.0 else 0.0


def _shrunk(covariance: FloatArray, share: float) -> FloatArray:
    level = max(float(np.trace(covariance)), 0.0) / len(covariance)
    return (1.0 - share) * covariance + share * level * np.eye(len(covariance))


def diagonalise(between: FloatArray, within: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the map A (d x d) with ``A' W A = I`` and ``A' B A = diag(psi)``, and psi from the largest down."""
    from scipy.linalg import eigh

    values, axes = np.linalg.eigh(within)
    if values[0] <= 1e-12 * max(values[-1], np.finfo(float).tiny):
        raise InputError(
            "the spread within speakers has directions without variance; use shrinkage='auto', fewer LDA dimensions or "
            "more training utterances"
        )
    whiten = axes / np.sqrt(values)
    psi, turn = eigh(whiten.T @ between @ whiten)
    return (whiten @ turn)[:, ::-1], psi[::-1]


class Plda(VectorEstimator):
    """Two-covariance PLDA after centring, optional LDA and optional length normalisation.

    The steps and their order are those of the Kaldi x-vector recipes: the mean of an enrolled speaker's embeddings is
    centred, projected and brought to length sqrt(d) like one utterance, and enters the model as one utterance. The
    mean of k utterances has less spread; `score` takes the numbers as `utterances` for the exact score of the model,
    without length normalisation.

    Parameters
    ----------
    lda
        Dimensions to keep, at most speakers - 1; None for no projection.
    length_norm
        Bring vectors to length sqrt(d) [Garcia-Romero & Espy-Wilson 2011].
    shrinkage
        See `covariances`.

    Attributes
    ----------
    between_
        Between-speaker covariance in the projected space, without negative eigenvalues.
    within_
        Within-speaker covariance there.
    mean_
        Mean there.

    Examples
    --------
    Three people who stand far apart along the first axis; the trial is near the first of two profiles:

    >>> import numpy as np
    >>> from zeroevidence.attack.backends.plda import Plda
    >>> train = np.array([[-4.0, 0.2], [-4.2, -0.1], [0.1, 0.3], [-0.2, -0.2], [4.0, 0.1], [4.3, -0.3]])
    >>> plda = Plda(length_norm=False).fit(train, np.repeat(["ada", "bob", "cyd"], 2))
    >>> plda
    Plda(length_norm=False)
    >>> scores = plda.score(np.array([[-4.1, 0.0], [4.1, 0.0]]), np.array([[-3.9, 0.1]]))
    >>> (scores > 0.0).tolist()
    [[True, False]]
    """

    def __init__(self, *, lda: int | None = None, length_norm: bool = True, shrinkage: Shrinkage = "auto") -> None:
        self.lda = lda
        self.length_norm = length_norm
        self.shrinkage = shrinkage

    @property
    def name(self) -> str:
        """Name in tables."""
        return "plda" if self.lda is None else f"plda{self.lda}"

    def fit(self, vectors: FloatArray, speakers: StrArray) -> Self:
        """Learn centre, projection and covariances."""
        x = as_matrix(vectors)
        self.centre_ = x.mean(axis=0)
        self.projection_ = None if self.lda is None else self._lda(x - self.centre_, speakers)
        model = covariances(self._projected(x), speakers, shrinkage=self.shrinkage)
        axes, psi = diagonalise(model.between, model.within)
        psi = np.maximum(psi, 0.0)
        back = np.linalg.inv(axes)
        self.mean_, self.within_ = model.mean, model.within
        self.between_ = (back.T * psi) @ back
        self.axes_, self.psi_ = axes, psi
        return self

    def _lda(self, x: FloatArray, speakers: StrArray) -> FloatArray:
        """Return the directions of the largest ratio of spread between and within speakers, of total variance one."""
        assert self.lda is not None
        people = len(np.unique(speakers))
        if not 1 <= self.lda <= min(x.shape[1], people - 1):
            raise UsageError(
                f"lda: {people} training speakers in {x.shape[1]} dimensions allow 1 to "
                f"{min(x.shape[1], people - 1)} directions, got {self.lda}"
            )
        model = covariances(x, speakers, shrinkage=self.shrinkage)
        axes, psi = diagonalise(model.between, model.within)
        return axes[:, : self.lda] / np.sqrt(1.0 + np.maximum(psi[: self.lda], 0.0))

    def _projected(self, x: FloatArray) -> FloatArray:
        x = x - self.centre_
        if self.projection_ is not None:
            x = x @ self.projection_
        return unit(x) * np.sqrt(x.shape[1]) if self.length_norm else x

    def transform(self, vectors: FloatArray) -> FloatArray:
        """Return vectors as the model takes them: centred, projected, of length sqrt(d)."""
        if not hasattr(self, "psi_"):
            raise UsageError("this PLDA back-end is not trained: call fit on training vectors first")
        return self._projected(as_matrix(vectors, len(self.centre_)))

    def score(self, enrol: FloatArray, trial: FloatArray, *, utterances: IntArray | None = None) -> FloatArray:
        r"""Return natural-log likelihood ratios, T x N.

        In the coordinates where W is the identity and B is diag(psi), with a profile e that averages k utterances,

        .. math::

            \ln \frac{p(t \mid e)}{p(t)} = \sum_d \tfrac12 \Bigl[\ln \frac{1 + \psi}{v} + \frac{t^2}{1 + \psi}
            - \frac{(t - c e)^2}{v}\Bigr], \quad c = \frac{\psi}{\psi + 1/k}, \quad v = 1 + \frac{c}{k}

        Parameters
        ----------
        enrol
            Profiles, N x d.
        trial
            Trials, T x d.
        utterances
            How many utterances each profile averages; by default one each, see the class.
        """
        t = (self.transform(trial) - self.mean_) @ self.axes_
        e = (self.transform(enrol) - self.mean_) @ self.axes_
        k = np.ones(len(e)) if utterances is None else np.asarray(utterances, dtype=np.float64)
        if k.shape != (len(e),) or (k < 1.0).any():
            raise InputError("utterances: expected one whole number of at least 1 per profile")
        scores = np.empty((len(t), len(e)))
        squares = t**2
        for number in np.unique(k):
            at = np.flatnonzero(k == number)
            c = self.psi_ / (self.psi_ + 1.0 / number)
            v = 1.0 + c / number
            of_trial = squares @ (0.5 / (1.0 + self.psi_) - 0.5 / v)
            of_enrol = (e[at] ** 2) @ (0.5 * c**2 / v)
            constant = 0.5 * float(np.sum(np.log1p(self.psi_) - np.log(v)))
            scores[:, at] = t @ (e[at] * (c / v)).T + of_trial[:, None] - of_enrol[None, :] + constant
        return scores


BACKENDS.add(
    BackendKind(
        "plda",
        "Log-likelihood ratio of one speaker against two, by two-covariance PLDA",
        ("centre", "covariances"),
        Plda,
    )
)
