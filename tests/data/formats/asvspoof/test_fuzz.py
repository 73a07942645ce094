"""Damaged ASVspoof files: the right answer or an error with its place, never a wrong number or another exception."""

import math
import random
import re

import pytest

from tests.data.formats.scores.reading.test_fuzz import NUMBER, damage
from zeroevidence.data.formats.asvspoof.read import diagnose_tandem, read_tandem
from zeroevidence.errors import InputError

# A naive reader, written apart from the package: the format is known, None for anything that is not right.


def naive_rows(data, width):
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    lines = [line for line in lines if line.strip(" \t")]
    if any(ord(letter) < 32 and letter != "\t" for line in lines for letter in line):
        return None
    rows = [re.split(r"[ \t]+", line.strip(" \t")) for line in lines]
    return rows if rows and all(len(row) == width for row in rows) else None


def number(cell):
    return float(cell) if NUMBER.fullmatch(cell) and math.isfinite(float(cell)) else None


def sound(attack, key):
    return attack != "bonafide" if key == "spoof" else attack in ("-", "bonafide")


def naive(form, scores, key):
    rows = naive_rows(scores, {"2019-cm": 4, "2019-asv": 3, "2021-cm": 2}[form])
    if rows is None:
        return None
    if form == "2021-cm":
        labels = naive_rows(key, 8)
        if labels is None:
            return None
        wanted = {row[1]: row for row in labels}
        if len(wanted) != len(labels) or len({row[0] for row in rows}) != len(rows):
            return None
        if set(wanted) != {row[0] for row in rows} or any(number(row[1]) is None for row in rows):
            return None
        rows = [(*wanted[utterance][4:6], score) for utterance, score in rows if wanted[utterance][7] == "eval"]
        if not all(row[5] in ("bonafide", "spoof") and sound(row[4], row[5]) for row in labels):
            return None
    elif form == "2019-cm":
        if len({row[0] for row in rows}) != len(rows):
            return None
        rows = [row[1:] for row in rows]
    kinds = {"target", "nontarget", "spoof"} if form == "2019-asv" else {"bonafide", "spoof"}
    found = [(key, number(score)) for attack, key, score in rows if key in kinds and sound(attack, key)]
    if len(found) != len(rows) or any(score is None for _, score in found) or {key for key, _ in found} != kinds:
        return None
    return sorted(found)


def valid(form, rng):
    attacks = ["A07", "A08", "A19"]
    kinds = ["target", "nontarget", "spoof"] if form == "2019-asv" else ["bonafide", "spoof"]
    trials = [(f"LA_E_{n}", rng.choice(kinds), rng.choice(["%.3f", "%.6e", "%g"]) % rng.gauss(0, 3)) for n in range(12)]
    rows = [(name, rng.choice(attacks) if key == "spoof" else "-", key, score) for name, key, score in trials]
    if form == "2019-cm":
        return "".join(f"{name} {attack} {key} {score}\n" for name, attack, key, score in rows).encode(), None
    if form == "2019-asv":
        return "".join(f"{attack} {key} {score}\n" for _, attack, key, score in rows).encode(), None
    phases = [rng.choice(["eval", "eval", "progress"]) for _ in rows]
    key = "".join(f"s1 {n} alaw tx {a} {k} notrim {p}\n" for (n, a, k, _), p in zip(rows, phases, strict=True))
    rng.shuffle(rows)
    return "".join(f"{name} {score}\n" for name, _, _, score in rows).encode(), key.encode()


def answer_of(data):
    return sorted(
        (name.partition("_")[2], float(score)) for name, trials in data.classes().items() for score in trials.scores
    )


@pytest.mark.parametrize("form", ["2019-cm", "2019-asv", "2021-cm"])
def test_damaged_files(tmp_path, form):
    rng = random.Random(form)
    side = "sasv" if form == "2019-asv" else "cm"
    read = 0
    for _ in range(150):
        scores, key = valid(form, rng)
        for _ in range(rng.choice([0, 1, 1, 2])):
            if key is not None and rng.random() < 0.5:
                key = damage(key, rng)
            else:
                scores = damage(scores, rng)
        files = {side: tmp_path / "scores"} | ({} if key is None else {"key": tmp_path / "key"})
        (tmp_path / "scores").write_bytes(scores)
        (tmp_path / "key").write_bytes(key or b"")
        found = diagnose_tandem(**files)
        expected = naive(form, scores, key)
        answer, raised = None, None
        try:
            answer = answer_of(read_tandem(**files).data)
        except InputError as error:
            raised = error.problem
        if raised is not None:
            assert raised == found[0]
            assert all(re.match(r"(scores|key)(:\d+)?: ", str(p).replace(f"{tmp_path}/", "")) for p in found)
            assert expected is None, found
        else:
            assert not found
            assert answer == expected
            read += 1
    assert 30 < read < 130  # both outcomes were seen often
