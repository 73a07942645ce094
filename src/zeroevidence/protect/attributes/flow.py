"""Zero-evidence flow: a normalising flow whose first latent coordinate is the LLR [Noé et al. 2022].

The flow is trained so that the classes become Gaussians that differ in that coordinate alone (see `latent`). Setting it
to zero and mapping back gives a vector that is equally likely in both classes. Needs torch.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.optional import torch_threads
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.flows import LatentClasses, LinearMap, LinearMapKind, class_log_likelihoods
from zeroevidence.protect.attributes.moments import LabelledVectors, held_out_rows
from zeroevidence.protect.attributes.networks import EXTRA, OnDevice, stored_state, torch
from zeroevidence.protect.attributes.protector import EmbeddingProtector, check_scale
from zeroevidence.run import Step, no_step

if TYPE_CHECKING:
    from zeroevidence.protect.attributes.flows.training import ClassDensities, TrainingHistory

_INVERTED = 1e-5  # of the standard deviation: beyond it the flow runs in double precision
_LOST = 1e-2  # of the standard deviation, in double precision: no training that went well gets near it
_CHECKED_ROWS = 2048
_BLOCK = 32768

Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
# balanced: classes have equal weight, and people in a class; none: vectors have equal weight
Weights: TypeAlias = Literal["balanced", "none"]
_CHOICES = {"linear_map": LinearMapKind, "weights": Weights, "precision": Precision}
_MANY = 200_000  # vectors from which training takes large batches
_ROWS_PER_DIMENSION = 20  # with fewer, only the leading components are transformed
_FEW_COMPONENTS = 64
_FEW_PEOPLE = 100
# as published: all dimensions, Adam 1e-4, mu from 10, vectors have equal weight; the paper gives no batch size, number
# of passes or held-out people
_PAPER: dict[str, Any] = {
    "linear_map": "none",
    "weights": "none",
    "batch": 64,
    "learning_rate": 1e-4,
    "weight_decay": 0.0,
    "epochs": 100,
    "held_out": 0.0,
}


@register_protector(
    "Maps vectors by a normalising flow to where the evidence is one coordinate, and sets it to zero.",
    extra=EXTRA,
    presets={"paper": _PAPER},
)
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class ZeroEvidenceFlow(OnDevice, EmbeddingProtector):
    """Map vectors so that the evidence about an attribute becomes one coordinate, and set it.

    The defaults depend on the size of the data. With few vectors the flow works on the leading principal components and
    starts from linear discriminant analysis. It learns from vectors and from the means of people. With many people it
    keeps the state that held-out people find most likely; with few it trains briefly on everybody.
    `ZeroEvidenceFlow.paper()` is the published configuration.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    linear_map
        ``lda``: the flow starts as linear discriminant analysis on the leading components; ``pca``: as whitening;
        ``none``: inputs are only standardised.
    weights
        ``balanced``: classes have equal weight, and people in a class; ``none``: vectors have equal weight.
    components
        Principal components that are transformed; the others are left alone. ``auto`` takes all of them where there
        are 20 vectors for each dimension, and 64 otherwise.
    shrinkage
        How far the map ``lda`` shrinks the covariance within classes towards a multiple of the identity; ``auto`` is
        r / (r + S) for r components and S people, which vanishes as the number of people grows.
    layers
        Number of couplings.
    hidden
        Width of the networks of the couplings; ``auto`` is twice the number of components.
    epochs
        The largest number of passes over the data; ``auto`` is 100, or 20 where nobody is held out.
    patience
        Number of epochs without gain on held-out people after which training ends.
    held_out
        Share of people held out in each class; ``auto`` is a fifth, and none with fewer than 100 people, because each
        is needed. With few people either can be better: try both.
    batch
        Vectors in a batch; ``auto`` is 64 to 1024, depending on the number of vectors, and 2048 from 200 000 on.
    learning_rate
        Step size of the optimiser; ``auto`` is 1e-3, and from 200 000 vectors on 2e-4, falling.
    weight_decay
        How strongly the optimiser pulls the networks' weights towards zero.
    mu
        Where the class densities start with the maps ``pca`` and ``none``.
    alpha
        How slowly the class densities follow the data (eq. 6).
    device
        ``auto`` takes a GPU where there is one.
    precision
        Of products during training on a GPU: ``auto`` is bfloat16 in large batches, and float32 otherwise.
    random_state
        Seed of the initial weights, the order of vectors and the choice of held-out people.

    Attributes
    ----------
    history_
        Loss on held-out people, and mean evidence (mu), before training and after each epoch.
    inversion_error_
        Largest error of mapping training vectors there and back, in standard deviations.
    evidence_
        Latent class densities, of the concealed attribute and, if there is one, of the kept one.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import ZeroEvidenceFlow
    >>> rng = np.random.default_rng(0)
    >>> accent = np.repeat(["north", "south"], 50)
    >>> x = rng.normal(size=(100, 4))
    >>> x[:, 0] += np.where(accent == "south", 2.0, -2.0)
    >>> flow = ZeroEvidenceFlow(epochs=2).fit(x, accent)
    >>> flow.llr(x).shape
    (100,)
    >>> bool(np.abs(flow.llr(flow.transform(x))).max() < 1e-3)
    True
    >>> bool(np.abs(flow.llr(flow.set_evidence(x, 1.5)) - 1.5).max() < 1e-3)
    True
    """

    kind = "flow"
    networks = ("network_",)
    record_types = (("linear_map", LinearMap),)

    linear_map: LinearMapKind = "lda"
    weights: Weights = "balanced"
    components: int | Literal["auto"] = "auto"
    shrinkage: float | Literal["auto"] = "auto"
    layers: int = 6
    hidden: int | Literal["auto"] = "auto"
    epochs: int | Literal["auto"] = "auto"
    patience: int = 10
    held_out: float | Literal["auto"] = "auto"
    batch: int | Literal["auto"] = "auto"
    learning_rate: float | Literal["auto"] = "auto"
    weight_decay: float = 1e-2
    mu: float = 10.0
    alpha: float = 0.99
    device: str = "auto"
    precision: Precision = "auto"
    random_state: int = 0

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return the published configuration: all dimensions, Adam 1e-4, mu from 10; batch size and passes are ours."""
        return cls(**(_PAPER | changes))

    def fit(self, X: Any, y: Any, *, speakers: Any = None, keep: Any = None, progress: Step = no_step) -> Self:
        """Fit to vectors and labels.

        Parameters
        ----------
        X
            Vectors, n x d.
        y
            Labels of the attribute to conceal.
        speakers
            The speaker of each vector; held-out vectors then come from other people.
        keep
            Labels of a second attribute, whose evidence gets separate coordinates and is left alone.
        progress
            Called after each epoch with the number of epochs done and the largest number.
        """
        self._fit(self._training(X, y, speakers, keep), progress)
        return self._learned()

    def _fit(self, data: LabelledVectors, progress: Step = no_step) -> None:
        self._choose_device()
        self._check_at_least(layers=1, epochs=1, patience=1)
        for name, kinds in _CHOICES.items():
            *choices, last = get_args(kinds)
            if getattr(self, name) not in (*choices, last):
                raise UsageError(f"{name}: expected {', '.join(choices)} or {last}, got {getattr(self, name)!r}")
        self._check_shares("shrinkage", "held_out", below=True)
        equal = self.weights == "none"  # as published, without means of people
        data = dataclasses.replace(data, weights=np.ones(len(data.x))) if equal else data.with_means()
        densities = self._start(data)
        small = self.device_.type == "cpu" and len(data.x) < _MANY
        # small products gain little from more threads, and sums keep their order
        with torch_threads(1) if small else contextlib.nullcontext():
            self.history_ = self._train(data, densities, progress)
        if self.history_.diverged:
            raise self._diverged("the loss is not finite")
        self.double_ = False
        self.inversion_error_ = self._inversion_error(data.x)
        if self.inversion_error_ > _INVERTED:  # in single precision
            self.double_ = True
            self.network_.double()
            self.inversion_error_ = self._inversion_error(data.x)
        if not self.inversion_error_ <= _LOST:
            raise self._diverged("the flow can no longer be inverted")

    def _start(self, data: LabelledVectors) -> ClassDensities:
        """Fit the linear map, and return the class densities that training starts from."""
        from zeroevidence.protect.attributes.flows.training import ClassDensities

        rows, dimension = data.x.shape
        few = rows < _ROWS_PER_DIMENSION * dimension and self.linear_map != "none"
        usual = _FEW_COMPONENTS if few else dimension
        width = min(usual if self.components == "auto" else self.components, dimension)
        shrinkage = width / (width + len(np.unique(data.people))) if self.shrinkage == "auto" else self.shrinkage
        self.linear_map_, latent = LinearMap.fit(data, self.linear_map, width, shrinkage, self.mu)
        return ClassDensities([(classes.means, classes.variance) for classes in latent], self.device_)

    def _train(self, data: LabelledVectors, densities: ClassDensities, progress: Step) -> TrainingHistory:
        from zeroevidence.protect.attributes.flows import training

        linear_map, device = self.linear_map_, self.device_
        many = len(data.x) >= _MANY
        few = len(np.unique(data.people)) < _FEW_PEOPLE
        share = (0.0 if few else 0.2) if self.held_out == "auto" else self.held_out
        held = held_out_rows(data, share, self.random_state) if share > 0.0 else None
        if held is not None and (not held.any() or held.all()):
            held = None
        hidden = 2 * linear_map.width if self.hidden == "auto" else self.hidden
        network = training.make_couplings(linear_map.width, self.layers, hidden, seed=self.random_state)
        self.network_: Any = network.to(device)
        settings = training.FlowTrainingSettings(
            epochs=(20 if held is None else 100) if self.epochs == "auto" else self.epochs,
            patience=self.patience,
            batch=_batch_size(len(data.x)) if self.batch == "auto" else self.batch,
            learning_rate=(2e-4 if many else 1e-3) if self.learning_rate == "auto" else self.learning_rate,
            decay_rate=many and self.learning_rate == "auto",
            weight_decay=self.weight_decay,
            alpha=self.alpha,
            bfloat16=self.precision == "bfloat16" or (self.precision == "auto" and many and device.type == "cuda"),
            seed=self.random_state,
        )
        u = linear_map.forward(data.x)[:, _coordinate_order(linear_map.width, densities.leading)]

        def part(rows: Any) -> training.TensorData:
            return training.TensorData(
                torch.as_tensor(u[rows], dtype=torch.float32).to(device),
                torch.as_tensor(data.labels[rows]).to(device),
                torch.as_tensor(data.weights[rows], dtype=torch.float32).to(device),
            )

        rest, tested = (part(slice(None)), None) if held is None else (part(~held), part(held))
        history = training.train(self.network_, densities, rest, tested, settings, progress)
        self.evidence_ = densities.evidence()
        return history

    def _inversion_error(self, x: FloatArray) -> float:
        some = x[np.linspace(0, len(x) - 1, min(len(x), _CHECKED_ROWS)).astype(np.int64)]
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(self._backward(self._forward(some)) - some) / self.linear_map_.scale
        return float(error.max())

    def _mapped(self, u: FloatArray, inverse: bool) -> FloatArray:
        """Return coordinates of which the first went through the network, in blocks."""
        order = _coordinate_order(self.linear_map_.width, sum(densities.width for densities in self.evidence_))
        dtype = torch.float64 if self.double_ else torch.float32
        result = u.copy()
        with torch.no_grad():
            for start in range(0, len(u), _BLOCK):
                rows = slice(start, start + _BLOCK)
                block = torch.as_tensor(u[rows][:, order], dtype=dtype).to(self.device_)
                out = self.network_.inverse(block) if inverse else self.network_(block)[0]
                result[rows, order] = out.double().cpu().numpy()
        return result

    def _forward(self, x: FloatArray) -> FloatArray:
        return self._mapped(self.linear_map_.forward(x), inverse=False)

    def _backward(self, z: FloatArray) -> FloatArray:
        return self.linear_map_.inverse(self._mapped(z, inverse=True))

    def to_latent(self, X: Any) -> FloatArray:
        """Return latent vectors, n x d: first the evidence (the LLR for two classes), then the residual."""
        return self._finite("latent vectors", self._forward, self._checked(X))

    @property
    def llr_mean_(self) -> float | None:
        """Mean of the first latent coordinate in the second class, where that coordinate is the LLR of two classes."""
        evidence = self.evidence_[0]
        return evidence.mu if evidence.classes == 2 else None

    def from_latent(self, Z: Any) -> FloatArray:
        """Return the vectors that have these latent vectors: the inverse of `to_latent`."""
        return self._finite("vectors", self._backward, self._checked(Z))

    def _llr(self, x: FloatArray) -> FloatArray:
        evidence = self.evidence_[0]
        return evidence.llr(self._forward(x)[:, : evidence.width])

    def _transform(self, x: FloatArray) -> FloatArray:
        return self._moved(x, np.zeros(self.evidence_[0].classes))

    def set_evidence(self, X: Any, llr: Any) -> FloatArray:
        """Return vectors with the given evidence.

        Parameters
        ----------
        X
            Vectors, n x d.
        llr
            One number for all vectors, or one for each; for more than two classes a log-likelihood for each class, up
            to a constant: K numbers, or n x K.
        """
        x = self._checked(X)
        log_likelihoods = class_log_likelihoods(llr, self.evidence_[0].classes, len(x))
        what = f"vectors with evidence as large as {np.abs(log_likelihoods).max():.3g}"
        return self._finite(what, lambda rows: self._moved(rows, log_likelihoods), x)

    def _moved(self, x: FloatArray, log_likelihoods: FloatArray) -> FloatArray:
        z, evidence = self._forward(x), self.evidence_[0]
        z[:, : evidence.width] = evidence.placed(log_likelihoods)
        return self._backward(z)

    def _arrays(self) -> dict[str, FloatArray]:
        arrays = super()._arrays()
        for number, densities in enumerate(self.evidence_):
            variance = np.array([densities.variance])
            arrays |= {f"evidence.{number}.means": densities.means, f"evidence.{number}.variance": variance}
        return arrays

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self._choose_device()
        from zeroevidence.protect.attributes.flows.training import make_couplings

        super()._restore(arrays)
        check_scale(self.linear_map_.scale, self.linear_map_.mean)
        self.evidence_ = []
        while f"evidence.{len(self.evidence_)}.means" in arrays:
            means, (variance,) = (arrays[f"evidence.{len(self.evidence_)}.{name}"] for name in ("means", "variance"))
            if not 0.0 < variance < np.inf:
                raise InputError(f"a variance of {variance:g} in the latent space; expected a positive number")
            self.evidence_.append(LatentClasses(means, float(variance)))
        state = stored_state(arrays, "network")
        hidden = len(state["couplings.0.first"]) // 2
        layers = 1 + max(int(name.split(".")[1]) for name in state)
        self.network_ = make_couplings(self.linear_map_.width, layers, hidden, seed=0)
        self.double_ = state["couplings.0.first"].dtype == torch.float64
        if self.double_:
            self.network_.double()
        self.network_.load_state_dict(state)
        self._place()


def _batch_size(rows: int) -> int:
    """Return the size of a batch, from 64 to 2048: an epoch has about fifty to two hundred steps."""
    return next((size for size, most in ((64, 5_000), (256, 20_000), (1024, _MANY)) if rows < most), 2048)


def _coordinate_order(width: int, evidence: int) -> IntArray:
    """Return an order: evidence, every second coordinate, the others; so both halves get strong components."""
    rest = np.arange(evidence, width)
    return np.concatenate([np.arange(evidence), rest[0::2], rest[1::2]])
