"""A step of training as one recorded graph of a GPU.

An encoder has hundreds of small layers, and starting their kernels one by one takes several times as long as computing
them. Recorded once and started as a whole, they wait for nothing. This module imports torch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Gradients = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
_WARM_UP = 3  # calls before recording, in which libraries choose their kernels


class RecordedStep:
    """Gradients of batches of one size.

    Parameters
    ----------
    gradients
        Computes the loss of pieces and labels and leaves gradients at the parameters, which must hold none before.
    optimiser
        Has the parameters.
    pieces, labels
        The first batch; others must have its size.
    """

    def __init__(
        self, gradients: Gradients, optimiser: torch.optim.Optimizer, pieces: torch.Tensor, labels: torch.Tensor
    ) -> None:
        self.pieces, self.labels = pieces.clone(), labels.clone()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                optimiser.zero_grad(set_to_none=True)
                gradients(self.pieces, self.labels)
        torch.cuda.current_stream().wait_stream(stream)
        # Gradients made while recording live in the graph's own memory, and every replay overwrites them.
        optimiser.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = gradients(self.pieces, self.labels)
        parameters = [one for group in optimiser.param_groups for one in group["params"]]
        self.gradients = [(one, one.grad) for one in parameters]

    def __call__(self, pieces: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss of a batch; its gradients are at the parameters."""
        self.pieces.copy_(pieces)
        self.labels.copy_(labels)
        self.graph.replay()
        for parameter, gradient in self.gradients:  # a batch of another size may have put its own there
            parameter.grad = gradient
        return self.loss
