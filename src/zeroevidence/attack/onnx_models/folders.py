"""Where encoders lie that have a name: in the package, and in a folder of the user.

Each has a folder of its name, with its model and its card.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from zeroevidence.attack.onnx_models.cards import CARD, EncoderCard, read_card

BUNDLED = Path(__file__).resolve().parents[1] / "encoders" / "bundled"
HOME_VARIABLE = "ZEROEVIDENCE_HOME"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def added_home() -> Path:
    """The folder of added encoders; it need not exist.

    ``$ZEROEVIDENCE_HOME/encoders`` where that variable is set, else where the system keeps data of its users.

    Examples
    --------
    >>> import os
    >>> os.environ["ZEROEVIDENCE_HOME"] = "/data/voices"
    >>> added_home().as_posix()
    '/data/voices/encoders'
    >>> del os.environ["ZEROEVIDENCE_HOME"]
    """
    given = os.environ.get(HOME_VARIABLE)
    return (Path(given) if given else _user_data() / "zeroevidence") / "encoders"


def is_encoder_name(name: str) -> bool:
    """Whether an encoder may be called so: small letters, digits, dots, dashes; no path to another folder.

    Examples
    --------
    >>> is_encoder_name("ecapa-2.0"), is_encoder_name("../ecapa"), is_encoder_name("ECAPA")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def added_card(name: str) -> Path | None:
    """The card of an added encoder, or None where there is none of that name."""
    card = added_home() / name.lower() / CARD
    return card if is_encoder_name(name.lower()) and card.is_file() else None


def shelved(card: Path) -> EncoderCard:
    """A card from a shelf; its folder names the encoder."""
    return replace(read_card(card), name=card.parent.name)


def cards_in(shelf: Path) -> list[Path]:
    """Cards of the encoders on a shelf, by name."""
    return [card for card in sorted(shelf.glob(f"*/{CARD}")) if is_encoder_name(card.parent.name)]


def _user_data() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home has added nothing; whoever adds is told where it cannot be written
        home = Path(os.sep)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
