"""zeroevidence: how much does this protected voice still give away?

Public names are imported when first used, so that ``import zeroevidence`` stays light; ``__init__.pyi`` lists them.
"""

from zeroevidence._lazy import attach

__version__ = "0.2.0"

__getattr__, __dir__ = attach(__name__, __file__)
