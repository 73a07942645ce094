"""Whom an encoder learned from: what its card keeps, and who is known again."""

import json
from dataclasses import replace

import pytest

from zeroevidence.attack.encoders import find_card, find_encoder
from zeroevidence.attack.onnx_cards import (
    card_text,
    person_digest,
    read_card,
    refuse_shared,
    shared_people,
    training_people,
)
from zeroevidence.errors import InputError


@pytest.fixture
def trained():
    plain = find_encoder("campplus").card
    learned, stopped = (tuple(person_digest(name) for name in names) for names in (("ann", "bob"), ("cem",)))
    return replace(plain, training_people=learned, development_people=stopped)


def test_people_are_known_again_whatever_their_part(trained):
    assert training_people(trained) == {person_digest(name) for name in ("ann", "bob", "cem")}
    assert shared_people(trained, ["cem", "dora", "ann", "ann"]) == ["ann", "cem"]
    refuse_shared(trained, ["dora", "Ann"])
    with pytest.raises(InputError, match=r"campplus was trained with 2 of the evaluated people, among them 'ann'"):
        refuse_shared(trained, ["cem", "ann"])


@pytest.fixture
def card(trained, tmp_path):
    (tmp_path / trained.file.name).write_bytes(b"")
    path = tmp_path / "card.json"
    path.write_text(card_text(trained))
    return path


def test_a_card_keeps_them(trained, card):
    again = read_card(card)
    assert (again.training_people, again.development_people) == (trained.training_people, trained.development_people)
    assert find_card(str(card)) == again
    assert "ann" not in card.read_text()


@pytest.mark.parametrize("people", ["ann", ["ann"], [1]])
def test_what_is_no_digest_is_refused(card, people):
    card.write_text(json.dumps(json.loads(card.read_text()) | {"training_people": people}))
    with pytest.raises(InputError, match=r"training_people.*: expected (a list|text)"):
        read_card(card)
