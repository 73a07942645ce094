"""The base class of protectors that remove directions and keep the leading components of the rest.

With few people, covariances are estimated badly. So the directions in which linear models use the attribute are removed
first, and only the leading principal components of the rest are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError
from zeroevidence.protect.attributes.shared.discriminants import QuadraticDiscriminants
from zeroevidence.protect.attributes.shared.evidence import evidence
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector

_PER_PERSON = 3  # components that one more person to learn from makes worth keeping
_FEWEST = 16
_FLOOR = 1e-9  # of the largest variance: a direction with less counts as having none


@dataclass(kw_only=True, eq=False, repr=False)
class ComponentProtector(EmbeddingProtector):
    """A protector with `directions`, `components` and `complement`; see `Transport` and `Conditional`."""

    record_types = (("quadratic", QuadraticDiscriminants),)

    directions: int | Literal["auto"] = "auto"
    components: int | Literal["auto"] = "auto"
    complement: float = 0.0

    def _direction_count(self, dimension: int, people: int) -> int:
        """Return how many directions to remove."""
        automatic = self.directions == "auto"
        return round(dimension**2 / (3 * (dimension + people))) if automatic else int(self.directions)

    def _leading_components(self, covariance: FloatArray, people: int) -> FloatArray:
        """Return the leading principal components of a covariance (d x r)."""
        values, axes = np.linalg.eigh(covariance)
        width = max(_FEWEST, _PER_PERSON * people) if self.components == "auto" else self.components
        width = min(width, int(np.sum(values > _FLOOR * max(values[-1], 0.0))))
        if width < 1:
            raise InputError("vectors do not vary beside what is removed; nothing would be left")
        components: FloatArray = axes[:, ::-1][:, :width]
        return components

    def _restrict_noise(self, whole: bool) -> None:
        """Restrict the noise to the components, or to all that is not removed."""
        outside = np.eye(len(self.removed_)) - self.removed_ @ self.removed_.T
        kept = outside if whole else self.basis_ @ self.basis_.T
        self.noise_root_ = self.noise_root_ @ kept

    def _joined(self, moved: FloatArray, z: FloatArray, rest: FloatArray) -> FloatArray:
        """Return vectors from moved components, former components z, and what was not removed."""
        protected: FloatArray = self.mean_ + moved @ self.basis_.T
        if self.complement > 0.0:
            protected = protected + self.complement * (rest - z @ self.basis_.T)
        return protected

    def _llr(self, x: FloatArray) -> FloatArray:
        """Return the evidence of Gaussian classes whose covariances are mixed with the shared one."""
        return evidence(self.quadratic_.log_likelihoods(x))
