"""Tables of single people."""

from dataclasses import replace

import zeroevidence as ze
from zeroevidence.measure.pairs.zebra import tag_of
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.page import to_html
from zeroevidence.report.people import people_table, recordings_table
from zeroevidence.report.verdict import verdict


def headings(table):
    return [column.heading for column in table.columns]


def test_several_recordings_stand_beside_one(audit_rows, without_figures):
    table = recordings_table(verdict(audit_rows).finding)
    assert table.numbers == (4, 4, 1, 1)
    lines = [[cell.text for cell in line] for line in table.cells]
    assert [line[:3] for line in lines] == [
        ["sys, d", "1", "20"],
        ["sys, d", "3", "20"],
        ["unprotected, d", "1", "20"],
        ["unprotected, d", "3", "20"],
    ]
    recordings = audit_rows[3].recordings
    assert lines[1][3] == f"{100 * recordings.top1[2]:.2f}"
    assert table.cells[1][4].below == f"[{recordings.alid_low[2]:.4f}, {recordings.alid_high[2]:.4f}]"
    page = to_html(ReportInputs(audit_rows))
    assert "Attackers who hold 10 recordings of one person could not be tried" in page


def test_people_whose_names_come_up_for_everybody_are_marked(hub):
    table, _ = people_table(verdict([hub]).finding)
    column = headings(table).index("falsely [%]")
    notes = {line[0].text: line[column] for line in table.cells}
    assert notes["p000"].note == "comes up for everybody"
    assert float(notes["p000"].text) > 40
    assert not any(cell.note for name, cell in notes.items() if name != "p000")
    assert table.cells[0][0].text != "p000"


def test_people_with_few_recordings_are_not_listed(hub):
    people = replace(hub.people, trials=(4, *hub.people.trials[1:]))
    table, _ = people_table(verdict([replace(hub, people=people)]).finding)
    full, _ = people_table(verdict([hub]).finding)
    first = hub.people.speaker[0]
    assert first in {line[0].text for line in full.cells}
    assert first not in {line[0].text for line in table.cells}
    nobody = replace(hub, people=replace(people, trials=(4,) * len(people.trials)))
    assert people_table(verdict([nobody]).finding) == (None, 0)
    labels = [label.get_text() for label in ze.plot.people(replace(hub, people=people)).get_yticklabels()]
    assert labels[:2] == ["person 1", hub.people.speaker[1]]


def test_people_have_their_worst_case_and_tag(hub):
    table, _ = people_table(verdict([hub]).finding)
    assert headings(table)[-1] == "worst case [log10 LR]"
    worst = dict(zip(hub.people.speaker, hub.people.worst_case, strict=True))
    for line in table.cells:
        strength = worst[line[0].text]
        assert line[-1].text == f"{strength:.2f}"
        assert line[-1].note == f"tag {tag_of(strength)}"
        assert float(line[-1].sort_key) == strength
    assert max(float(line[-1].sort_key) for line in table.cells) == hub["worst_case"].value
    unknown = replace(hub, people=replace(hub.people, worst_case=None))
    table, _ = people_table(verdict([unknown]).finding)
    assert "worst case [log10 LR]" not in headings(table)
