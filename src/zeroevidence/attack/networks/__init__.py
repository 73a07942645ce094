"""Speaker encoders as networks that can be trained further, with weights from ONNX files and back.

An attacker who knows how voices are protected trains an encoder on protected speech. `load_onnx` makes a torch network
of a file that `ARCHITECTURES` recognises, which gives the embeddings that the file gives; `save_onnx` writes it for the
extractors after training. A network has a trunk (`frames`) and a head (`pooled`): without a GPU, the trunk's output can
be computed once and kept, and the head trained alone.

Every module in `architectures` is imported with this package, and enters its architecture into the table.
This package imports neither torch nor onnx before they are used; `base`, `campplus` and `ecapa`, which hold the
networks themselves, import torch.
"""

from importlib import import_module
from pkgutil import iter_modules

from zeroevidence.attack.networks import architectures
from zeroevidence.attack.networks.export import save_onnx
from zeroevidence.attack.networks.graph import Layer, read_layers
from zeroevidence.attack.networks.registry import ARCHITECTURES, Architecture, recognise, register_architecture
from zeroevidence.attack.networks.weights import load_network, load_onnx

for _module in iter_modules(architectures.__path__):
    import_module(f"{architectures.__name__}.{_module.name}")

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "Layer",
    "load_network",
    "load_onnx",
    "read_layers",
    "recognise",
    "register_architecture",
    "save_onnx",
]
