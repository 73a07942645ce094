"""The table of `validity.py`: one line for each measured number of each cell, tab-separated."""

from __future__ import annotations

COLUMNS = ("part", "design", "leakage", "people", "more", "simulations", "measure", "statistic", "value")


def table(lines):
    """Return the table of summaries of cells; `more` is what `Cell` says, shares are between 0 and 1."""
    texts = ["\t".join(COLUMNS)]
    for line in lines:
        cell = [str(line[name]) for name in ("part", "design", "leak", "people", "more", "simulations")]
        texts += ["\t".join([*cell, *number]) for number in _numbers(line["found"])]
    return "\n".join(texts) + "\n"


def _numbers(found):
    """Yield measure, statistic and value; a number that is about no measure has an empty name in its place."""
    for name, measured in found.items():
        if not isinstance(measured, dict):
            yield "", name, _text(measured)
            continue
        for statistic, value in measured.items():
            if isinstance(value, dict):  # the same by limits of another kind
                yield from ((name, f"{key}_{statistic}", _text(part)) for key, part in value.items())
            else:
                yield name, statistic, _text(value)
        if measured.get("length") is not None:
            yield name, "relative_length", _text(measured["length"] / max(measured["deviation"], 1e-9))


def _text(value):
    return "" if value is None else f"{value:.4g}"
