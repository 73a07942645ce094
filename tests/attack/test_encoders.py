"""Encoders in the box: the bundled one, those that are added, and how both are checked."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.onnx_bytes import CARD, endless, greedy
from tests.onnx_bytes import external as external_tensor
from tests.onnx_bytes import model as onnx_model
from zeroevidence.attack import encoders
from zeroevidence.attack.encoders import BUNDLED, add_encoder, check_encoders, find_card, find_encoder, inventory
from zeroevidence.attack.extractors import families, load_extractor
from zeroevidence.attack.onnx_cards import card_text, person_digest, refuse_shared, shared_people, training_people
from zeroevidence.attack.onnx_runtime import ALIKE, OnnxExtractor, check_wave, examine
from zeroevidence.errors import InputError, UsageError

pytest.importorskip("soundfile")
pytest.importorskip("onnxruntime")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROEVIDENCE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "encoders"


@pytest.fixture(autouse=True)
def _examined_here(monkeypatch, request):
    """Without a process for each file, but where that is tested."""
    if "apart" not in request.fixturenames:
        monkeypatch.setattr(encoders, "examine_apart", lambda card: examine(_opened(card)))
        monkeypatch.setattr(families, "examine_apart", lambda card: examine(_opened(card)))


def _opened(card):
    return OnnxExtractor(card if card.input else encoders.published_card(card))


@pytest.fixture
def apart():
    """Files are examined in a process of their own."""


@pytest.fixture
def tiny(tmp_path):
    """Write a small model and its card; what they are may be changed."""

    def write(name="tiny", data=None, **change):
        (tmp_path / f"{name}.onnx").write_bytes(onnx_model() if data is None else data)
        card = {key: value for key, value in (CARD | {"file": f"{name}.onnx"} | change).items() if value is not None}
        (tmp_path / f"{name}.json").write_text(json.dumps(card))
        return tmp_path / f"{name}.onnx"

    return write


def _left(home):
    return sorted(one.name for one in home.iterdir()) if home.exists() else []


@pytest.mark.parametrize("card", sorted(BUNDLED.glob("*/card.json")), ids=lambda card: card.parent.name)
def test_what_is_bundled_has_card_licence_and_origin(card):
    bundled = families.read_card(card)
    assert bundled.name == card.parent.name
    assert hashlib.sha256(bundled.file.read_bytes()).hexdigest() == bundled.sha256
    assert all((bundled.licence, bundled.origin, bundled.architecture))
    assert bundled.origin in (card.parent / "README.md").read_text(encoding="utf-8")
    assert bundled.licence.partition("-")[0] in (card.parent / "LICENSE").read_text(encoding="utf-8")
    assert bundled.reference == bundled.name


def test_a_fresh_process_needs_neither_network_nor_torch(tmp_path):
    code = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"the network is asked: {event} {arguments}")

sys.addaudithook(refuse)
for name in ("torch", "resemblyzer", "speechbrain"):
    sys.modules[name] = None
from zeroevidence.attack.onnx_runtime import examine
from zeroevidence.attack.extractors import families, load_extractor
print(examine(load_extractor("campplus")))
"""
    variables = {"HOME": str(tmp_path), "PATH": "", "PYTHONPATH": str(Path(encoders.__file__).parents[3])}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) > ALIKE


