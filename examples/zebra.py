"""The Privacy ZEBRA: evidence profiles, expected and worst-case disclosure, tags (figures 2, 3; table 1).

Figure 2 shows one adversary's profile over the prior and over its log-odds, figure 3 several with their ZEBRA tuple
(D_ECE, log10 of the strongest likelihood ratio, tag), beside zero evidence. Source: Nautsch et al. 2020.
"""

from __future__ import annotations

from pathlib import Path

from _shared import Sheet, evaluated, number, run

from zeroevidence.measure.pairs.zebra import ZEBRA_SCALE, tag_odds


def make(sheet: Sheet, data: Path | None) -> None:
    """Evaluate one group of speakers and draw it."""
    name, value = ("split", "eval") if data is None else ("sex", "f")
    rows = [row for row in evaluated(data) if row.labels[name] == value]
    unprotected = [row for row in rows if row.labels["trial"] == "original"]
    protected = [row for row in rows if row.labels["trial"] == "anonymised"]
    most_disclosing = max(protected, key=lambda row: float(row["d_ece"]))
    sheet.figure("zebra-fig2a", "ece", most_disclosing, x="prior")
    sheet.figure("zebra-fig2b", "ece", most_disclosing)
    sheet.figure("zebra-fig3", "ece", [unprotected[0], *protected[:4]])
    sheet.table("zebra-table1", ("tag", "log10 of the likelihood ratio", "odds after a flat prior"), _scale())
    sheet.table(
        "zebra-results",
        ("system", "enrolment", "trial", "D_ECE (bits)", "log10 l", "tag"),
        [
            (
                *(row.labels[name] for name in ("system", "enrolment", "trial")),
                number(row, "d_ece", 3),
                number(row, "worst_case"),
                number(row, "tag"),
            )
            for row in rows
        ],
    )


def _scale() -> list[tuple[str, str, str]]:
    lows = [low for _, low in ZEBRA_SCALE]
    ends = [f"below {high:g}" for high in lows[1:]] + [""]
    lines = [(name, f"{low:g} or more, {end}".rstrip(", ")) for (name, low), end in zip(ZEBRA_SCALE, ends, strict=True)]
    odds = tag_odds()
    return [(name, level, odds[name]) for name, level in (("0", "exactly 0"), ("A", f"above 0, {ends[0]}"), *lines[1:])]


if __name__ == "__main__":
    run(__doc__ or "", make)
