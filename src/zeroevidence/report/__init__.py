"""Evaluations as text, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation

FORMATS = ("text", "json", "md", "latex", "csv")


def render(
    rows: Sequence[Evaluation],
    format: str,
    signatures: bool = False,
    *,
    measures: Sequence[str] | None = None,
    estimate: bool = False,
    verbose: bool = False,
    explain: bool = False,
) -> str:
    """Return all rows in one of the output formats, ending in a newline.

    Text fits the terminal. Where the output is no terminal it is 100 columns wide, or as wide as the variable
    ``COLUMNS`` says.

    Parameters
    ----------
    rows
        Results.
    format
        One of `FORMATS`.
    signatures
        Whether text holds the signature of each of several rows; the other formats always do.
    measures
        Names of the measures to show. By default CSV holds all, text ten of a single row, the usual ones of up to eight
        rows and the first six of them of more rows, Markdown the first six, LaTeX the first four. JSON always holds
        all.
    estimate
        Whether the values corrected for few people stand beside the values; JSON always holds them.
    verbose
        Whether text holds all measures of a single row, several recordings of one person, and what flags say.
    explain
        Whether text says what each measure of a single row means.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> quick = Options(intervals=0, null=0)
    >>> row = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], labels={"system": "ours"}, options=quick)
    >>> print(render([row], "md", measures=["eer", "cllr_min"]).partition("`")[0].strip())
    | system | n | EER [%] | min Cllr [bit] |
    | --- | ---: | ---: | ---: |
    | ours | 3 + 3 | 33.33 | 0.3333 |
    """
    check_format(format)
    if format == "json":
        from zeroevidence.evaluation.results import to_json

        return to_json(rows)
    from zeroevidence.report import evaluations

    if format == "text":
        return evaluations.evaluations_to_text(
            rows, signatures=signatures, measures=measures, estimate=estimate, verbose=verbose, explain=explain
        )
    if format == "csv":
        return evaluations.evaluations_to_csv(rows, measures, estimate=estimate)
    return evaluations.evaluations_to_markup(rows, format, measures, estimate=estimate)


def check_format(format: str) -> None:
    """Raise UsageError for an unknown output format."""
    if format not in FORMATS:
        raise UsageError(f"unknown output format {format!r}; expected one of {', '.join(FORMATS)}")