def test_the_check_notices_another_front_end_and_other_weights(tmp_path):
    card = families.read_card(BUNDLED / "campplus" / "card.json")
    with pytest.raises(InputError, match=r"campplus_zh_en.onnx: .* has cosine -?0\.\d+ to that of campplus"):
        examine(OnnxExtractor(replace(card, front_end="speechbrain-fbank")))
    data = bytearray(card.file.read_bytes())
    data[len(data) // 2] ^= 64
    (tmp_path / "m.onnx").write_bytes(data)
    with pytest.raises(InputError, match=f"its sha256 is .*; its card says {card.sha256}"):
        OnnxExtractor(replace(card, file=tmp_path / "m.onnx"))


def test_an_added_encoder_is_found_by_its_name(home, tiny):
    file = tiny(architecture="mean square", licence="MIT", note="of no use")
    added = add_encoder(file)
    assert (added.name, added.source, added.card.file) == ("tiny", "added", home / "tiny" / "tiny.onnx")
    assert added.card.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (added.card.architecture, added.card.licence, added.card.note) == ("mean square", "MIT", "of no use")
    model = load_extractor("tiny")
    assert (model.name, model.dim) == ("tiny", 80)
    assert model.fingerprint == load_extractor(file).fingerprint
    assert [one.name for one in inventory().encoders] == ["campplus", "tiny"]
    assert find_encoder("Tiny") == added
    assert [(one.name, one.cosine, one.problem) for one in check_encoders(["tiny"])] == [("tiny", None, None)]
    file.unlink()
    assert load_extractor("tiny").embed([check_wave(16000)]).shape == (1, 80)


def test_cards_from_elsewhere_and_other_names(home, tiny, tmp_path):
    file = tiny(file=None)
    with pytest.raises(InputError, match="no card beside it names this model"):
        add_encoder(file)
    assert add_encoder(file, card=tmp_path / "tiny.json", name="other").name == "other"
    several = tmp_path / "cards" / "several.json"
    several.parent.mkdir()
    several.write_text(json.dumps({"a": CARD | {"file": "x.onnx"}, "b": CARD | {"file": "tiny.onnx"}}))
    assert add_encoder(file, card=several).name == "b"
    assert add_encoder(file, card=f"{several}#a").name == "a"
    tiny("whole")
    assert add_encoder(tmp_path / "whole.json").name == "whole"
    assert _left(home) == ["a", "b", "other", "whole"]


def test_names_that_are_taken_or_cannot_be(home, tiny):
    file = tiny()
    for name in ("campplus", "resemblyzer"):
        with pytest.raises(UsageError, match=f"'{name}' is an extractor already"):
            add_encoder(file, name=name, overwrite=True)
    for name in ("../tiny", "Tiny", "a/b", ".", "a" * 65, "speechbrain/x"):
        with pytest.raises(UsageError, match="cannot name an encoder"):
            add_encoder(file, name=name)
    assert _left(home) == []
    before = add_encoder(file).card.sha256
    file.write_bytes(onnx_model(after=[("Neg",)]))
    with pytest.raises(UsageError, match=r"'tiny' was added already, in .*; --overwrite replaces it"):
        add_encoder(file)
    assert find_encoder("tiny").card.sha256 == before
    assert add_encoder(file, overwrite=True).card.sha256 != before
    assert _left(home) == ["tiny"]


def test_what_does_not_fit_is_refused_and_leaves_nothing(home, tiny, tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(320))
    beside = onnx_model(after=[("Add", "w")], tensors=[external_tensor("w.bin")])
    outside = onnx_model(after=[("Add", "w")], tensors=[external_tensor("../w.bin")])
    cases = {
        r"tiny\.json: tiny: has no 'dim'; expected one": {"dim": None},
        r"tiny\.json: tiny: features not understood; expected front_end": {"front_end": None},
        r"tiny\.json: tiny: unknown front end 'mel'; expected front_end to be one of speech": {"front_end": "mel"},
        r"tiny\.json: tiny: sample_rate is 8000; expected 16000": {"sample_rate": 8000},
        r"tiny\.json: tiny: sha256 is '12ab'; expected 64 hexadecimal digits": {"sha256": "12ab"},
        r"tiny\.onnx: output of shape \(1, 80\); expected \(1, 79\)": {"dim": 79},
        r"tiny\.onnx: has inputs feats and outputs embedding; its card says x": {"input": "x"},
        r"tiny\.onnx: its sha256 is \w{64}; its card says 0{64}": {"sha256": 64 * "0"},
        r"tiny\.onnx: has \d+ bytes; its card says 7": {"bytes": 7},
        r"tiny\.json: tiny: dim is 10000000; expected a whole number from 1 to 1048576": {"dim": 10**7},
        r"tiny\.json: tiny\.note: expected text, got 7": {"note": 7},
        r"tiny\.onnx: 80 dimensions; expected 192 of ecapa": {"reference": "ecapa"},
        r"tiny\.onnx: no reference 'x'; expected one of campplus, ecapa": {"reference": "x"},
        r"tiny\.onnx: cannot be loaded as ONNX": {"data": b"\x00"},
        r"tiny\.onnx: cannot be run on features of shape": {"front_end": "wave"},
        r"tiny\.onnx: its embedding of the check utterance is not finite": {
            "data": onnx_model(after=[("Neg",), ("Log",)])
        },
        r"tiny\.onnx: gives another embedding .* each time": {"data": onnx_model(after=[("RandomNormalLike",)])},
        r"tiny\.onnx: its embedding of the check utterance is zero": {"data": onnx_model(after=[("Sub", "mean")])},
        r"tiny\.onnx: gives the same embedding of different speech": {"data": onnx_model(after=[("Div", "mean")])},
        r"tiny\.onnx: its weights are in other files \(w\.bin\)": {"data": beside},
        r"tiny\.onnx: its weights are in '\.\./w\.bin', outside its folder": {"data": outside},
    }
    for reason, change in cases.items():
        with pytest.raises(InputError, match=reason):
            add_encoder(tiny(**change))
    with pytest.raises(InputError, match=r"gone.onnx: no such file"):
        add_encoder(tmp_path / "gone.onnx")
    assert _left(home) == []


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (endless, "takes too long; expected an encoder that embeds .* within 2 s of processor time and 6 GiB"),
        (lambda: greedy(10**10), r"cannot be run on features .* requested buffer of size 40000000000"),
        (lambda: b"\x00", "cannot be loaded as ONNX"),
    ],
    ids=["endless", "greedy", "broken"],
)
def test_files_are_examined_in_a_process_with_limits(apart, home, tiny, monkeypatch, model, reason):
    """Also those that an audit is given."""
    monkeypatch.setattr(encoders, "_SECONDS", 2)
    file = tiny(data=model())
    for load in (add_encoder, load_extractor):
        with pytest.raises(InputError, match=rf"tiny\.onnx: {reason}"):
            load(file)
    assert _left(home) == []


