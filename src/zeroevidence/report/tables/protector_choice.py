"""The protector that was chosen within a limit: what attackers still learn, and what is kept, beside no protection."""

from __future__ import annotations

from zeroevidence.protect.tradeoff.search import Choice
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.tables.rendering import render_grids


def render_protector_choice(choice: Choice, attribute: str) -> str:
    """Return the table as text."""
    before, after = choice.unprotected, choice.chosen
    rows = [
        (f"D_ECE of {attribute}, one vector", f"{before.d_ece:.2f}", f"{after.d_ece:.2f}"),
        (f"D_ECE of {attribute}, all of a person", f"{before.person_d_ece:.2f}", f"{after.person_d_ece:.2f}"),
        ("kept: EER", f"{100 * before.eer:.1f} %", f"{100 * after.eer:.1f} %"),
        (f"kept: top-1 of {choice.searched} people", f"{100 * before.top1:.1f} %", f"{100 * after.top1:.1f} %"),
    ]
    for kept in choice.kept:
        classes = f", {len(kept.boundaries) + 1} classes" if kept.boundaries else ""
        rows.append((f"kept: D_ECE of {kept.name}{classes}", f"{kept.unprotected:.2f}", f"{kept.protected:.2f}"))
    grid = Grid("Chosen by cross-validation over people", ("", "unprotected", "protected"), tuple(rows), 1)
    return render_grids([grid], "text")


def choice_sentence(choice: Choice) -> str:
    """Return what was chosen within which limit, and how another is asked for."""
    chosen = choice.chosen
    option = "--budget" if choice.limit.measure == "eer" else "--target"
    protector = f"{chosen.protector}, noise {chosen.strength:g}"
    if choice.within:
        return f"{choice.limit}: {protector}, chosen on {choice.people} people ({option} changes the limit)"
    return f"no protector stays within {choice.limit}; {protector}, comes nearest ({option} changes the limit)"
