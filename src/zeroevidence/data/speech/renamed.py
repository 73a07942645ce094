"""Files that an anonymiser renamed: the name of the original with the same letters before or behind it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Affix:
    """What stands before and behind the names of originals.

    Examples
    --------
    >>> Affix(after="_anon").renamed(PurePath("ann/one"))
    PurePosixPath('ann/one_anon')
    """

    before: str = ""
    after: str = ""

    def renamed(self, name: PurePath) -> PurePath:
        """Return a name, without its ending, as the anonymiser wrote it."""
        return name.with_name(f"{self.before}{name.name}{self.after}")

    def __str__(self) -> str:
        parts = [(self.before, "before"), (self.after, "behind")]
        return " and ".join(f"{text!r} {where}" for text, where in parts if text)


def find_affix(names: Sequence[PurePath], files: Collection[PurePath]) -> Affix | None:
    """Return the one affix with which every name is that of a file; None where there is none, or several.

    Parameters
    ----------
    names
        Names of originals, without endings.
    files
        Those of files, in the same folders.

    Examples
    --------
    >>> find_affix([PurePath("ann/one"), PurePath("bob/two")], {PurePath("ann/one_anon"), PurePath("bob/two_anon")})
    Affix(before='', after='_anon')
    """
    if not names or not all(name.name for name in names):
        return None
    first, there = names[0], set(files)
    beside = [file.name for file in there if file.parent == first.parent and first.name in file.name]
    affixes = {affix for name in beside for affix in _affixes(name, first.name)}
    fitting = [affix for affix in affixes if all(affix.renamed(name) in there for name in names)]
    return fitting[0] if len(fitting) == 1 else None


def _affixes(name: str, part: str) -> list[Affix]:
    """Return what stands around each occurrence of a part of a name."""
    starts = [place for place in range(len(name) - len(part) + 1) if name.startswith(part, place)]
    return [Affix(name[:place], name[place + len(part) :]) for place in starts]
