"""The default protector as a transformer: whatever is strongest within a limit for the data it is fitted to."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError
from zeroevidence.protect.fitting import fit

_ATTRIBUTE = "attribute"


class DefaultProtector(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The strongest protection within a limit; see `zeroevidence.protect.fit`.

    Parameters
    ----------
    limit
        A limit on EER or D_ECE, as in ``eer=+1%``; fitting raises an InputError where no protector keeps to it. None:
        one point of EER above that of unprotected vectors, or the nearest to it; without noise where nobody can be
        verified.
    random_state
        Seed of all random choices of fitting.

    Attributes
    ----------
    protector_
        The protector that was chosen and fitted.
    choice_
        How it was chosen; None where nobody can be verified.

    Examples
    --------
    >>> from zeroevidence.protect import DefaultProtector
    >>> x = np.random.default_rng(0).normal(size=(40, 4))
    >>> unnamed = DefaultProtector().fit(x, np.repeat(["f", "m"], 20))  # nobody is named: no EER, no noise
    >>> unnamed.protector_, unnamed.choice_ is None
    (Transport(), True)
    """

    def __init__(self, limit: str | None = None, random_state: int = 0) -> None:
        self.limit = limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, speakers: Any = None) -> Self:
        """Choose a protector for vectors (n x d) and their labels, and fit it."""
        if y is None:
            raise InputError(
                "DefaultProtector requires y to be passed, but the target y is None; expected the attribute to "
                "conceal, one label per row"
            )
        vectors, labels = self._validated(X, y)
        data = Embeddings(vectors, speakers=speakers, attributes={_ATTRIBUTE: labels.astype(np.str_)})
        model = fit(data, _ATTRIBUTE, limit=self.limit, seed=self.random_state)
        self.protector_, self.choice_ = model.protector, model.choice
        self.classes_ = np.unique(labels)
        return self

    def transform(
        self, X: Any, *, speakers: Any = None, rotation_key: str | bytes | None = None, claims: bool = False
    ) -> FloatArray:
        """Return protected vectors; parameters are those of `EmbeddingProtector.transform`."""
        check_is_fitted(self, "protector_")
        protected: FloatArray = self.protector_.transform(
            self._validated(X, reset=False), speakers=speakers, rotation_key=rotation_key, claims=claims
        )
        return protected

    def llr(self, X: Any) -> FloatArray:
        """Return the evidence that the chosen protector sees."""
        check_is_fitted(self, "protector_")
        return self.protector_.llr(self._validated(X, reset=False))

    def _validated(self, *data: Any, **options: Any) -> Any:
        try:
            return validate_data(self, *data, dtype=np.float64, **options)
        except ValueError as error:
            raise InputError(str(error)) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def default_protector(limit: str | None = None, *, random_state: int = 0) -> DefaultProtector:
    """Return a transformer that fits the strongest protection within a limit.

    Examples
    --------
    >>> from zeroevidence.protect import default_protector
    >>> rng = np.random.default_rng(0)
    >>> people = np.repeat(np.arange(16), 4)
    >>> x = np.repeat(3.0 * rng.normal(size=(16, 4)), 4, axis=0) + rng.normal(size=(64, 4))
    >>> fitted = default_protector().fit(x, np.where(people % 2, "m", "f"), speakers=people.astype(str))
    >>> str(fitted.choice_.limit), fitted.transform(x).shape
    ('eer=+1%', (64, 4))
    """
    return DefaultProtector(limit, random_state)
