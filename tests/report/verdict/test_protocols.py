"""The sentence on other protocols, on either side of what they promised."""

from dataclasses import replace

from tests.report.verdict.made import AGAINST, check_sides, developed, search_row, text
from zeroevidence.evaluation import findings
from zeroevidence.evaluation.rows.about import Protocol
from zeroevidence.report.numbers import describe_methods


def under(protocol, development, *, top1=0.3, alid=0.5, system="s"):
    role = "attack" if protocol == Protocol(4) else "protocol"
    about = replace(AGAINST.informed, role=role, protocol=protocol)
    return developed(search_row(top1, alid, about=about, system=system), development)


ATTACK = under(Protocol(4), 1.5)
BETTER = under(Protocol(4, tried=3, sex="told"), 2.5, top1=0.6, alid=2.0)
WORSE, ELSEWHERE = under(Protocol(2), 1.5), replace(BETTER, labels={"system": "other"})


def test_both_sides():
    promised = "3 of one person tried together, people of the same sex searched for, the sex being told), which is not"
    check_sides(text, promised, [[ATTACK, BETTER, WORSE]], [[ATTACK, WORSE], [ATTACK], [ATTACK, ELSEWHERE]])
    check_sides(text, "to 60 % of 100 trials, and a trial gives away 2.00 bits.", [[ATTACK, BETTER]], [[ATTACK]])
    check_sides(text, "No other protocol that was tried", [[ATTACK, WORSE]], [[ATTACK, BETTER, WORSE], [ATTACK]])


def test_the_method_is_described_where_it_was_used():
    described = [any(part.startswith("Protocols: ") for part in describe_methods(rows, ["alid"]))
                 for rows in ([ATTACK, BETTER], [ATTACK])]  # fmt: skip
    assert described == [True, False]


def test_the_main_number_does_not_change():
    alone, beside = findings([ATTACK])[0], findings([ATTACK, BETTER])[0]
    assert (alone.strongest, alone.attempts) == (beside.strongest, beside.attempts) == (0, (0,))
    assert alone.chance[0] == beside.chance[0]
