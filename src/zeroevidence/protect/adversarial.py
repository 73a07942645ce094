"""The adversarial baseline: an autoencoder whose code a classifier fails to read [Noé et al. 2021].

The decoder gets the attribute as a score of its own, so that the code need not carry it. A classifier learns to read
the attribute from the code, the encoder learns to leave it undecided. For protection the score is set to the same value
for every class. Needs torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.couplings import need_torch
from zeroevidence.protect.latent import against_others
from zeroevidence.protect.transformers import EmbeddingProtector, Training, held_out_rows

_CODE = 128
_BLOCK = 65536
_UNDECIDED = 0.9  # of the classifier's cross-entropy at chance: less, and a state does not count as protected


class AdversarialAutoencoder(EmbeddingProtector):
    """Encode, hide, decode.

    Parameters
    ----------
    code
        Width of the code; ``auto`` is 128, or half the dimension where that is less.
    hidden
        Width of the hidden layers of encoder, decoder and classifier.
    strength
        Weight of leaving the classifier undecided against the error of reconstruction.
    epochs, patience, held_out
        Passes over the data at most, without gain on held-out people, and the share of people held out in each class.
    batch, learning_rate, weight_decay
        Of the training.
    random_state
        Seed of start, order and held-out people.

    Attributes
    ----------
    losses_
        On held-out people after each epoch: error of reconstruction, and the classifier's cross-entropy over that of
        chance.
    """

    kind: ClassVar[str] = "adversarial"

    def __init__(
        self,
        *,
        code: int | Literal["auto"] = "auto",
        hidden: int = 256,
        strength: float = 1.0,
        epochs: int = 200,
        patience: int = 30,
        held_out: float = 0.2,
        batch: int = 128,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        device: str = "cpu",
        random_state: int = 0,
    ) -> None:
        self.code = code
        self.hidden = hidden
        self.strength = strength
        self.epochs = epochs
        self.patience = patience
        self.held_out = held_out
        self.batch = batch
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, speakers: Any = None, progress: Callable[[int, int], None] | None = None) -> Self:
        """Learn from vectors and labels; `progress` is called with the number of epochs done and wanted."""
        self._fit(self._training(X, y, speakers), progress)
        return self

    def _fit(self, data: Training, progress: Callable[[int, int], None] | None = None) -> None:
        torch = need_torch("AdversarialAutoencoder")
        for name in ("hidden", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}: expected at least 1, got {getattr(self, name)}")
        share = data.weights / data.weights.sum()
        self.mean_ = share @ data.x
        scale = np.sqrt(share @ (data.x - self.mean_) ** 2)
        self.scale_ = np.where(scale > 0.0, scale, 1.0)
        self._fit_scores(data)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.random_state)
                self._train(torch, data, progress)
        finally:
            torch.set_num_threads(threads)

    def _fit_scores(self, data: Training) -> None:
        """A logistic classifier whose posterior, at equal priors, is the score that the decoder gets."""
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1.0, max_iter=1000)
        model.fit(self._standard(data.x), data.labels[:, 0], sample_weight=data.weights)
        weights, bias = model.coef_, model.intercept_
        if len(self.classes_) == 2:
            weights, bias = np.concatenate([-weights, weights]) / 2.0, np.concatenate([-bias, bias]) / 2.0
        self.score_weights_, self.score_bias_ = weights, bias

    def _standard(self, x: FloatArray) -> FloatArray:
        standard: FloatArray = (x - self.mean_) / self.scale_
        return standard

    def _posterior(self, standard: FloatArray) -> FloatArray:
        logits = standard @ self.score_weights_.T + self.score_bias_
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        posterior: FloatArray = odds / odds.sum(axis=1, keepdims=True)
        return posterior

    def _train(self, torch: Any, data: Training, progress: Callable[[int, int], None] | None) -> None:
        functional = torch.nn.functional
        classes = len(self.classes_)
        x = self._standard(data.x)
        code = min(_CODE, max(2, x.shape[1] // 2)) if self.code == "auto" else self.code
        self.encoder_, self.decoder_ = _networks(torch, x.shape[1], code, self.hidden, classes)
        classifier = _perceptron(torch, code, self.hidden, classes)
        for network in (self.encoder_, self.decoder_, classifier):
            network.to(self.device)
        held = held_out_rows(data, self.held_out, self.random_state)
        if held.all() or not held.any():
            held = np.zeros(len(x), dtype=bool)

        def tensors(rows: Any) -> tuple[Any, ...]:
            parts = (x[rows], self._posterior(x[rows]), data.weights[rows])
            floats = (torch.as_tensor(part, dtype=torch.float32, device=self.device) for part in parts)
            return *floats, torch.as_tensor(data.labels[rows, 0], device=self.device)

        inputs, scores, weights, labels = tensors(~held)
        held_part = tensors(held) if held.any() else None
        coders = [*self.encoder_.parameters(), *self.decoder_.parameters()]
        settings: dict[str, Any] = {"lr": self.learning_rate, "weight_decay": self.weight_decay}
        coding, reading = torch.optim.AdamW(coders, **settings), torch.optim.AdamW(classifier.parameters(), **settings)

        def error_and_reading(part: tuple[Any, ...], noise: bool) -> tuple[Any, Any, Any]:
            vectors, score, weight, label = part
            hidden = self.encoder_(vectors)
            rebuilt = self.decoder_(torch.cat([hidden, score], dim=1))
            error = (weight * ((rebuilt - vectors) ** 2).mean(dim=1)).sum() / weight.sum()
            logits = classifier(hidden if noise else hidden.detach())
            read = (weight * functional.cross_entropy(logits, label, reduction="none")).sum() / weight.sum()
            return error, read, logits

        best, self.losses_, kept = None, [], _states(self.encoder_, self.decoder_)
        for epoch in range(1, self.epochs + 1):
            for rows in torch.randperm(len(inputs)).split(self.batch):
                if len(rows) < 2:
                    continue
                part = tuple(tensor[rows] for tensor in (inputs, scores, weights, labels))
                _, read, _ = error_and_reading(part, noise=False)
                reading.zero_grad()
                read.backward()
                reading.step()
                error, _, logits = error_and_reading(part, noise=True)
                undecided = -functional.log_softmax(logits, dim=1).mean(dim=1) - np.log(classes)
                loss = error + self.strength * (part[2] * undecided).sum() / part[2].sum()
                coding.zero_grad()
                loss.backward()
                coding.step()
            if progress is not None:
                progress(epoch, self.epochs)
            if held_part is None:
                continue
            with torch.no_grad():
                error, read, _ = error_and_reading(held_part, noise=False)
            self.losses_.append((float(error), float(read) / float(np.log(classes))))
            # protected states first, the best reconstruction among them
            rank = (max(0.0, _UNDECIDED - self.losses_[-1][1]), self.losses_[-1][0])
            if best is None or rank < best[0]:
                best, kept = (rank, epoch), _states(self.encoder_, self.decoder_)
            elif epoch - best[1] >= self.patience:
                break
        if held_part is not None:
            self.encoder_.load_state_dict(kept[0])
            self.decoder_.load_state_dict(kept[1])

    def llr(self, X: Any) -> FloatArray:
        """The score that the decoder gets, as evidence; for more than two classes of each against the others, n x K."""
        logits = self._standard(self._checked(X)) @ self.score_weights_.T + self.score_bias_
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else against_others(logits)

    def transform(self, X: Any) -> FloatArray:
        """Vectors decoded from their codes with the same score for everybody."""
        torch = need_torch("AdversarialAutoencoder")
        standard = self._standard(self._checked(X))
        classes = len(self.classes_)
        parts = []
        with torch.no_grad():
            for start in range(0, len(standard), _BLOCK):
                block = torch.as_tensor(standard[start : start + _BLOCK], dtype=torch.float32, device=self.device)
                score = torch.full((len(block), classes), 1.0 / classes, device=self.device)
                parts.append(self.decoder_(torch.cat([self.encoder_(block), score], dim=1)).double().cpu().numpy())
        rebuilt: FloatArray = np.concatenate(parts) * self.scale_ + self.mean_
        return rebuilt

    def _arrays(self) -> dict[str, FloatArray]:
        arrays = {
            "mean": self.mean_,
            "scale": self.scale_,
            "score_weights": self.score_weights_,
            "score_bias": self.score_bias_,
        }
        for part in ("encoder", "decoder"):
            state = getattr(self, f"{part}_").state_dict()
            arrays |= {f"{part}.{name}": value.cpu().numpy() for name, value in state.items()}
        return arrays

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        torch = need_torch("AdversarialAutoencoder")
        for name in ("mean", "scale", "score_weights", "score_bias"):
            setattr(self, f"{name}_", arrays[name])
        hidden, code = arrays["encoder.0.weight"].shape[0], arrays["encoder.2.weight"].shape[0]
        networks = _networks(torch, len(self.mean_), code, hidden, len(self.score_bias_))
        for part, network in zip(("encoder", "decoder"), networks, strict=True):
            names = [name for name in arrays if name.startswith(f"{part}.")]
            network.load_state_dict(
                {name.removeprefix(f"{part}."): torch.as_tensor(arrays[name].copy()) for name in names}
            )
            setattr(self, f"{part}_", network.to(self.device))


def _perceptron(torch: Any, inputs: int, hidden: int, outputs: int) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(inputs, hidden), nn.LeakyReLU(), nn.Linear(hidden, outputs))


def _networks(torch: Any, dimension: int, code: int, hidden: int, classes: int) -> tuple[Any, Any]:
    encoder = _perceptron(torch, dimension, hidden, code)
    return encoder, _perceptron(torch, code + classes, hidden, dimension)


def _states(*networks: Any) -> list[dict[str, Any]]:
    return [{name: value.detach().clone() for name, value in network.state_dict().items()} for network in networks]
