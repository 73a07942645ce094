"""Sessions of a corpus: enrolment and trials are drawn from different ones where that can be."""

from pathlib import Path

import pytest

from zeroevidence.data.corpus import Corpus, Utterance, session_of
from zeroevidence.data.folds import default_folds, draw_folds
from zeroevidence.data.formats.corpora import examine_corpus, read_corpus
from zeroevidence.errors import InputError, UsageError


def corpus(people=12, sessions=2, each=3, first=0):
    """People with as many recordings in each of their sessions."""
    names = [(f"p{i:02d}", k, j) for i in range(first, first + people) for k in range(sessions) for j in range(each)]
    made = ((f"{p}-{k}{j}", p, Path(f"{p}/{k}{j}.wav"), {"session": f"day{k}"}) for p, k, j in names)
    return Corpus(tuple(Utterance(*each, attributes=attributes) for *each, attributes in made))


def sessions_by_role(assigned):
    """For each evaluated or development speaker the sessions of enrolment and of trials."""
    sessions = {}
    for utterance in assigned:
        if utterance.role != "train":
            roles = sessions.setdefault(utterance.speaker, {"enrol": set(), "trial": set()})
            roles[utterance.role].add(session_of(utterance))
    return sessions


@pytest.mark.parametrize("number", [2, 3])
def test_enrolment_and_trials_are_of_different_sessions(number):
    given = corpus(sessions=number)
    for assigned in (given.assign(), *draw_folds(given, 3)):
        drawn = sessions_by_role(assigned)
        assert len(drawn) >= 8
        for roles in drawn.values():
            assert roles["enrol"]
            assert roles["trial"]
            assert not roles["enrol"] & roles["trial"]
    assert len({frozenset(roles["enrol"]) for roles in sessions_by_role(given.assign()).values()}) > 1


def test_people_of_one_session_are_only_learned_from():
    given = Corpus((*corpus(9), *corpus(4, sessions=1, first=9)))
    assert given.single == ("p09", "p10", "p11", "p12")
    for assigned in (given.assign(), *draw_folds(given, 3)):
        assert not set(given.single) & set(sessions_by_role(assigned))
    assert default_folds(given) == 3
    with pytest.raises(InputError, match="16 speakers, 13 of them with one session, leave fewer than two"):
        Corpus((*corpus(3), *corpus(13, sessions=1, first=3))).assign()
    with pytest.raises(UsageError, match="3 people with two sessions each"):
        draw_folds(Corpus((*corpus(3), *corpus(4, sessions=1, first=3))), 3)


def test_where_nobody_has_two_sessions_recordings_are_shared_out():
    given = corpus(sessions=1, each=4)
    assert not given.by_session
    assert given.single == ()
    drawn = sessions_by_role(given.assign())
    assert all(roles == {"enrol": {"day0"}, "trial": {"day0"}} for roles in drawn.values())


def test_a_session_is_known_of_all_or_of_none():
    lacking = Corpus((*corpus(9), Utterance("late", "p00", Path("late.wav"))))
    with pytest.raises(InputError, match="utterance 'late' has no session, but others have one; expected one for each"):
        lacking.assign()


def table(folder, lines):
    (folder / "utterances.tsv").write_text("\n".join(("utterance\tspeaker\tpath\tsession", *lines)) + "\n")
    for line in lines:
        (folder / line.split("\t")[2]).touch()
    return folder


def test_the_column_of_a_table(tmp_path):
    lines = [f"p{i}-{k}\tp{i}\tp{i}-{k}.wav\tday{k % 2}" for i in range(8) for k in range(4)]
    assigned = sessions_by_role(read_corpus(table(tmp_path, lines)))
    assert all(roles["enrol"].isdisjoint(roles["trial"]) for roles in assigned.values())
    table(tmp_path, [*lines, "p0-9\tp0\tp0-9.wav\t"])
    with pytest.raises(InputError) as refused:
        read_corpus(tmp_path)
    expected = "utterances.tsv:34: utterance 'p0-9' has no session, but others have one; expected one for each"
    assert str(refused.value).endswith(expected)


def notes(folder, lines):
    return [str(note) for note in examine_corpus(table(folder, lines)).notes if "session" in str(note)]


def test_doctor_notes_people_of_one_session(tmp_path):
    twice = [f"p{i}-{k}\tp{i}\tp{i}-{k}.wav\tday{k}" for i in range(2) for k in range(2)]
    once = [f"q-{k}\tq\tq-{k}.wav\tday0" for k in range(2)]
    assert notes(tmp_path, twice) == []
    (note,) = notes(tmp_path, [*twice, *once])
    assert ":6: speaker 'q' has one session ('day0'): cannot be enrolled and tried in different ones" in note
    (note,) = notes(tmp_path, once)
    assert note.endswith("nobody was recorded in two sessions, so an audit cannot tell the room from the voice")
