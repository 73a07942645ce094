"""The card of a voice protector: defence, method, utility, opportunity and resources.

It has the form of the right half of table 1 of Šterns et al., "scenario of use".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from zeroevidence.data.printable import labelled_lines
from zeroevidence.protect.voices import ProtectorPart, find_voice_protectors, protector_parts

_DEFENCE = "Prevent that an utterance is linked to its speaker."
_OPPORTUNITY = (
    "Full control of the recordings before anybody else has them: every one is changed before it is released.",
    "Knowledge that attackers compare voices with speaker encoders.",
)
_ELSEWHERE = "Not known here: the speech was protected elsewhere."


Draws: TypeAlias = Literal["none", "seeded", "program"]  # program: by the user's own, which is not asked


@dataclass(frozen=True, slots=True)
class RefusedRecording:
    """A recording that could not be anonymised.

    Parameters
    ----------
    utterance
        Its identifier.
    reason
        Why it was refused.
    """

    utterance: str
    reason: str


@dataclass(frozen=True, slots=True)
class Release:
    """How a folder of anonymised speech was made.

    Parameters
    ----------
    version
        Version of this package.
    rate
        Sample rate that was asked for, None where each file kept its own.
    format
        Suffix of files that was asked for, None where each file kept its own.
    draws
        Whether the protector draws anything, and by what.
    seed
        The seed of the draws, None where it was not kept or nothing is drawn.
    recordings
        Number of recordings that were written.
    refused
        The recordings that could not be anonymised and were not written.
    original
        SHA-256 of the list of identifiers and digests of the original recordings.
    digests
        SHA-256 of the file that lists the digests of the anonymised recordings.
    """

    version: str
    rate: int | None
    format: str | None
    draws: Draws
    seed: int | None
    recordings: int
    refused: tuple[RefusedRecording, ...]
    original: str
    digests: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """The facts in words."""
        rate = "rates kept" if self.rate is None else f"{self.rate} Hz"
        format_text = "formats kept" if self.format is None else f"{self.format} files"
        draws = {
            "none": "Nothing is drawn: the same recording gives the same speech again.",
            "seeded": "Drawn by a seed that was not kept." if self.seed is None else f"Drawn by seed {self.seed}.",
            "program": "Whatever the program draws, it draws by itself.",
        }[self.draws]
        count = f"{self.recordings} recording{'s'[: self.recordings != 1]}"
        refused = f", {len(self.refused)} refused" if self.refused else ""
        return (f"{count}{refused}; {rate}, {format_text}; zeroevidence {self.version}.", draws)


def shown_fields(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return a card as `ProtectorCard.to_dict` returns it, with its parts and its release in words."""
    words = {name: card[name] for name in card if name not in ("parts", "release")}
    if card.get("parts"):
        words["parts"] = [str(ProtectorPart(**part)) for part in card["parts"]]
    if card.get("release"):
        words["release"] = list(Release(**card["release"]).sentences)
    return words


@dataclass(frozen=True, slots=True)
class ProtectorCard:
    """Defence, method, utility, opportunity and resources of a protector, in sentences, and how a release was made."""

    name: str
    defence: str
    method: str
    utility: str
    opportunity: tuple[str, ...]
    resources: tuple[str, ...]
    parts: tuple[ProtectorPart, ...] = ()
    release: Release | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain values, for JSON; without parts and a release where there are none."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {name: value for name, value in values.items() if name not in ("parts", "release") or value}

    def to_text(self, width: int | None = None) -> str:
        """Return the card as lines, one field each, wrapped to a `width` unless it is None."""
        return labelled_lines("protector", shown_fields(self.to_dict()), width)


def protector_card(text: str) -> ProtectorCard:
    """Return the card of a voice protector, by its name on the command line.

    Examples
    --------
    >>> card = protector_card("mcadams:0.7+pitch:2")
    >>> card.method
    'Moves the resonances of the vocal tract. Then: Moves the pitch; formants stay.'
    >>> card.resources
    ('No training, and no speech of others.',)
    """
    kinds = find_voice_protectors(text)
    method = " Then: ".join(kind.description for kind in kinds)
    keeps, needs = (tuple(dict.fromkeys(getattr(kind, name) for kind in kinds)) for name in ("keeps", "needs"))
    return ProtectorCard(text, _DEFENCE, method, " ".join(keeps), _OPPORTUNITY, needs, protector_parts(text))


def unknown_protector_card(name: str) -> ProtectorCard:
    """Return the card of a system that wrote its protected speech elsewhere.

    Examples
    --------
    >>> unknown_protector_card("b5").method
    'Not known here: the speech was protected elsewhere.'
    """
    return ProtectorCard(name, _DEFENCE, _ELSEWHERE, _ELSEWHERE, _OPPORTUNITY, (_ELSEWHERE,))
