"""Columns of the files of the ASVspoof challenges, detected by the majority of lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Literal

from zeroevidence.data.formats import text
from zeroevidence.data.formats.scores.reading.layout import Layout, sample_lines
from zeroevidence.data.tandem import KINDS
from zeroevidence.errors import InputError

Side = Literal["cm", "asv", "sasv"]
Phase = Literal["eval", "progress", "hidden", "all"]  # parts of a key of 2021

TANDEM_FORMATS = ("auto", "2019", "2021", "asvspoof5", "adcf")

_CM = {"2019": ("trial", "attack", "key", "score"), "2021": ("trial", "score")}
_ASV = {
    "2019": ("attack", "key", "score"),
    "2021": ("enrol", "trial", "score"),
    "adcf": ("enrol", "trial", "score", "key"),
}
# The key of 2021 has further columns in its deepfake part, and other ones in its physical access part.
_KEY_2021 = ("codec", "channel", "attack", "key", "trim", "phase")
_REPLAYED = ("asv_room", "asv_mic", "dis_to_asv", "att_room", "att_mic", "att_d", "att_to_spk")
_KEY_5 = ("gender", "codec", "codec_q", "codec_seed", "attack_tag", "attack", "key", "tmp")
_CM_KEY = {
    "2019": ("speaker", "trial", "environment", "attack", "key"),
    "2021": ("speaker", "trial", *_KEY_2021),
    "2021 DF": ("speaker", "trial", *_KEY_2021, "vocoder", "task", "team", "gender_pair", "language"),
    "2021 PA": ("speaker", "trial", *_REPLAYED, "key", "trim", "phase"),
    "5 track 1": ("speaker", "trial", *_KEY_5),
}
_ASV_KEY = {
    "2019": ("enrol", "trial", "attack", "key"),
    "2021": ("enrol", "trial", *_KEY_2021),
    "5 track 2": ("enrol", "trial", "gender", "attack", "key"),
}

PLAIN: dict[Side, tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]] = {
    "cm": (_CM, _CM_KEY),
    "asv": (_ASV, _ASV_KEY),
    "sasv": (_ASV, _ASV_KEY),
}
_NAMES = {
    **dict.fromkeys(("spk", "speaker", "tar_spk_anon"), "enrol"),
    **dict.fromkeys(("filename", "utterance", "trial", "trial_anon"), "trial"),
    **{f"{side}{mark}score": f"{side}_score" for side in KINDS for mark in "-_"},
    **{f"{side}{mark}label": f"{side}_key" for side in ("cm", "asv") for mark in "-_"},
    **dict.fromkeys(("attack", "attack_anon"), "attack"),
}


def detect_tandem(
    data: bytes, name: str, side: Side, *, key: bool, forced: str = "auto", by: str | None = None
) -> Layout:
    """Return the layout of a score file of one side, or of its key.

    Parameters
    ----------
    data
        The file.
    name
        The file as the user wrote it.
    side
        Whose scores they should be.
    key
        Whether it should be a key.
    forced
        A format that the user named, or "auto".
    by
        A further column of a table with a header that is kept.

    Raises
    ------
    InputError
        When the file is empty, in another encoding, fits no layout, or is another kind of file than was asked for.
    """
    sample = sample_lines(data, name)
    first = sample[0][0]
    if forced in ("auto", "asvspoof5"):
        header = _header(*sample[0], name, by)
        if header:
            return header
        if forced == "asvspoof5":
            raise InputError(
                f"no header; expected column names such as spk filename {side}-score", path=name, line=first
            )
    choices = PLAIN[side][key]
    rows = [cells for _, line in sample if not isinstance(cells := text.split(line, " "), str)]
    if forced != "auto":
        if forced not in choices:
            raise InputError(f"the format {forced} has no {side.upper()} scores", path=name)
        choices = {forced: choices[forced]}
    widths = {len(columns) for columns in choices.values()}
    counts = Counter(len(cells) for cells in rows)
    width = max(counts, key=lambda n: (counts[n], n in widths, n))
    names = [format for format, columns in choices.items() if len(columns) == width]
    rows = [cells for cells in rows if len(cells) == width]
    if not names:
        expected = ", or ".join(f"`{Layout(format, columns).expected}`" for format, columns in choices.items())
        raise InputError(f"{width} column(s); expected {expected}", path=name, line=first)
    if len(names) > 1:  # `source key score` or `enrol trial score` of a verifier
        names = names[:1] if _most(rows, 1, KINDS[side]) else names[1:]
    layout = Layout(names[0], choices[names[0]])
    _check_columns(layout, rows, side, name, first)
    return layout


def _header(number: int, line: str, name: str, by: str | None) -> Layout | None:
    """Return the layout of a first line that names a known column beside the file names."""
    for separator in (",", " "):
        cells = text.split(line, separator)
        if isinstance(cells, str):
            continue
        columns = tuple(_NAMES.get(cell.lower(), "") for cell in cells)
        named = [column for column in columns if column]
        if "trial" in named and len(named) >= 2 and not any(map(text.is_number, cells)):
            twice = [column for column, times in Counter(named).items() if times > 1]
            if twice:
                both = " and ".join(repr(cell) for cell in cells if _NAMES.get(cell.lower()) == twice[0])
                raise InputError(f"columns {both} mean the same; expected one", path=name, line=number)
            pairs = zip(cells, columns, strict=True)
            columns = tuple(column or (cell.lower() if cell.lower() == by else "") for cell, column in pairs)
            return Layout("asvspoof5", columns, separator, number)
    return None


def _check_columns(layout: Layout, rows: list[list[str]], side: Side, name: str, line: int) -> None:
    """Refuse the wrong file with one message, instead of one about each of its lines."""
    for column, cells in enumerate(zip(*rows, strict=True)):
        meaning = layout.columns[column]
        if meaning == "score" and not 2 * sum(map(text.is_number, cells)) >= len(cells):
            content = "no numbers"
        elif meaning == "key" and not _most(rows, column, KINDS[side]):
            content = f"no {side.upper()} key ({', '.join(KINDS[side])})"
        else:
            continue
        labels = {cell for row in rows for cell in row}
        verifier = not labels.isdisjoint(("target", "nontarget"))
        advice = ""
        if side == "cm" and verifier:
            advice = "; is this a verifier's file (--asv, --asv-key, --sasv)?"
        elif side != "cm" and "bonafide" in labels and not verifier:
            advice = "; is this a countermeasure's file (--cm, --key)?"
        elif meaning == "score":
            advice = "; is this the key?"
        raise InputError(
            f"column {column + 1} holds {content}; expected `{layout.expected}`{advice}", path=name, line=line
        )


def _most(rows: list[list[str]], column: int, values: Container[str]) -> bool:
    """Return whether at least half of the cells of a column are among these values."""
    return 2 * sum(cells[column] in values for cells in rows) >= len(rows)
