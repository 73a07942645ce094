"""Text without scores to evaluate, and what reads it: lists of numbers, files of a tandem, JSON lines."""

from __future__ import annotations

import shlex

from zeroevidence.data.files.json_values import read_json, shortened
from zeroevidence.data.formats import text
from zeroevidence.data.formats.scores.reading.layout import Layout, Lines
from zeroevidence.errors import InputError

LIST = "list"
_SPOOFING = frozenset({"bonafide", "spoof"})
_CORPUS = frozenset({"audio", "audio_filepath", "file", "path", "wav"})


def other_kind(data: bytes, name: str, sample: Lines) -> str | None:
    """Return what a text file is that holds no scores to evaluate, and which command reads it; None where it may.

    Parameters
    ----------
    data
        The file, or its first lines.
    name
        The file as the user wrote it.
    sample
        Its first lines.
    """
    if sample[0][1].lstrip().startswith("{"):
        return _json_reason(sample[0][1], name)
    if list_layout(sample) is not None:
        return (
            "one number a line, without labels; expected labels, or one file of target and one of non-target scores: "
            "--targets FILE --nontargets FILE"
        )
    return _tandem_reason(data, name, sample)


def list_layout(sample: Lines) -> Layout | None:
    """Return the layout of a list of numbers, perhaps below a name, or numbered as R writes it; None for others."""
    (first, line), rest = sample[0], [line for _, line in sample[1:]]
    cells = text.split(line, ",")
    if isinstance(cells, list) and len(cells) == 2 and not cells[0] and rest:  # as in `"","x"`
        return Layout(LIST, ("", "score"), ",", first) if _most_numbers(rest, 2) else None
    if not _most_numbers(rest or [line], 1):
        return None
    header = None if text.is_number(line.strip(" \t")) else first
    return Layout(LIST, ("score",), ",", header)


def _most_numbers(lines: list[str], width: int) -> bool:
    """Return whether at least half of the lines have so many cells, of which the last is a number."""
    rows = [text.split(line, ",") for line in lines]
    return 2 * sum(len(cells) == width and text.is_number(cells[-1]) for cells in rows) >= len(rows)


def _json_reason(line: str, name: str) -> str:
    """Return what a file is whose first line begins with a brace."""
    try:
        fields = list(read_json(line, name))
    except InputError:
        return "begins like JSON; expected one trial per line, in columns"
    reads = f"; `zeroevidence audit {shlex.quote(name)}` reads a corpus" if _CORPUS.intersection(fields) else ""
    names = ", ".join(map(shortened, fields)) or "none"
    return f"JSON lines with the fields {names}; expected one trial per line, in columns{reads}"


def _tandem_reason(data: bytes, name: str, sample: Lines) -> str | None:
    """Return which command reads a file of an ASVspoof challenge; None for other files."""
    rows = [line.replace(",", " ").split() for _, line in sample]
    marked = sum(not _SPOOFING.isdisjoint(cells) for cells in rows)
    header = any("score" in cell.lower() and not text.is_number(cell) for cell in rows[0])
    if not marked and not header:
        return None
    from zeroevidence.data.formats.asvspoof.layout import Side, detect_tandem

    file = shlex.quote(name)
    sides: tuple[tuple[Side, bool, str, str], ...] = (
        ("asv", False, "scores of a verifier", f"--asv {file} --cm FILE"),
        ("cm", False, "scores of a countermeasure", f"--cm {file}"),
        ("cm", True, "a key of ASVspoof, without scores", f"--cm FILE --key {file}"),
        ("asv", True, "a key of ASVspoof, without scores", f"--asv FILE --asv-key {file}"),
    )
    for side, key, content, options in sides:
        try:
            layout = detect_tandem(data, name, side, key=key)
        except InputError:
            continue
        if layout.format == "asvspoof5":
            scored = [column.removesuffix("_score") for column in layout.columns if column.endswith("_score")]
            content = "a table of ASVspoof" if scored else content
            options = " ".join(f"--{system} {file}" for system in scored) or options
        return f"{content}; `zeroevidence tandem evaluate {options}` reads it"
    return None
