"""The card of a voice protector: defence, method, utility, opportunity and resources.

It has the form of the right half of table 1 of Šterns et al., "scenario of use".
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import wrap

from zeroevidence.protect.voices import find_voice_protectors

_DEFENCE = "Prevent that an utterance is linked to its speaker."
_OPPORTUNITY = (
    "Full control of the recordings before anybody else has them: every one is changed before it is released.",
    "Knowledge that attackers compare voices with speaker encoders.",
)
_ELSEWHERE = "Not known here: the speech was protected elsewhere."


@dataclass(frozen=True, slots=True)
class ProtectorCard:
    """Defence, method, utility, opportunity and resources of a protector, in sentences."""

    name: str
    defence: str
    method: str
    utility: str
    opportunity: tuple[str, ...]
    resources: tuple[str, ...]

    def to_dict(self) -> dict[str, str | list[str]]:
        """Return the card as plain values, for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def to_text(self, width: int | None = None) -> str:
        """Return the card as lines, one field each, wrapped to a `width` unless it is None."""
        lines = []
        for name, value in self.to_dict().items():
            label = "protector" if name == "name" else name
            line = f"{label:<14} {' '.join(value) if isinstance(value, list) else value}"
            lines += [line] if width is None else wrap(line, width, subsequent_indent=" " * 15)
        return "\n".join(lines) + "\n"


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
    return ProtectorCard(text, _DEFENCE, method, " ".join(keeps), _OPPORTUNITY, needs)


def unknown_protector_card(name: str) -> ProtectorCard:
    """Return the card of a system that wrote its protected speech elsewhere.

    Examples
    --------
    >>> unknown_protector_card("b5").method
    'Not known here: the speech was protected elsewhere.'
    """
    return ProtectorCard(name, _DEFENCE, _ELSEWHERE, _ELSEWHERE, _OPPORTUNITY, (_ELSEWHERE,))
