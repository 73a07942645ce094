"""The registry: entries by name, found in the modules of a package, in the order that it is given."""

import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from zeroevidence.errors import UsageError
from zeroevidence.registry import Registry


@dataclass(frozen=True)
class Entry:
    name: str
    place: int = 0


def test_find_add_remove() -> None:
    entries: Registry[Entry] = Registry("colour", order=lambda entry: entry.place)
    entries.add(Entry("blue", 2))
    red = entries.add(Entry("red", 1))
    assert entries.find("red") is red
    with pytest.raises(UsageError, match="unknown colour 'green'; expected red, blue"):
        entries.find("green")
    with pytest.raises(UsageError, match="already a colour called 'red'"):
        entries.add(Entry("red"))
    assert entries.remove("red") is red
    assert list(entries) == ["blue"]


def test_threads_that_read_it_first_at_once_all_find_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "printed"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import threading\nfrom zeroevidence.registry import Registry\n"
        "INSIDE, GO = threading.Event(), threading.Event()\n"
        "COLOURS = Registry('colour', package=__name__)\n"
    )
    (package / "red.py").write_text(
        "from types import SimpleNamespace\nfrom printed import COLOURS, GO, INSIDE\nINSIDE.set()\nGO.wait()\n"
        "assert list(COLOURS) == []\nCOLOURS.add(SimpleNamespace(name='red'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from printed import COLOURS, GO, INSIDE

    assert "printed.red" not in sys.modules  # until it is first used
    names: list[list[str]] = []
    readers = [threading.Thread(target=lambda: names.append(list(COLOURS))) for _ in range(2)]
    readers[0].start()
    INSIDE.wait()
    readers[1].start()
    readers[1].join(0.2)  # long enough to read a registry that is half full
    GO.set()
    for reader in readers:
        reader.join()
    assert names == [["red"], ["red"]]
