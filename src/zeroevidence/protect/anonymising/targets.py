"""Where the anonymised recordings of a corpus are written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from zeroevidence.data.speech.corpus import Corpus, Utterance, path_below
from zeroevidence.errors import InputError, UsageError


def target_paths(corpus: Corpus, suffix: str | None = None) -> dict[str, Path]:
    """Return the path of each anonymised recording below its folder, by identifier.

    It is the path of the original below the corpus. Parts of files, and utterances that share a file, get a file each,
    named by the identifier: the lengths of parts may change, and what lies between them is not anonymised.

    Parameters
    ----------
    corpus
        The original speech.
    suffix
        Of the files; that of each original unless given.

    Raises
    ------
    InputError
        Where an identifier cannot be a file name, or two recordings would get the same file.
    """
    whole = {each.id: path_below(each, corpus.root) for each in corpus if each.start is None and each.end is None}
    claims = Counter(whole.values())
    paths = {each.id: _target(each, whole.get(each.id), claims, suffix) for each in corpus}
    names: dict[Path, str] = {}
    for name, path in paths.items():
        if path in names:
            raise InputError(f"utterances {names[path]!r} and {name!r} would both be written to {path}", path=path)
        names[path] = name
    return paths


def _target(utterance: Utterance, whole: Path | None, claims: Counter[Path], suffix: str | None) -> Path:
    if whole is not None and claims[whole] == 1:
        path = whole
    else:
        path = Path(f"{utterance.id}{utterance.path.suffix}")
        if path.is_absolute() or ".." in path.parts:
            raise InputError(f"utterance {utterance.id!r} cannot be the name of a file", path=utterance.path)
    return path if suffix is None else path.with_suffix(f".{suffix.removeprefix('.')}")


def refuse_original(corpus: Corpus, source: str | Path, folder: str | Path) -> None:
    """Refuse a folder for anonymised speech that is, holds or lies in one with the original recordings."""
    place, home = Path(folder).resolve(), Path(source).resolve()
    recorded = {utterance.path.parent.resolve() for utterance in corpus} | ({home} if home.is_dir() else set())
    for original in sorted(recorded):
        if place == original or place in original.parents or original in place.parents:
            raise UsageError(f"{folder}: the original speech is in {original}; expected a folder apart from it")
