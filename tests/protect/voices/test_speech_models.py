"""The files of the recogniser are those of the version that was tried, or there is one clear message."""

import importlib.util
from itertools import product

import numpy as np
import pytest

from zeroevidence.errors import InputError
from zeroevidence.protect.voices.speech_models.recognisers import moonshine_file, search_text

INSTALLED = importlib.util.find_spec("moonshine_voice") is not None


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of that name without any files, found before an installed one."""
    home = tmp_path / "moonshine_voice"
    home.mkdir()
    (home / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "moonshine_voice", raising=False)
    moonshine_file.cache_clear()
    yield home
    moonshine_file.cache_clear()


def test_other_files_are_refused(package):
    with pytest.raises(InputError, match=r"encoder_model\.ort: cannot be read.*expected moonshine-voice==0\.0\.62"):
        moonshine_file("encoder")
    folder = package / "assets" / "tiny-en"
    folder.mkdir(parents=True)
    (folder / "encoder_model.ort").write_bytes(b"other")
    with pytest.raises(InputError, match=r"SHA-256 d9298a10d1b0\.\.\.; expected 94e90a4654fc\.\.\."):
        moonshine_file("encoder")


@pytest.mark.skipif(not INSTALLED, reason="moonshine-voice is not installed")
@pytest.mark.parametrize("part", ["encoder", "decoder", "tokenizer"])
def test_the_files_of_the_wheel_are_the_ones_that_were_tried(part):
    assert moonshine_file(part).is_file()


END, MOST = 0, 4


def made_up_language(seed):
    """A scorer in which all tokens of a text decide what is likely next, and its logarithms of probabilities."""

    def after(text):
        scores = 2.0 * np.random.default_rng([seed, *text]).normal(size=4)
        return scores - np.log(np.exp(scores).sum())

    texts = [()]

    def score(last, parents):
        nonlocal texts
        texts = [(*texts[row if len(texts) > 1 else 0], int(token)) for token, row in zip(last, parents, strict=True)]
        return np.stack([after(text) for text in texts])

    return score, after


def exhaustive(after):
    """The mean of the logarithms of the likeliest of all texts that end."""
    found = []
    for length in range(MOST):
        for words in product((1, 2, 3), repeat=length):
            text = (1, *words, END)
            found.append((np.mean([after(text[:k])[text[k]] for k in range(1, len(text))]), list(text[1:])))
    return max(found)


@pytest.mark.parametrize("seed", range(20))
def test_a_wide_beam_finds_the_text_of_an_exhaustive_search(seed):
    score, after = made_up_language(seed)
    mean, text = exhaustive(after)
    tokens, logarithms = search_text(score, 1, END, MOST, beam=64)
    assert tokens == text
    assert np.mean(logarithms) == pytest.approx(mean, abs=1e-12)


def test_a_beam_finds_likelier_texts_than_one_text_alone():
    means = {
        beam: [np.mean(search_text(made_up_language(seed)[0], 1, END, MOST, beam=beam)[1]) for seed in range(20)]
        for beam in (1, 4)
    }
    assert np.mean(means[4]) > np.mean(means[1])


def test_a_text_that_does_not_end_is_returned_as_far_as_it_went():
    def score(last, parents):
        return np.tile([-50.0, 0.0, 1.0, 0.0], (len(last), 1))

    tokens, _ = search_text(score, 1, END, MOST, beam=1)
    assert tokens == [2, 2, 2, 2]
