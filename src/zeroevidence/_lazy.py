"""Public names that are imported when they are first used.

The stub beside a package (``__init__.pyi``) is the one list of its public names: type checkers read it, and so does
`attach`, as it stands there: ``from zeroevidence.data.scores import Scores as Scores``.
An assignment there, ``Metric = MeasureResult``, declares a former name: it still works, with a warning, and is not
listed.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__``, which knows ``__all__`` too, and ``__dir__`` of a package from its stub.

    Parameters
    ----------
    package
        The ``__name__`` of the package.
    file
        The ``__file__`` of the package.
    """

    @cache
    def stub() -> tuple[dict[str, str], dict[str, str], list[str]]:
        """Return the module of each name, present names by former ones, and all present names; read when needed."""
        import ast

        with open(f"{os.path.splitext(file)[0]}.pyi", encoding="utf-8") as lines:  # noqa: PTH122 (see errors)
            body = ast.parse(lines.read()).body
        imports = [node for node in body if isinstance(node, ast.ImportFrom)]
        homes = {alias.name: node.module or "" for node in imports for alias in node.names}
        former = {
            ast.unparse(node.targets[0]): ast.unparse(node.value) for node in body if isinstance(node, ast.Assign)
        }
        constants = [ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)]  # of the package
        return homes, former, sorted([*homes, *constants])

    def load(name: str) -> Any:
        homes, former, names = stub()
        if name == "__all__":
            return names
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

    return load, lambda: stub()[2]
