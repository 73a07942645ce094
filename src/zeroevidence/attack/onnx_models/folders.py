"""Folders of encoders: one in the package, and one of the user.

Each encoder has a folder of its name, with its model and its card.
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


def added_folder() -> Path:
    """Return the folder of added encoders, which need not exist.

    ``$ZEROEVIDENCE_HOME/encoders`` where that variable is set, else where the system keeps data of its users.

    Examples
    --------
    >>> import os
    >>> os.environ["ZEROEVIDENCE_HOME"] = "/data/voices"
    >>> added_folder().as_posix()
    '/data/voices/encoders'
    >>> del os.environ["ZEROEVIDENCE_HOME"]
    """
    home = os.environ.get(HOME_VARIABLE)
    return (Path(home) if home else _user_data() / "zeroevidence") / "encoders"


def is_encoder_name(name: str) -> bool:
    """Return whether a name is valid: small letters, digits, dots, dashes; no path to another folder.

    Examples
    --------
    >>> is_encoder_name("ecapa-2.0"), is_encoder_name("../ecapa"), is_encoder_name("ECAPA")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def added_card(name: str) -> Path | None:
    """Return the card of an added encoder, or None where there is none of that name."""
    card = added_folder() / name.lower() / CARD
    return card if is_encoder_name(name.lower()) and card.is_file() else None


def read_named_card(card: Path) -> EncoderCard:
    """Read the card of an encoder that has the name of its folder."""
    return replace(read_card(card), name=card.parent.name)


def cards_in(folder: Path) -> list[Path]:
    """Return the cards of the encoders in a folder, by name."""
    return [card for card in sorted(folder.glob(f"*/{CARD}")) if is_encoder_name(card.parent.name)]


def _user_data() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home has added nothing; adding fails with a message
        home = Path(os.sep)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
