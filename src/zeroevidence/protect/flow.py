"""The zero-evidence flow: a normalising flow whose first latent coordinate is the LLR [Noé et al. 2022].

The flow is trained so that the classes become Gaussians that differ in that coordinate alone (see `latent`). Setting it
to zero and mapping back gives a vector that is as likely in one class as in the other. Needs torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.couplings import make_couplings, need_torch
from zeroevidence.protect.flow_training import ClassDensities, Data, History, Recipe, train
from zeroevidence.protect.front import Front, FrontKind
from zeroevidence.protect.latent import Evidence
from zeroevidence.protect.transformers import EmbeddingProtector, Training, held_out_rows

_MANY = 200_000  # rows from which training takes large batches
_ROWS_PER_DIMENSION = 20  # below, only the leading components are transformed
_FEW_COMPONENTS = 64
_FEW_PEOPLE = 100
_INVERTED = 1e-5  # of the standard deviation: beyond, the flow runs in double precision
_CHECKED_ROWS = 2048
_BLOCK = 32768


class ZeroEvidenceFlow(EmbeddingProtector):
    """Map vectors so that the evidence about an attribute is one coordinate, and set it.

    The defaults suit the size of the data. With few vectors the flow works on the leading principal components and
    starts from linear discriminant analysis; with many people it keeps the state that held-out ones find most likely,
    with few it trains briefly on all. `ZeroEvidenceFlow.paper()` is the published configuration.

    Parameters
    ----------
    front
        ``lda``: the flow starts as linear discriminant analysis on the leading components; ``pca``: as whitening;
        ``none``: inputs are standardised and nothing else.
    components
        Principal components that are transformed, the others are left alone; ``auto`` takes all where there are 20
        vectors for each dimension, else 64.
    shrinkage
        Of the covariance within classes in the front ``lda``, towards a multiple of the identity; ``auto`` is
        r / (r + S) for r components and S people, which vanishes as people grow in number.
    layers, hidden
        Couplings and the width of their networks; ``auto`` is twice the components.
    epochs, patience, held_out
        Passes over the data at most, without gain on held-out people, and the share of people held out in each class.
        ``auto``: 100 passes and a fifth of the people; of fewer than 100 people nobody is held out, because each is
        needed, and there are 20 passes. On few people either can be the better one: try both.
    batch, learning_rate
        ``auto``: 64 to 1024 by the number of vectors, and 1e-3; from 200 000 vectors on 2048 and 2e-4, falling.
    weight_decay
        Of the networks' weights.
    mu, alpha
        Where the class densities start (fronts ``pca`` and ``none``), and how slowly they follow (eq. 6).
    device
        ``auto`` takes a GPU where there is one.
    precision
        Of the products on a GPU in training: ``auto`` is bfloat16 in large batches, else float32.
    random_state
        Seed of start, order and held-out people.

    Attributes
    ----------
    history_
        Loss on held-out people before training and after each epoch.
    inversion_error_
        Largest error of mapping there and back, in standard deviations, on training vectors.
    evidence_
        Latent class densities; two attributes have one each.
    """

    kind: ClassVar[str] = "flow"

    def __init__(
        self,
        *,
        front: FrontKind = "lda",
        components: int | Literal["auto"] = "auto",
        shrinkage: float | Literal["auto"] = "auto",
        layers: int = 6,
        hidden: int | Literal["auto"] = "auto",
        epochs: int | Literal["auto"] = "auto",
        patience: int = 10,
        held_out: float | Literal["auto"] = "auto",
        batch: int | Literal["auto"] = "auto",
        learning_rate: float | Literal["auto"] = "auto",
        weight_decay: float = 1e-2,
        mu: float = 10.0,
        alpha: float = 0.99,
        device: str = "auto",
        precision: Literal["auto", "float32", "bfloat16"] = "auto",
        random_state: int = 0,
    ) -> None:
        self.front = front
        self.components = components
        self.shrinkage = shrinkage
        self.layers = layers
        self.hidden = hidden
        self.epochs = epochs
        self.patience = patience
        self.held_out = held_out
        self.batch = batch
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.mu = mu
        self.alpha = alpha
        self.device = device
        self.precision = precision
        self.random_state = random_state

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The published configuration: standardised inputs, all dimensions, Adam 1e-4 in batches of 64, mu from 10."""
        preset: dict[str, Any] = {"front": "none", "batch": 64, "learning_rate": 1e-4, "weight_decay": 0.0}
        preset |= {"epochs": 100, "held_out": 0.2}
        return cls(**(preset | changes))

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        speakers: Any = None,
        keep: Any = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Learn from vectors and labels.

        Parameters
        ----------
        speakers
            Whose each vector is; held-out vectors are then of other people.
        keep
            Labels of a second attribute, whose evidence gets coordinates of its own and is left alone.
        progress
            Called with the number of epochs done and wanted.
        """
        self._fit(self._training(X, y, speakers, keep), progress)
        return self

    def _fit(self, data: Training, progress: Callable[[int, int], None] | None = None) -> None:
        torch = need_torch("ZeroEvidenceFlow")
        self._check_parameters()
        rows, dimension = data.x.shape
        width = dimension
        if self.components != "auto":
            width = min(self.components, dimension)
        elif rows < _ROWS_PER_DIMENSION * dimension and self.front != "none":
            width = min(_FEW_COMPONENTS, dimension)
        shrinkage = width / (width + len(np.unique(data.people))) if self.shrinkage == "auto" else self.shrinkage
        self.front_, evidence = Front.fit(
            data.x,
            data.labels,
            data.weights,
            kind=self.front,
            components=width,
            shrinkage=shrinkage,
            mu=self.mu,
        )
        self.device_ = torch.device(self._device(torch))
        threads = torch.get_num_threads()
        if self.device_.type == "cpu" and rows < _MANY:
            torch.set_num_threads(1)  # small products gain little from more, and sums keep their order
        try:
            self.history_ = self._train(torch, data, evidence, progress)
        finally:
            torch.set_num_threads(threads)
        self.double_ = False
        self.inversion_error_ = self._inversion_error(data.x)
        if self.inversion_error_ > _INVERTED:
            self.double_ = True
            self.network_.double()
            self.inversion_error_ = self._inversion_error(data.x)

    def _check_parameters(self) -> None:
        for name in ("layers", "epochs", "patience"):
            if getattr(self, name) != "auto" and getattr(self, name) < 1:
                raise UsageError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if self.front not in ("lda", "pca", "none"):
            raise UsageError(f"front: expected lda, pca or none, got {self.front!r}")
        for name in ("shrinkage", "held_out"):
            if getattr(self, name) != "auto" and not 0.0 <= getattr(self, name) < 1.0:
                raise UsageError(f"{name}: expected a share from 0 to below 1, got {getattr(self, name)}")

    def _device(self, torch: Any) -> str:
        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"

    def _train(
        self, torch: Any, data: Training, evidence: list[Evidence], progress: Callable[[int, int], None] | None
    ) -> History:
        front, device = self.front_, self.device_
        many = len(data.x) >= _MANY
        few = len(np.unique(data.people)) < _FEW_PEOPLE
        share = (0.0 if few else 0.2) if self.held_out == "auto" else self.held_out
        held = held_out_rows(data, share, self.random_state) if share > 0.0 else None
        if held is not None and (not held.any() or held.all()):
            held = None
        hidden = 2 * front.width if self.hidden == "auto" else self.hidden
        self.network_: Any = make_couplings(front.width, self.layers, hidden, seed=self.random_state).to(device)
        densities = ClassDensities([(one.means, one.variance) for one in evidence], device)
        recipe = Recipe(
            epochs=(20 if held is None else 100) if self.epochs == "auto" else self.epochs,
            patience=self.patience,
            batch=_batch(len(data.x)) if self.batch == "auto" else self.batch,
            learning_rate=(2e-4 if many else 1e-3) if self.learning_rate == "auto" else self.learning_rate,
            decay_rate=many and self.learning_rate == "auto",
            weight_decay=self.weight_decay,
            alpha=self.alpha,
            bfloat16=self.precision == "bfloat16" or (self.precision == "auto" and many and device.type == "cuda"),
            seed=self.random_state,
        )
        u = front.forward(data.x)[:, _order(front.width, densities.width)]

        def part(rows: Any) -> Data:
            return Data(
                torch.as_tensor(u[rows], dtype=torch.float32).to(device),
                torch.as_tensor(data.labels[rows]).to(device),
                torch.as_tensor(data.weights[rows], dtype=torch.float32).to(device),
            )

        rest = slice(None) if held is None else ~held
        history = train(
            self.network_, densities, part(rest), None if held is None else part(held), recipe, progress=progress
        )
        self.evidence_ = [
            Evidence(means.double().cpu().numpy(), float(variance))
            for means, variance in zip(densities.means, densities.variances, strict=True)
        ]
        return history

    def _inversion_error(self, x: FloatArray) -> float:
        some = x[np.linspace(0, len(x) - 1, min(len(x), _CHECKED_ROWS)).astype(np.int64)]
        error = np.abs(self._backward(self._forward(some)) - some) / self.front_.scale
        return float(error.max())

    def _mapped(self, u: FloatArray, inverse: bool) -> FloatArray:
        """The first coordinates through the network, in blocks; the others as they are."""
        torch = need_torch("ZeroEvidenceFlow")
        width = self.front_.width
        order = _order(width, sum(one.means.shape[1] for one in self.evidence_))
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
        return self._mapped(self.front_.forward(x), inverse=False)

    def _backward(self, z: FloatArray) -> FloatArray:
        return self.front_.inverse(self._mapped(z, inverse=True))

    def to_latent(self, X: Any) -> FloatArray:
        """Latent vectors, n x d: first the evidence (the LLR for two classes), then the residual."""
        return self._forward(self._checked(X))

    def from_latent(self, Z: Any) -> FloatArray:
        """Vectors of latent vectors; the inverse of `to_latent`."""
        return self._backward(self._checked(Z))

    def llr(self, X: Any) -> FloatArray:
        """Evidence in favour of ``classes_[1]``; for more than two classes of each against the others, n x K."""
        evidence = self.evidence_[0]
        return evidence.llr(self.to_latent(X)[:, : evidence.means.shape[1]])

    def transform(self, X: Any) -> FloatArray:
        """Vectors without evidence about the attribute."""
        return self._moved(X, self.evidence_[0].centre()[None])

    def set_evidence(self, X: Any, llr: Any) -> FloatArray:
        """Vectors with the evidence asked for, one number for all or one per vector.

        For more than two classes give a log-likelihood for each class, up to a constant: K numbers, or n x K.
        """
        rows = len(self._checked(X))
        evidence = self.evidence_[0]
        wanted = np.asarray(llr, dtype=np.float64)
        if not np.isfinite(wanted).all():
            raise InputError("evidence to set: expected finite numbers")
        if evidence.classes == 2:
            if wanted.shape not in ((), (rows,)):
                raise InputError(f"evidence to set: expected one number or {rows}, got shape {wanted.shape}")
            wanted = np.stack([np.zeros(wanted.shape), wanted], axis=-1)
        if wanted.shape not in ((evidence.classes,), (rows, evidence.classes)):
            raise InputError(
                f"evidence to set: expected {evidence.classes} numbers, one per class, or {rows} times that many, got "
                f"shape {np.shape(llr)}"
            )
        return self._moved(X, evidence.point(wanted))

    def _moved(self, X: Any, coordinates: FloatArray) -> FloatArray:
        z = self.to_latent(X)
        z[:, : coordinates.shape[1]] = coordinates
        return self._backward(z)

    def _arrays(self) -> dict[str, FloatArray]:
        arrays = {f"front.{name.name}": getattr(self.front_, name.name) for name in dataclasses.fields(self.front_)}
        for number, one in enumerate(self.evidence_):
            arrays[f"evidence.{number}.means"] = one.means
            arrays[f"evidence.{number}.variance"] = np.array([one.variance])
        arrays |= {f"network.{name}": value.cpu().numpy() for name, value in self.network_.state_dict().items()}
        return arrays

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        torch = need_torch("ZeroEvidenceFlow")
        self.front_ = Front(*(arrays[f"front.{name.name}"] for name in dataclasses.fields(Front)))
        self.evidence_ = []
        while f"evidence.{len(self.evidence_)}.means" in arrays:
            stem = f"evidence.{len(self.evidence_)}"
            self.evidence_.append(Evidence(arrays[f"{stem}.means"], float(arrays[f"{stem}.variance"][0])))
        state = {
            name.removeprefix("network."): torch.as_tensor(value.copy())
            for name, value in arrays.items()
            if name.startswith("network.")
        }
        hidden = len(state["couplings.0.first"]) // 2
        layers = 1 + max(int(name.split(".")[1]) for name in state)
        self.device_ = torch.device(self._device(torch))
        self.network_ = make_couplings(self.front_.width, layers, hidden, seed=0)
        self.double_ = state["couplings.0.first"].dtype == torch.float64
        if self.double_:
            self.network_.double()
        self.network_.load_state_dict(state)
        self.network_.to(self.device_)


def _batch(rows: int) -> int:
    """Batches that keep the number of steps in an epoch between about fifty and two hundred, from 64 to 2048."""
    return next((size for size, most in ((64, 5_000), (256, 20_000), (1024, _MANY)) if rows < most), 2048)


def _order(width: int, evidence: int) -> IntArray:
    """The evidence, then every second coordinate, then the others: both sides of a coupling get strong components."""
    rest = np.arange(evidence, width)
    return np.concatenate([np.arange(evidence), rest[0::2], rest[1::2]])
