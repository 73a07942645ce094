"""Where the tests find reference data, and what a machine may lack."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("default")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the project; absent on most machines."""
    if not SHARED.is_dir():
        pytest.skip("reference data (../shared/data) is not on this machine")
    return SHARED


@pytest.fixture(scope="session")
def vectors(shared: Path) -> dict[str, tuple[np.ndarray, np.ndarray, dict]]:
    """Score sets with exact values: name -> (target, nontarget, values)."""
    values = json.loads((shared / "reference" / "vectors.json").read_text())["two_class"]
    arrays = np.load(shared / "reference" / "vectors.npz")
    return {name: (arrays[f"{name}_tar"], arrays[f"{name}_non"], v) for name, v in values.items()}


def require(module: str):
    """Import an optional part: absent, the test is skipped, or fails where everything must be there."""
    if os.environ.get("ZEROEVIDENCE_REQUIRE_ALL"):
        import importlib

        return importlib.import_module(module)
    return pytest.importorskip(module)