def test_a_file_that_passes_apart_gives_the_cosine(apart, tiny):
    assert load_extractor(tiny()).dim == 80
    (checked,) = check_encoders(["campplus"])
    assert (checked.cosine > ALIKE, checked.problem) == (True, None)


def test_a_file_that_was_changed_after_it_was_added_is_noticed(home, tiny):
    add_encoder(tiny())
    file = home / "tiny" / "tiny.onnx"
    data = file.read_bytes()
    # still ONNX: with the name of its maker, and with another name of what goes in
    longer, other = data + b"\x12\x01x", data.replace(b"feats", b"taefs")
    for changed, words in ((longer, f"has {len(longer)} bytes; its card says {len(data)}"), (other, "its sha256 is")):
        file.write_bytes(changed)
        with pytest.raises(InputError, match=words):
            load_extractor("tiny")
        (bad,) = check_encoders(["tiny"])
        assert words in bad.problem.reason


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("../tiny.onnx", r"file is '\.\./tiny\.onnx', outside the folder of the card; expected one beside it"),
        ("/etc/passwd", "file is '/etc/passwd', outside the folder of the card"),
        (300 * "x", r"no such model file x+\.\.\."),
        ("a\0b", "no such model file"),
        ("", "file is ''; expected text"),
    ],
)
def test_a_card_names_a_file_beside_it(home, tiny, file, reason):
    card = tiny(file=file).with_suffix(".json")
    with pytest.raises(InputError, match=rf"tiny\.json: tiny: {reason}"):
        add_encoder(card)


@pytest.mark.parametrize("text", ["[" * 9000, '{"t": {"dim": NaN}}', "\xff", '["card"]'])
def test_a_card_that_is_none_is_refused_by_name(home, tiny, text):
    (file := tiny().with_suffix(".json")).write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"tiny\.json"):
        add_encoder(file)


def test_a_broken_card_hides_no_other_encoder(home, tiny):
    add_encoder(tiny(), name="fine")
    add_encoder(tiny(), name="broken")
    (home / "broken" / "card.json").write_text("{")
    there = inventory()
    assert [one.name for one in there.encoders] == ["campplus", "fine"]
    assert [Path(one.path).parent.name for one in there.problems] == ["broken"]
    assert [(one.name, one.problem is None) for one in check_encoders()][1:] == [("fine", True), ("broken", False)]
    for use in (find_encoder, load_extractor):
        with pytest.raises(InputError, match=r"card\.json:1: not JSON"):
            use("broken")
    with pytest.raises(InputError, match="wishful: no such encoder; expected one of campplus, fine"):
        check_encoders(["wishful"])


def test_published_encoders_are_recognised(home, tiny, shared):
    file = tiny()
    with pytest.raises(InputError, match=r"has outputs embedding .*; expected one of utterances x 192, as ecapa"):
        add_encoder(file, published="ecapa")
    with pytest.raises(UsageError, match="unknown published encoder 'wishful'; expected ecapa"):
        add_encoder(file, published="wishful")
    with pytest.raises(UsageError, match="expected either its name or a card"):
        add_encoder(file, published="ecapa", card=file)
    assert _left(home) == []
    added = add_encoder(shared / "models" / "ecapa_voxceleb.onnx", published="ECAPA")
    assert (added.name, added.card.reference, added.card.front_end) == ("ecapa", "ecapa", "speechbrain-fbank")


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
    again = families.read_card(card)
    assert (again.training_people, again.development_people) == (trained.training_people, trained.development_people)
    assert find_card(str(card)) == again
    assert "ann" not in card.read_text()


@pytest.mark.parametrize("people", ["ann", ["ann"], [1]])
def test_what_is_no_digest_is_refused(card, people):
    card.write_text(json.dumps(json.loads(card.read_text()) | {"training_people": people}))
    with pytest.raises(InputError, match=r"training_people.*: expected (a list|text)"):
        families.read_card(card)
