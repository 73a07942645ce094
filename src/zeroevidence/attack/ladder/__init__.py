"""The ladder: back-ends of growing effort whose settings development people choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.attack.backends import Backend, VectorEstimator, as_matrix, grouped, unit
from zeroevidence.attack.backends.cosine import Cosine, Whitened
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.errors import InputError, UsageError
from zeroevidence.optional import optional, torch_threads
from zeroevidence.registry import Registry

LEAST_SPEAKERS = 6  # four to train on, two to stop on
_LEAST = {"hidden": 1, "epochs": 0, "patience": 0, "batch": 2}  # a batch of one has nothing to separate
_STOP_SCALE = 10.0


def _torch() -> Any:
    return optional("torch", "torch", "an attacker with an adapter network")


@dataclass(kw_only=True, eq=False, repr=False)
class Adapter(VectorEstimator):
    """A network ``x -> x A + mlp(x)`` over standardised embeddings; before training it is the identity.

    Training keeps the state with the least loss on held-out speakers, counting the state before training: where nothing
    is to be gained for new speakers, the adapter remains the identity. The same seed gives the same network on one
    machine. The state of torch's own random generator is left as it was.

    Parameters
    ----------
    hidden
        Width of the hidden layer.
    epochs
        Passes over the training speakers at most.
    patience
        Passes without gain on the held-out speakers after which training stops.
    held_out
        Share of the speakers to stop on.
    margin
        Margin of the additive-margin softmax.
    scale
        Scale of its cosines.
    learning_rate
        Learning rate.
    weight_decay
        Decay of the weights.
    batch
        Vectors in a step.
    dropout
        Share of the hidden units that is dropped.
    random_state
        Seed of split, start and order.

    Attributes
    ----------
    losses_
        Loss on the held-out speakers before training and after each pass.
    best_epoch_
        Passes after which it was least; 0 for the identity.

    Examples
    --------
    >>> from importlib.util import find_spec
    >>> import numpy as np
    >>> from zeroevidence.attack.ladder import Adapter
    >>> adapter = Adapter(hidden=8, epochs=2)
    >>> adapter
    Adapter(epochs=2, hidden=8)
    >>> rng = np.random.default_rng(0)
    >>> vectors, speakers = rng.normal(size=(24, 4)), np.repeat(list("abcdef"), 4)
    >>> if find_spec("torch"):
    ...     adapted = adapter.fit(vectors, speakers).transform(vectors)
    ...     assert adapted.shape == (24, 4)
    ...     assert len(adapter.losses_) == 3
    >>> adapter.fit(vectors[:8], speakers[:8])
    Traceback (most recent call last):
    ...
    zeroevidence.errors.InputError: an adapter network needs at least 6 training speakers, got 2
    """

    hidden: int = 256
    epochs: int = 200
    patience: int = 20
    held_out: float = 0.2
    margin: float = 0.2
    scale: float = 15.0
    learning_rate: float = 3e-3
    weight_decay: float = 1e-3
    batch: int = 64
    dropout: float = 0.2
    random_state: int = 0

    def fit(self, vectors: FloatArray, speakers: StrArray) -> Self:
        """Train on embeddings (n x d) of training speakers; those with one utterance do not help to stop."""
        self._check_parameters()
        x, index, counts, _ = grouped(vectors, speakers)
        if len(counts) < LEAST_SPEAKERS:
            raise InputError(f"an adapter network needs at least {LEAST_SPEAKERS} training speakers, got {len(counts)}")
        torch = _torch()
        self.mean_ = x.mean(axis=0)
        self.deviation_ = np.where(x.std(axis=0) > 0.0, x.std(axis=0), 1.0)
        held = np.isin(index, self._stopping(counts))
        data = torch.from_numpy(((x - self.mean_) / self.deviation_).astype(np.float32))
        _, classes = np.unique(index[~held], return_inverse=True)
        # so small a network gains nothing from more threads, and sums keep their order
        with torch_threads(1), torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            self._train(torch, data[~held], torch.from_numpy(classes), data[held], index[held])
        return self

    def _check_parameters(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise UsageError(f"{name}: expected at least {least}, got {getattr(self, name)}")
        for name in ("held_out", "dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise UsageError(f"{name}: expected a share from 0 to below 1, got {getattr(self, name)}")

    def _stopping(self, counts: IntArray) -> IntArray:
        """Return the numbers of the speakers to stop on: a share of those with several utterances, at least two."""
        usable = np.flatnonzero(counts > 1)
        if len(usable) < 2:
            raise InputError("an adapter network needs several utterances of at least two training speakers")
        number = min(max(2, round(self.held_out * len(counts))), len(usable), len(counts) - 2)
        rng = np.random.default_rng(self.random_state)
        return rng.permutation(usable)[:number].astype(np.int64)

    def _train(self, torch: Any, data: Any, classes: Any, held: Any, held_speakers: IntArray) -> None:
        dimension, people = data.shape[1], int(classes.max()) + 1
        self.network_ = _network(torch, dimension, self.hidden, self.dropout)
        centres = torch.nn.Parameter(torch.nn.functional.normalize(torch.randn(people, dimension), dim=1))
        trained = [*self.network_.parameters(), centres]
        step = _optimiser(trained, self.learning_rate, self.weight_decay)
        losses = [_held_out_loss(self._forward(held), held_speakers)]
        best, weights = 0, deepcopy(self.network_.state_dict())
        for epoch in range(1, self.epochs + 1):
            self.network_.train()
            for rows in torch.randperm(len(data)).split(self.batch):
                if len(rows) < 2:
                    continue
                y = torch.nn.functional.normalize(_adapted(self.network_, data[rows]), dim=1)
                cosine = y @ torch.nn.functional.normalize(centres, dim=1).T
                logits = self.scale * (cosine - self.margin * torch.nn.functional.one_hot(classes[rows], people))
                loss = torch.nn.functional.cross_entropy(logits, classes[rows])
                step(torch.autograd.grad(loss, trained))
            losses.append(_held_out_loss(self._forward(held), held_speakers))
            if losses[-1] < losses[best]:
                best, weights = epoch, deepcopy(self.network_.state_dict())
            elif epoch - best >= self.patience:
                break
        self.network_.load_state_dict(weights)
        self.network_.eval()
        self.losses_, self.best_epoch_ = tuple(losses), best

    def _forward(self, data: Any) -> FloatArray:
        torch = _torch()
        self.network_.eval()
        with torch.no_grad():
            adapted: FloatArray = _adapted(self.network_, data).numpy().astype(np.float64)
        return adapted

    def transform(self, vectors: FloatArray) -> FloatArray:
        """Return adapted vectors; average a speaker's vectors after this step, not before."""
        if not hasattr(self, "network_"):
            raise UsageError("this adapter network is not trained: call fit on training vectors first")
        torch = _torch()
        x = (as_matrix(vectors, len(self.mean_)) - self.mean_) / self.deviation_
        return self._forward(torch.from_numpy(x.astype(np.float32)))


