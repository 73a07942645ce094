"""The files of the recogniser are those of the version that was tried, or there is one clear message."""

import importlib.util

import pytest

from zeroevidence.errors import InputError
from zeroevidence.protect.voices.speech_models.recognisers import moonshine_file

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
