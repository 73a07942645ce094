"""The countermeasure of a tandem against the verifier behind it: the same speech, labelled the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from zeroevidence.data.formats.asvspoof.sides import JoinedSide, Side
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.errors import Problem


def disagreements(sides: Mapping[Side, JoinedSide]) -> list[Problem]:
    """Return the problems of speech that a countermeasure and the verifier behind it label differently."""
    if "cm" not in sides or "asv" not in sides:
        return []
    cm, asv = sides["cm"], sides["asv"]
    problems = FileProblems(cm.table.name)
    verified = asv.frame.filter(pl.col("trial") != "").unique("trial", keep="first", maintain_order=True)
    both = cm.frame.with_row_index("row").join(verified, on="trial", how="inner", maintain_order="left")
    both = both.filter(
        ((pl.col("key") == "spoof") != (pl.col("key_right") == "spoof"))
        | ((pl.col("attack") != pl.col("attack_right")) & (pl.col("attack") != "") & (pl.col("attack_right") != ""))
    )

    def reason(at: int) -> str:
        row = both.row(at, named=True)
        ours, theirs = (f"{row['key' + side]} {row['attack' + side]}".strip() for side in ("", "_right"))
        return f"{row['trial']!r} is {ours} here but {theirs} for the verifier ({asv.table.name}); expected the same"

    problems.add_rows(cm.table, cm.rows[both["row"].to_numpy()], reason)
    return problems.all() or _missing_attacks(cm, asv)


def _missing_attacks(cm: JoinedSide, asv: JoinedSide) -> list[Problem]:
    """Return the problems of attacks that only one of both has; none where the attacks of some spoofs are unknown."""
    ours, theirs = (set(side.frame.filter(pl.col("key") == "spoof")["attack"].unique()) for side in (cm, asv))
    problems = []
    for here, there, lacking in ((cm, asv, ours - theirs), (asv, cm, theirs - ours)):
        for attack in sorted(lacking if "" not in ours | theirs else ()):
            row = int(here.rows[np.flatnonzero((here.frame["attack"] == attack).to_numpy())[0]])
            message = f"attack {attack!r} has no scores in {there.table.name}; expected the same attacks in both"
            problems.append(Problem(here.table.name, here.table.line(row), message))
    return problems


def with_speakers(cm: JoinedSide, asv: pl.DataFrame) -> JoinedSide:
    """Return a countermeasure's trials with speakers from a verifier's targets and spoofs: a non-target is another."""
    speakers = (
        asv.filter((pl.col("key") != "nontarget") & (pl.col("trial") != "") & (pl.col("speaker") != ""))
        .group_by("trial")
        .agg(pl.col("speaker").first(), several=pl.col("speaker").n_unique() > 1)
        .filter(~pl.col("several"))
        .select("trial", "speaker")
    )
    frame = cm.frame.drop("speaker").join(speakers, on="trial", how="left", maintain_order="left")
    return replace(cm, frame=frame.with_columns(pl.col("speaker").fill_null("")))