def _network(torch: Any, dimension: int, hidden: int, dropout: float) -> Any:
    """The linear part starts as the identity, the perceptron's last layer at zero."""
    nn = torch.nn
    linear, last = nn.Linear(dimension, dimension), nn.Linear(hidden, dimension)
    mlp = nn.Sequential(nn.Linear(dimension, hidden), nn.GELU(), nn.Dropout(dropout), last)
    with torch.no_grad():
        nn.init.eye_(linear.weight)
        for zero in (linear.bias, last.weight, last.bias):
            nn.init.zeros_(zero)
    return nn.ModuleDict({"linear": linear, "mlp": mlp})  # one of torch's own classes, so that it can be pickled


def _optimiser(trained: list[Any], rate: float, decay: float) -> Callable[[Sequence[Any]], None]:
    """Return the step of torch's AdamW for gradients; the class itself imports torch's compiler, 100 MB and seconds."""
    torch = _torch()
    from torch.optim.adamw import adamw

    means, squares = ([torch.zeros_like(each) for each in trained] for _ in range(2))
    steps = [torch.zeros(()) for _ in trained]
    settings: dict[str, Any] = {
        "amsgrad": False,
        "beta1": 0.9,
        "beta2": 0.999,
        "lr": rate,
        "weight_decay": decay,
        "eps": 1e-8,
    }

    def step(gradients: Sequence[Any]) -> None:
        with torch.no_grad():
            adamw(trained, list(gradients), means, squares, [], steps, fused=True, maximize=False, **settings)

    return step


