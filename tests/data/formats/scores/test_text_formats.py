"""Score files as other tools write them, each with a damaged version and the message about it."""

import struct

import numpy as np
import pytest

from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.errors import InputError
from zeroevidence.evaluation.score_files import ScoreFile


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def reasons(path, key=None, **options):
    return [str(one).replace(f"{path.parent}/", "") for one in diagnose(path, key, ReadingOptions(**options))]


SPEECHBRAIN = (
    "id10270/5r0dWxy17C8/00001 id10270/8jEAjG6SegY/00008 1 0.623541\n"
    "id10270/5r0dWxy17C8/00001 id10300/ize_eiCFEg0/00003 0 -0.031124\n"
    "id10270/5r0dWxy17C8/00001 id10270/GWXujl-xAVM/00017 1 0.518230\n"
)


def test_speechbrain(put):
    path = put("scores.txt", SPEECHBRAIN)
    loaded = read_scores(path)
    assert loaded.format == "speechbrain"
    assert (loaded.data.target.tolist(), loaded.data.nontarget.tolist()) == ([0.623541, 0.51823], [-0.031124])
    assert loaded.data.speakers is None  # both sides are utterances
    pairs = (line.split() for line in SPEECHBRAIN.splitlines())
    key = put("veri_test.txt", "".join(f"{label} {one} {other}\n" for one, other, label, _ in pairs))
    assert read_scores(path, key).key_format == "voxceleb"
    assert read_scores(put("kaldi", "a u 1\nb u 2\n"), put("k", "a u 1 0.5\nb u 0 0.25\n")).key_format == "speechbrain"


PANDAS = ",enrol,trial,score,label\n0,ada,u1,2.5,True\n1,ada,u2,0.5,False\n2,bob,u2,1.5,True\n"


@pytest.mark.parametrize("header", ["", "Unnamed: 0", "index"])
def test_a_table_that_pandas_wrote_with_its_index(put, header):
    loaded = read_scores(put("scores.csv", header + PANDAS))
    assert loaded.format == "table"
    assert (loaded.data.target.tolist(), loaded.data.nontarget.tolist()) == ([2.5, 1.5], [0.5])


def test_a_table_that_pandas_wrote_broken(put):
    path = put("scores.csv", PANDAS.replace("0.5,False", ",False"))  # a missing value is an empty cell
    assert reasons(path) == ["scores.csv:3: empty score; expected ... enrol trial score label"]
    path = put("scores.csv", PANDAS.replace("True", "yes"))
    assert reasons(path)[0] == "scores.csv:2: unknown label 'yes'; expected target or nontarget (or 1 / 0)"


SRE = "modelid\tsegmentid\tside\tLLR\n"
SRE += "1001_sre21\tabc.sph\ta\t3.2\n1001_sre21\tabd.sph\ta\t-4.5\n1002_sre21\tabc.sph\tb\t-1\n"
SRE_KEY = (
    "modelid\tsegmentid\tside\ttargettype\tnum_enroll_segs\tgender\n"
    "1001_sre21\tabc.sph\ta\ttarget\t1\tmale\n1001_sre21\tabd.sph\ta\tnontarget\t3\tmale\n"
    "1002_sre21\tabc.sph\tb\tnontarget\t1\tmale\n"
)


def test_nist(put):
    loaded = read_scores(put("scores.tsv", SRE), put("key.tsv", SRE_KEY))
    assert (loaded.format, loaded.key_format) == ("sre", "sre")
    assert (loaded.data.target.tolist(), sorted(loaded.data.nontarget)) == ([3.2], [-4.5, -1.0])
    assert sorted(loaded.data.trials) == ["abc.sph", "abc.sph:b", "abd.sph"]
    assert loaded.data.speakers is None
    blanks = read_scores(put("scores.txt", SRE.replace("\t", " ")), put("k", SRE_KEY), ReadingOptions(format="sre"))
    assert blanks.data.target.tolist() == [3.2]


def test_nist_broken(put):
    key = put("key.tsv", SRE_KEY)
    path = put("scores.tsv", SRE.replace("-4.5", "-4,5"))
    assert reasons(path, key) == ["scores.tsv:3: score '-4,5' is not a number; expected one such as -1.25 or 3e-4"]
    path = put("scores.tsv", SRE.replace("\tb\t", "\ta\t"))  # another channel than the key's
    assert "'1002_sre21 abc.sph' is not in the key" in reasons(path, key)[0]
    path = put("scores.tsv", SRE.replace("LLR", "likelihood"))
    assert reasons(path, key)[0].endswith("no column named score (found: enrol, trial); expected one")
    path = put("plain", "ada u1 2\n")
    assert reasons(path, format="sre") == ["plain:1: no header; expected modelid, segmentid, side and LLR"]


SCORES, LABELS = np.array([2.5, 0.5, 1.5, -1.0]), np.array([1, 0, 1, 0])


@pytest.mark.parametrize(
    "save",
    [
        lambda path: np.savez(path, scores=SCORES, labels=LABELS),
        lambda path: np.savez(path, scores=SCORES.astype(np.float32), hypothesis=LABELS.astype(bool)),  # as of lir
        lambda path: np.savez(path, SCORES, np.array(["target", "nontarget", "target", "nontarget"])),
        lambda path: np.save(path, np.stack((SCORES, LABELS))),
        lambda path: np.save(path, np.stack((SCORES, LABELS), axis=1)),
    ],
)
def test_scores_and_labels_of_numpy(tmp_path, save):
    path = tmp_path / "scores"
    with path.open("wb") as stream:
        save(stream)
    for format in ("auto", "arrays"):
        loaded = read_scores(path, options=ReadingOptions(format=format))
        assert loaded.format == "arrays"
        assert (loaded.data.target.tolist(), loaded.data.nontarget.tolist()) == ([2.5, 1.5], [0.5, -1.0])


