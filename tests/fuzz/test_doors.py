"""A check that is taken away is noticed by the fuzzer within 2000 cases.

`ZEROEVIDENCE_DOORS=1` breaks one check after the other, which takes minutes for each; without it only the list is
tested.
"""

import os

import pytest

from tests.fuzz.doors import DOORS
from tests.fuzz.running import Lane
from tests.fuzz.seeds.targets import targets

CASES = 2000
AT_ONCE = 50


@pytest.fixture(scope="module")
def made():
    for package in ("torch", "safetensors", "matplotlib", "soundfile"):
        pytest.importorskip(package)
    return targets()


def test_every_door_is_there():
    assert len(DOORS) >= 20
    assert len({door.name for door in DOORS}) == len(DOORS)
    for door in DOORS:
        assert door.broken(door.original()) is not door.original(), door.name


@pytest.mark.skipif(not os.environ.get("ZEROEVIDENCE_DOORS"), reason="slow: runs with ZEROEVIDENCE_DOORS=1")
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name.replace(" ", "-"))
def test_a_broken_door_is_seen(made, door):
    lane = Lane(made, 0, door.name)
    try:
        for first in range(0, CASES, AT_ONCE):
            faults = [outcome for outcome in lane.run(range(first, first + AT_ONCE)) if outcome.is_fault]
            if faults:
                print(f"{door.name}: case {faults[0].case}, {faults[0].command}: {faults[0].kind}")
                return
    finally:
        lane.close()
    pytest.fail(f"{door.name}: not seen within {CASES} cases")
