"""Labels from a file beside embeddings, and embeddings written and read again."""

import numpy as np
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.vectors.read import read_embeddings, read_labelled, write_embeddings
from zeroevidence.errors import InputError, UsageError

VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "voices.npz"
    write_embeddings(Embeddings(VECTORS, ["u1", "u2", "u3"], ["ada", "ada", "bob"], {"accent": ["n", "n", "s"]}), path)
    return path


def test_what_is_written_is_read_again(made):
    found = read_embeddings(made)
    np.testing.assert_array_equal(found.vectors, VECTORS)
    assert found.vectors.dtype == np.float32
    assert found.ids.tolist() == ["u1", "u2", "u3"]
    assert found.speakers.tolist() == ["ada", "ada", "bob"]
    assert found.attributes["accent"].tolist() == ["n", "n", "s"]


def test_no_file_is_replaced_unasked_and_the_name_says_the_format(made, tmp_path):
    before = made.read_bytes()
    with pytest.raises(UsageError, match="exists"):
        write_embeddings(Embeddings(VECTORS), made)
    assert made.read_bytes() == before
    write_embeddings(Embeddings(VECTORS), made, overwrite=True)
    assert read_embeddings(made).speakers is None
    with pytest.raises(UsageError, match=r"ends in \.npz"):
        write_embeddings(Embeddings(VECTORS), tmp_path / "voices.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["voices.npz"]


@pytest.mark.parametrize("lines", ["ada f\nbob m\n", "u1 f\nu2 f\nu3 m\n", "u3 m\nada f\n"])
def test_labels_by_utterance_or_by_speaker(made, tmp_path, lines):
    labels = tmp_path / "labels"
    labels.write_text(lines)
    found = read_labelled(made, "sex", labels=labels)
    assert found.attributes["sex"].tolist() == ["f", "f", "m"]
    assert found.attributes["accent"].tolist() == ["n", "n", "s"]
    assert "sex" not in read_labelled(made, "sex").attributes


def test_a_voice_without_a_label_is_named(made, tmp_path):
    labels = tmp_path / "labels"
    labels.write_text("ada f\n")
    with pytest.raises(InputError, match="no label for 'u3'") as error:
        read_labelled(made, "sex", labels=labels)
    assert error.value.path == str(labels)
