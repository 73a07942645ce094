"""A training step as one CUDA graph.

An encoder has hundreds of small layers, and launching their kernels one by one takes several times as long as running
them. A graph is recorded once and launched as a whole: two epochs of 100 000 recordings take 165 s on an H200 with it
and more than 280 s without (`benchmarks/training_size.py`). This module imports torch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Gradients = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
_WARM_UP = 3  # calls before recording, in which libraries choose their kernels


class RecordedStep:
    """Gradients of batches of one size, replayed from a CUDA graph.

    Parameters
    ----------
    gradients
        Computes the loss of crops and labels and leaves gradients at the parameters, which must hold none before.
    optimiser
        Has the parameters.
    crops
        Crops of the first batch; others must have its size.
    labels
        Labels of the first batch.
    """

    def __init__(
        self, gradients: Gradients, optimiser: torch.optim.Optimizer, crops: torch.Tensor, labels: torch.Tensor
    ) -> None:
        self.crops, self.labels = crops.clone(), labels.clone()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                optimiser.zero_grad(set_to_none=True)
                gradients(self.crops, self.labels)
        torch.cuda.current_stream().wait_stream(stream)
        # Gradients made while recording live in the graph's own memory, and every replay overwrites them.
        optimiser.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = gradients(self.crops, self.labels)
        parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
        self.gradients = [(parameter, parameter.grad) for parameter in parameters]

    def __call__(self, crops: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch; its gradients are at the parameters."""
        self.crops.copy_(crops)
        self.labels.copy_(labels)
        self.graph.replay()
        for parameter, gradient in self.gradients:  # a batch of another size may have put its own there
            parameter.grad = gradient
        return self.loss
