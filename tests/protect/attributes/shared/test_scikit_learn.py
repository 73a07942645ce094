"""scikit-learn's own checks of an estimator, for every attribute protector."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from zeroevidence.protect import make_protector
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS

_TOO_FLAT = "three classes in two dimensions leave no room for a residual"
_EXPECTED = {
    "flow": dict.fromkeys(
        ("check_estimators_overwrite_params", "check_estimators_fit_returns_self", "check_readonly_memmap_input"),
        _TOO_FLAT,
    )
}


def quick(name):
    return make_protector(name, {"epochs": 1} if "epochs" in ATTRIBUTE_PROTECTORS.find(name).parameters else {})


@parametrize_with_checks(
    [quick(name) for name in ATTRIBUTE_PROTECTORS],
    expected_failed_checks=lambda protector: _EXPECTED.get(protector.kind, {}),
)
@pytest.mark.filterwarnings("ignore")
def test_is_an_estimator(estimator, check):
    if ATTRIBUTE_PROTECTORS.find(estimator.kind).extra is not None:
        pytest.importorskip("torch")
    check(estimator)
