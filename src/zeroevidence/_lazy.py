"""Public names that are imported when they are first used.

The stub beside a package (``__init__.pyi``) is the one list of its public names: type checkers read it, and so does
`attach`, as it stands there: ``from zeroevidence.data.scores import Scores as Scores``.
An assignment there, ``Metric = MeasureResult``, declares a former name: it still works, with a warning, and is not
listed.
"""

from __future__ import annotations

import ast
import importlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its stub.

    Parameters
    ----------
    package
        The ``__name__`` of the package.
    file
        The ``__file__`` of the package.
    """
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.name: node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    former = {
        ast.unparse(node.targets[0]): ast.unparse(node.value) for node in tree.body if isinstance(node, ast.Assign)
    }

    def load(name: str) -> Any:
        if name in former:
            message = f"{package}.{name} is {former[name]} now; the former name goes with the next minor version"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[package], former[name])
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:  # a module of the package itself
            value: Any = importlib.import_module(f"{package}.{name}")
        else:
            value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    constants = [
        ast.unparse(node.target) for node in tree.body if isinstance(node, ast.AnnAssign)
    ]  # of the package itself
    names = sorted([*homes, *constants])
    return load, lambda: names, names
