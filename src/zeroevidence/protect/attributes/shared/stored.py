"""Dataclasses of arrays that are stored in a saved model; needs NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar, Self

from zeroevidence._typing import FloatArray


class StoredArrays:
    """Mixin of dataclasses whose fields are arrays: turns them into arrays by name, and back."""

    prefix: ClassVar[str] = ""  # of the names

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

    def arrays(self) -> dict[str, FloatArray]:
        """Return the arrays by name."""
        return {f"{self.prefix}{name}": getattr(self, name) for name in self._names()}

    @classmethod
    def of(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """Return the object whose arrays these are; other arrays are ignored."""
        return cls(*(arrays[f"{cls.prefix}{name}"] for name in cls._names()))
