"""Speaker encoders behind one small interface, found by name or by the file that holds them.

`EXTRACTORS` is the table of their families. Every module in this folder is imported with the package, and enters its
family into the table; what runs a family is imported when one of its encoders is loaded.
"""

from importlib import import_module
from pkgutil import iter_modules

from zeroevidence.attack.extractors.base import Extractor, Vectors, Wave
from zeroevidence.attack.extractors.registry import (
    EXTRACTORS,
    ExtractorFamily,
    expected_names,
    load_extractor,
    register_extractor,
)

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

DEFAULT_EXTRACTOR = "campplus"  # comes with the package, so that speech can be audited without a network

__all__ = [
    "DEFAULT_EXTRACTOR",
    "EXTRACTORS",
    "Extractor",
    "ExtractorFamily",
    "Vectors",
    "Wave",
    "expected_names",
    "load_extractor",
    "register_extractor",
]
