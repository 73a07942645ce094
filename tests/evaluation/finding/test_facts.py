"""The best attacker of each kind."""

import zeroevidence as ze
from tests.report.verdict.made import developed, search_row
from zeroevidence.attack.attackers import RANDOM_VECTORS, UNPROTECTED_SPEECH, find_attacker
from zeroevidence.evaluation import findings

CONTROL, FLOOR = ze.About.against(UNPROTECTED_SPEECH), ze.About.against(RANDOM_VECTORS)
IGNORANT, LAZY, INFORMED = (
    ze.About.against(find_attacker(name)) for name in ("ignorant", "lazy-informed", "semi-informed")
)


def by_system(rows):
    return findings(rows)[0].systems


def test_best_of_each_kind_from_the_least_to_the_best_informed():
    rows = [
        search_row(1.0, 4.0, about=CONTROL, system="unprotected"),
        search_row(0.05, 0.0, "at-chance", about=FLOOR, system="random"),
        developed(search_row(0.5, 2.0, about=INFORMED, system="s", backend="a"), 1.9),
        developed(search_row(0.6, 2.5, about=INFORMED, system="s", backend="b"), 1.2),  # chosen by development people
        developed(search_row(0.2, 0.4, about=IGNORANT, system="s", backend="a"), 0.3),
        developed(search_row(0.3, 0.6, about=LAZY, system="s", backend="a"), 0.5),
        developed(search_row(0.3, 0.7, about=LAZY, system="s", backend="b"), 0.7),
        *(developed(search_row(0.2, 0.3, about=LAZY, system="s", backend=name), 0.2) for name in "cd"),
    ]
    (system,) = by_system(rows)
    assert system.best == (4, 6, 2)
    assert system.counting == 2
    assert set(system.attempts) == {2, 3, 4, 5, 6, 7, 8}
    assert (system.control, system.floor) == (0, 1)
    assert findings(rows)[0].further == {3, 5, 7, 8}
    assert findings(rows[:8])[0].further == frozenset()  # few rows are all seen at once


def test_systems_and_groups_of_people_stand_apart():
    rows = [search_row(0.3, 0.5, about=LAZY, system=system, sex=sex) for system in ("s", "t") for sex in ("f", "m")]
    systems = by_system(rows)
    assert sorted(system.counting for system in systems) == [0, 1, 2, 3]
    assert all(system.best == (system.counting,) for system in systems)
    assert systems[0].counting == findings(rows)[0].strongest


def test_an_adapter_is_a_kind_of_its_own():
    backend, adapter = (find_attacker(name) for name in ("backend-informed", "backend-informed-adapter"))
    rows = [search_row(0.4, 1.0, about=ze.About.against(threat), system="s") for threat in (adapter, backend)]
    assert by_system(rows)[0].best == (1, 0)
    informed = search_row(0.4, 1.0, about=INFORMED, system="s")  # trained an encoder, too
    assert by_system([informed, *rows])[0].best == (2, 1, 0)


def test_a_bound_alone():
    (system,) = by_system([search_row(1.0, 4.0, about=CONTROL, system="unprotected")])
    assert (system.counting, system.best, system.control) == (0, (0,), None)