def test_scores_and_labels_of_numpy_may_be_named(tmp_path):
    path = tmp_path / "scores.npz"
    np.savez(path, scores=SCORES, labels=LABELS, enrolments=list("aabb"), trials=["u", "v", "v", b"u".decode()])
    loaded = read_scores(path)
    assert loaded.data.trial_speakers.tolist() == ["a", "b"]
    np.savez(path, scores=SCORES, labels=LABELS, enrolments=list("aaaa"), trials=list("uvuw"))
    assert reasons(path) == ["scores.npz: duplicate of 'a u'; expected each pair once"]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"scores": SCORES, "labels": LABELS[:3]}, "labels: shape (3,); expected 4, one per score"),
        ({"scores": SCORES, "labels": LABELS + 1}, "labels: 2 at position 0; expected 1, 0, target or nontarget"),
        ({"scores": SCORES.astype(str), "labels": LABELS}, "expected numbers, one per trial"),
        ({"scores": SCORES, "labels": np.ones(4)}, "all 4 trials are target; expected both target and nontarget"),
        ({"scores": SCORES, "labels": np.array([None] * 4)}, "cannot be read as NumPy npz"),
    ],
)
def test_scores_and_labels_of_numpy_broken(tmp_path, arrays, said):
    path = tmp_path / "scores.npz"
    np.savez(path, **arrays)
    assert said in reasons(path)[0]


ARK = "u1  [ 2.5 0.25 -1 ]\nu2  [ 0.5 1.5 0 ]\nu3  [ 0 0 0.125 ]\n"


def binary_ark(text):
    out = b""
    for line in text.splitlines():
        name, numbers = line.split("[")
        values = [float(one) for one in numbers.strip(" ]").split()]
        out += (
            name.strip().encode() + b" \0BFV \x04" + struct.pack("<i", len(values)) + np.array(values, "<f4").tobytes()
        )
    return out


@pytest.mark.parametrize("content", [ARK, binary_ark(ARK)])
def test_kaldi_archives(put, content):
    path, key = put("scores.ark", content), put("utt2int", "u1 0\nu2 1\nu3 -1\n")
    for format in ("auto", "kaldi-ark"):
        loaded = read_scores(path, key, ReadingOptions(format=format))
        assert loaded.format == "kaldi-ark"
        assert loaded.data.scores.tolist() == [[2.5, 0.25, -1.0], [0.5, 1.5, 0.0], [0.0, 0.0, 0.125]]
        assert (loaded.data.mated.tolist(), loaded.data.trials.tolist()) == ([0, 1, -1], ["u1", "u2", "u3"])


@pytest.mark.parametrize(
    ("ark", "key", "said"),
    [
        (ARK.replace(" 0.125", ""), "u1 0\n", "scores.ark: 'u3' has 2 entries, the first vector 3; expected the same"),
        (ARK.replace("1.5", "x"), "u1 0\n", "scores.ark: 'u2': an entry is not a number"),
        (binary_ark(ARK)[:-3], "u1 0\n", "scores.ark: 'u3': says 3 entries, but the file ends before; it is cut off"),
        (ARK, None, "scores.ark: no labels; expected a key (--key KEY) with `trial number` on each line"),
        (ARK, "u1 0\nu2 3\nu3 1\n", "key:2: '3' is no identity; expected a whole number from -1 to 2"),
        (ARK, "u1 0\nu2 1\nu4 1\n", "key:3: 'u4' is not in "),
        (ARK, "u1 0\nu2 1\n", "is missing; expected a line for every trial"),
        (ARK, "u1 0\nu1 1\n", "key:2: 'u1' is 0 before; expected one identity"),
        (ARK.replace("2.5", "nan"), "u1 0\nu2 1\nu3 1\n", "score nan at trial 0, identity 0 is not finite"),
    ],
)
def test_kaldi_archives_broken(put, ark, key, said):
    path = put("scores.ark", ark)
    (found,) = reasons(path, None if key is None else put("key", key))
    assert said in found


def test_distances_are_refused(put):
    rng = np.random.default_rng(0)
    near, far = rng.normal(0.4, 0.1, 30), rng.normal(0.9, 0.1, 60)
    text = "".join(f"{x} target\n" for x in near) + "".join(f"{x} nontarget\n" for x in far)
    file = ScoreFile(str(put("distances", text)))
    with pytest.raises(InputError, match=r"distances: targets score lower .* or --negate to turn the scores round"):
        file.read()
    (problem,) = file.problems()
    assert problem.reason.startswith("targets score lower")


@pytest.mark.parametrize(("near", "far", "number"), [(0.5, 0.5, 200), (0.5, 0.57, 200), (0.1, 0.9, 9)])
def test_what_chance_may_do_is_not_refused(put, near, far, number):
    rng = np.random.default_rng(1)
    text = "".join(f"{rng.normal(near, 0.1)} target\n{rng.normal(far, 0.1)} nontarget\n" for _ in range(number))
    file = ScoreFile(str(put("scores", text)))
    assert len(file.read().data) == 2 * number
    assert file.problems() == []