def _adapted(network: Any, x: Any) -> Any:
    return network["linear"](x) + network["mlp"](x)


def _held_out_loss(vectors: FloatArray, speakers: IntArray) -> float:
    """Return the mean of -ln(posterior of the true speaker), each vector compared with the means of the others."""
    y = unit(vectors)
    _, index, counts = np.unique(speakers, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), y.shape[1]))
    np.add.at(sums, index, y)
    rows = np.arange(len(y))
    logits = _STOP_SCALE * y @ (sums / np.linalg.norm(sums, axis=1, keepdims=True)).T
    rest = sums[index] - y  # a vector does not vote for itself
    logits[rows, index] = _STOP_SCALE * np.einsum("ij,ij->i", y, rest) / np.linalg.norm(rest, axis=1)
    top = logits.max(axis=1, keepdims=True)
    log_total = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    return float((log_total - logits[rows, index]).mean())


Effort: TypeAlias = Literal["quick", "standard", "full"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
Candidates: TypeAlias = Callable[[int, int], Sequence[Backend]]
_SHRINKAGE = (0.02, 0.1, 0.3, 0.6)


@dataclass(frozen=True, slots=True)
class LadderStep:
    """One step of the ladder.

    Parameters
    ----------
    name
        Name in results.
    title
        A line on what it does.
    cost
        Its place: cheap steps come first.
    effort
        The least effort of an audit that tries it.
    candidates
        Unfitted back-ends for so many training people and dimensions, among which development people choose.
    adapts
        Whether an adapter network is trained before the back-end; only where all speech is anonymised.
    extra
        The optional part of the package that it needs.
    people
        How many training people it takes at least.
    """

    name: str
    title: str
    cost: int
    effort: Effort
    candidates: Candidates
    adapts: bool = False
    extra: str | None = None
    people: int = 2


LADDER: Registry[LadderStep] = Registry("step of the ladder", package=__name__, order=lambda step: step.cost)


def ladder_steps(effort: Effort = "full") -> list[LadderStep]:
    """Return the steps up to an effort, the cheapest first.

    Examples
    --------
    >>> from zeroevidence.attack.ladder import ladder_steps
    >>> [step.name for step in ladder_steps("quick")]
    ['cosine', 'whitened']
    """
    if effort not in EFFORTS:
        raise UsageError(f"effort: expected one of {', '.join(EFFORTS)}, got {effort!r}")
    most = EFFORTS.index(effort)
    return [step for step in LADDER.values() if EFFORTS.index(step.effort) <= most]


def whitened(people: int, dimensions: int) -> Sequence[Backend]:
    """Return candidates with several shrinkages, and with LDA where there are people enough."""
    candidates: list[Backend] = [Whitened(shrinkage=share) for share in _SHRINKAGE]
    lda = min(people - 1, 64)
    if 8 <= lda < dimensions:
        candidates += [Whitened(shrinkage=share, lda=lda) for share in _SHRINKAGE[1:]]
    return candidates


def plda(_people: int, _dimensions: int) -> Sequence[Backend]:
    """Return candidates with several shrinkages."""
    return [Plda(), *(Plda(shrinkage=share) for share in _SHRINKAGE)]


LADDER.add(
    LadderStep("cosine", "centred cosine, nothing learned but the centre", 10, "quick", lambda _p, _d: [Cosine()]),
    LadderStep(
        "whitened", "cosine after within-class whitening, shrunk as development people say", 20, "quick", whitened
    ),
    LadderStep("plda", "two-covariance PLDA, shrunk as development people say", 30, "standard", plda),
    LadderStep(
        "adapter",
        "a network between encoder and back-end that learned from anonymised speech",
        40,
        "standard",
        lambda _p, _d: [Cosine(), Whitened(shrinkage=0.3)],
        adapts=True,
        extra="torch",
        people=LEAST_SPEAKERS,
    ),
)
