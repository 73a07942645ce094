"""Adversarial protector: an autoencoder whose code conceals the attribute from a classifier [Noé et al. 2021].

The decoder gets the attribute as a separate score, so that the code need not carry it. A classifier is trained to
predict the attribute from the code, and the encoder to leave the classifier undecided. To protect a vector, the score
is set to the same value for every class. Needs torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.optional import torch_threads
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.moments import LabelledVectors, evidence, held_out_rows
from zeroevidence.protect.attributes.networks import EXTRA, OnDevice, copy_state, stored_state, torch
from zeroevidence.protect.attributes.protector import EmbeddingProtector, check_scale
from zeroevidence.run import Step, no_step

_CODE = 128
_BLOCK = 65536
_UNDECIDED = 0.9  # share of the cross-entropy at chance that a state must leave the classifier with
_LOST = 100.0  # reconstruction error, in variances, from which training counts as diverged


@register_protector(
    "Encodes vectors so that a classifier cannot read the attribute, and decodes them again.", extra=EXTRA
)
@dataclass(kw_only=True, eq=False, repr=False)
class AdversarialAutoencoder(OnDevice, EmbeddingProtector):
    r"""Encode vectors, hide the attribute, decode.

    The classifier q minimises its cross-entropy :math:`-\ln q_y`; encoder and decoder minimise

    .. math:: \tfrac{1}{d} \lVert x - \hat x \rVert^2 + s \cdot \mathrm{KL}(u \,\Vert\, q), \quad
        \mathrm{KL}(u \,\Vert\, q) = -\tfrac{1}{K} \sum_k \ln q_k - \ln K ,

    with the `strength` s and guessing u among K classes, averaged over vectors so that classes, and people in a class,
    count the same. Vectors are standardised before. [Noé et al. 2022] describe the adversaries and the score of the
    decoder, 0.5 in protection, without a formula: that a fooled classifier is an undecided one is the choice made here.

    Training keeps the state that reconstructs held-out people best, among those that leave the classifier undecided.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    code
        Width of the code; ``auto`` is 128, or half the dimension where that is less.
    hidden
        Width of the hidden layers of encoder, decoder and classifier.
    strength
        Weight of leaving the classifier undecided, relative to the error of reconstruction.
    epochs
        The largest number of passes over the data.
    patience
        Number of epochs without gain on held-out people after which training ends.
    held_out
        Share of people held out in each class.
    batch
        Vectors in a batch.
    learning_rate
        Step size of the optimiser.
    weight_decay
        How strongly the optimiser pulls weights towards zero.
    device
        Where to compute, as torch names it; ``auto`` takes a GPU where there is one.
    random_state
        Seed of the initial weights, the order of vectors and the choice of held-out people.

    Attributes
    ----------
    losses_
        On held-out people after each epoch: the error of reconstruction, and the classifier's cross-entropy divided by
        that of chance.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import AdversarialAutoencoder
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat(["f", "m"], 50)
    >>> x = rng.normal(size=(100, 4))
    >>> x[:, 0] += np.where(sex == "m", 2.0, -2.0)
    >>> coder = AdversarialAutoencoder(epochs=2).fit(x, sex)
    >>> coder.transform(x).shape
    (100, 4)
    >>> len(coder.losses_)
    2
    """

    kind = "adversarial"
    networks = ("encoder_", "decoder_")
    array_names = ("mean", "scale", "score_weights", "score_bias")

    code: int | Literal["auto"] = "auto"
    hidden: int = 256
    strength: float = 1.0
    epochs: int = 200
    patience: int = 30
    held_out: float = 0.2
    batch: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    device: str = "cpu"
    random_state: int = 0

    def fit(self, X: Any, y: Any, *, speakers: Any = None, progress: Step = no_step) -> Self:
        """Fit to vectors and labels.

        Parameters
        ----------
        X
            Vectors, n x d.
        y
            Labels of the attribute to conceal.
        speakers
            The speaker of each vector; held-out vectors then come from other people.
        progress
            Called after each epoch with the number of epochs done and the largest number.
        """
        self._fit(self._training(X, y, speakers), progress)
        return self._learned()

    def _fit(self, data: LabelledVectors, progress: Step = no_step) -> None:
        self._choose_device()
        self._check_at_least(hidden=1, epochs=1, batch=1)
        share = data.weights / data.weights.sum()
        self.mean_ = share @ data.x
        scale = np.sqrt(share @ (data.x - self.mean_) ** 2)
        self.scale_ = np.where(scale > 0.0, scale, 1.0)
        self._fit_scores(data)
        with torch_threads(1), torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            self._train(data, progress)

    def _fit_scores(self, data: LabelledVectors) -> None:
        """Fit a logistic classifier whose posterior, at equal priors, is the score that the decoder gets."""
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1.0, max_iter=1000)
        model.fit(self._standard(data.x), data.labels[:, 0], sample_weight=data.weights)
        weights, bias = model.coef_, model.intercept_
        if len(self.classes_) == 2:
            weights, bias = np.concatenate([-weights, weights]) / 2.0, np.concatenate([-bias, bias]) / 2.0
        self.score_weights_, self.score_bias_ = weights, bias

    def _standard(self, x: FloatArray) -> FloatArray:
        return np.asarray((x - self.mean_) / self.scale_)

    def _logits(self, standard: FloatArray) -> FloatArray:
        return np.asarray(standard @ self.score_weights_.T + self.score_bias_)

    def _train(self, data: LabelledVectors, progress: Step) -> None:
        """Train until the epochs are used up or held-out people gain nothing, and restore the best state."""
        dimension, classes = data.x.shape[1], len(self.classes_)
        code = min(_CODE, max(2, dimension // 2)) if self.code == "auto" else self.code
        self.encoder_, self.decoder_ = _networks(dimension, code, self.hidden, classes)
        networks = (self.encoder_, self.decoder_, _perceptron(code, self.hidden, classes))
        for network in networks:
            network.to(self.device_)
        training = _AdversarialTraining(networks, self.strength, lr=self.learning_rate, weight_decay=self.weight_decay)
        held = held_out_rows(data, self.held_out, self.random_state)
        if held.all():
            held = np.zeros(len(held), dtype=bool)
        part = self._tensors(data, ~held)
        held_part = self._tensors(data, held) if held.any() else None
        best, self.losses_, states = None, [], self._states()
        for epoch in range(1, self.epochs + 1):
            for rows in torch.randperm(len(part[0])).split(self.batch):
                if len(rows) > 1:
                    training.step(tuple(tensor[rows] for tensor in part))
            progress(epoch, self.epochs)
            if held_part is None:
                continue
            self.losses_.append(training.losses(held_part))
            error, cross_entropy = self.losses_[-1]
            if not np.isfinite(error):
                break
            # protected states first, the best reconstruction among them
            rank = (max(0.0, _UNDECIDED - cross_entropy), error)
            if best is None or rank < best[0]:
                best, states = (rank, epoch), self._states()
            elif epoch - best[1] >= self.patience:
                break
        if best is not None:
            self.encoder_.load_state_dict(states[0])
            self.decoder_.load_state_dict(states[1])
        if not training.losses(tuple(tensor[:_BLOCK] for tensor in part))[0] <= _LOST:
            raise self._diverged("the decoder no longer reconstructs vectors")

    def _states(self) -> list[dict[str, Any]]:
        """Return copies of the weights of encoder and decoder."""
        return [copy_state(self.encoder_), copy_state(self.decoder_)]

    def _tensors(self, data: LabelledVectors, rows: BoolArray) -> tuple[Any, ...]:
        """Return vectors, scores for the decoder, weights and labels of some rows, on the device."""
        standard = self._standard(data.x[rows])
        parts = (standard, softmax(self._logits(standard), axis=1), data.weights[rows])
        floats = (torch.as_tensor(part, dtype=torch.float32, device=self.device_) for part in parts)
        return *floats, torch.as_tensor(data.labels[rows, 0], device=self.device_)

    def _llr(self, x: FloatArray) -> FloatArray:
        """Return the score that the decoder gets, as evidence."""
        return evidence(self._logits(self._standard(x)))

    def _transform(self, x: FloatArray) -> FloatArray:
        """Decode the codes of vectors, with the same score for all."""
        standard = self._standard(x)
        classes = len(self.classes_)
        parts = []
        with torch.no_grad():
            for start in range(0, len(standard), _BLOCK):
                block = torch.as_tensor(standard[start : start + _BLOCK], dtype=torch.float32, device=self.device_)
                score = torch.full((len(block), classes), 1.0 / classes, device=self.device_)
                parts.append(self.decoder_(torch.cat([self.encoder_(block), score], dim=1)).double().cpu().numpy())
        return np.asarray(np.concatenate(parts) * self.scale_ + self.mean_)

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self._choose_device()
        super()._restore(arrays)
        check_scale(self.scale_, self.mean_)
        hidden, code = arrays["encoder.0.weight"].shape[0], arrays["encoder.2.weight"].shape[0]
        self.encoder_, self.decoder_ = _networks(len(self.mean_), code, hidden, len(self.score_bias_))
        self.encoder_.load_state_dict(stored_state(arrays, "encoder"))
        self.decoder_.load_state_dict(stored_state(arrays, "decoder"))
        self._place()


class _AdversarialTraining:
    """Adversarial training: a classifier of the code against encoder and decoder."""

    def __init__(self, networks: tuple[Any, Any, Any], strength: float, **settings: float) -> None:
        self.strength = strength
        self.encoder, self.decoder, self.classifier = networks
        self.coder_optimiser = torch.optim.AdamW([*self.encoder.parameters(), *self.decoder.parameters()], **settings)
        self.classifier_optimiser = torch.optim.AdamW(self.classifier.parameters(), **settings)

    def step(self, part: tuple[Any, ...]) -> None:
        """Train the classifier on a batch, then encoder and decoder."""
        _, cross_entropy, _ = self._forward(part, through_code=False)
        self.classifier_optimiser.zero_grad()
        cross_entropy.backward()
        self.classifier_optimiser.step()
        error, _, logits = self._forward(part, through_code=True)
        undecided = -torch.nn.functional.log_softmax(logits, dim=1).mean(dim=1) - np.log(logits.shape[1])
        weights = part[2]
        loss = error + self.strength * (weights * undecided).sum() / weights.sum()
        self.coder_optimiser.zero_grad()
        loss.backward()
        self.coder_optimiser.step()

    def losses(self, part: tuple[Any, ...]) -> tuple[float, float]:
        """Return the error of reconstruction, and the classifier's cross-entropy divided by that of chance."""
        with torch.no_grad():
            error, cross_entropy, logits = self._forward(part, through_code=False)
        return float(error), float(cross_entropy) / float(np.log(logits.shape[1]))

    def _forward(self, part: tuple[Any, ...], *, through_code: bool) -> tuple[Any, Any, Any]:
        """Return reconstruction error, cross-entropy and logits; gradients of the last two may reach the encoder."""
        vectors, score, weight, label = part
        code = self.encoder(vectors)
        decoded = self.decoder(torch.cat([code, score], dim=1))
        error = (weight * ((decoded - vectors) ** 2).mean(dim=1)).sum() / weight.sum()
        logits = self.classifier(code if through_code else code.detach())
        cross_entropy = torch.nn.functional.cross_entropy(logits, label, reduction="none")
        return error, (weight * cross_entropy).sum() / weight.sum(), logits


def _perceptron(inputs: int, hidden: int, outputs: int) -> Any:
    layers = torch.nn.Linear(inputs, hidden), torch.nn.LeakyReLU(), torch.nn.Linear(hidden, outputs)
    return torch.nn.Sequential(*layers)


def _networks(dimension: int, code: int, hidden: int, classes: int) -> tuple[Any, Any]:
    return _perceptron(dimension, hidden, code), _perceptron(code + classes, hidden, dimension)
