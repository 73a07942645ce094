"""Every public name shows an example in its docstring, and the example is right."""

from __future__ import annotations

import doctest

import pytest

from zeroevidence import protect

# the optional module, if any, that an example needs
NEEDS = {
    "AdversarialAutoencoder": "torch",
    "ZeroEvidenceFlow": "torch",
    "load_model": "safetensors.numpy",
    "save_model": "safetensors.numpy",
}
ASSESSMENT = {"Roles", "assess"}  # their tests are in test_assessment.py


@pytest.mark.parametrize("name", sorted(set(protect.__all__) - ASSESSMENT))
def test_example(name):
    pytest.importorskip(NEEDS.get(name, "numpy"))
    public = getattr(protect, name)
    found = doctest.DocTestFinder(recurse=False).find(public, name, globs={})
    examples = [one for one in found if one.examples]
    assert examples, f"{name} has no example"
    for one in examples:
        said: list[str] = []
        failed = doctest.DocTestRunner().run(one, out=said.append).failed
        assert not failed, "".join(said)
