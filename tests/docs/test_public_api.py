"""Nothing public vanishes or appears unnoticed: `public_names.txt` is the one list."""

import sys
from pathlib import Path

import pytest

from zeroevidence._lazy import attach

LIST = Path(__file__).parent / "public_names.txt"


def test_what_is_public_is_what_the_list_has(generated):
    assert generated.public_interface() == LIST.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose function got a new name."""
    folder = tmp_path / "renaming"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "home.py").write_text("def present():\n    return 1\n")
    (folder / "__init__.pyi").write_text("from renaming.home import present as present\n\nbefore = present\n")
    monkeypatch.syspath_prepend(tmp_path)
    import renaming

    renaming.__getattr__, renaming.__dir__ = attach("renaming", renaming.__file__)
    yield renaming
    for name in ("renaming", "renaming.home"):
        sys.modules.pop(name, None)


def test_a_former_name_works_warns_each_time_and_is_not_listed(package):
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="renaming.before is present now") as caught:
            assert package.before is package.present
        assert caught[0].filename == __file__
    assert package.present() == 1  # without a warning, which would be an error here
    assert package.__all__ == ["present"] == package.__dir__()
    with pytest.raises(AttributeError):
        package.nonsense  # noqa: B018
