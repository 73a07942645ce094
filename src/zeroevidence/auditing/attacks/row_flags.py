"""Flags on the rows of an audit: weak or failed steps, contradicted choices, recordings that differ by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log2

from zeroevidence.auditing.attacks.step_attack import FailedAttack
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.auditing.inputs.left_out import LeftOut
from zeroevidence.auditing.inputs.speaker_draws import PitchChange, SharedChange
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.formats.corpora.pairs import PairReport
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.evaluation.finding.finding import clearly_stronger
from zeroevidence.evaluation.rows.about import Role
from zeroevidence.evaluation.rows.flags import Flag, flag


def with_step_flags(rows: Sequence[Evaluation], costs: Mapping[str, int]) -> list[Evaluation]:
    """Return the rows with a warning where a cheaper step against the same system learns clearly more."""
    cheaper = [_cheaper_step(row, rows, costs) for row in rows]
    return [
        row if step is None else row.with_flags(flag("weaker-than-cheaper-step", cheaper=step))
        for row, step in zip(rows, cheaper, strict=True)
    ]


def _cheaper_step(row: Evaluation, rows: Sequence[Evaluation], costs: Mapping[str, int]) -> str | None:
    high = row.metrics["alid"].high if row.about.role == "attack" and "alid" in row.metrics else None
    if high is None:
        return None
    for other in rows:
        if (
            other.about.threat == row.about.threat
            and other.labels.get("encoder") == row.labels.get("encoder")
            and costs.get(other.labels["backend"], inf) < costs.get(row.labels["backend"], inf)  # a fusion has them all
            and (other.number("alid") or 0.0) > high
        ):
            return other.labels["backend"]
    return None


def with_choice_flags(rows: Sequence[Evaluation], finding: Finding) -> list[Evaluation]:
    """Return the rows with a warning on the strongest where another learns clearly more from the evaluated people."""
    attacks = [i for i, row in enumerate(rows) if row.about.role == "attack"]
    number = clearly_stronger(rows, finding.strongest, attacks, "alid")
    if number is None:
        return list(rows)
    best = rows[number]
    name = ", ".join(filter(None, (str(best.labels.get("encoder", "")), best.labels["backend"])))
    return [
        row.with_flags(flag("development-disagrees", better=name)) if i == finding.strongest else row
        for i, row in enumerate(rows)
    ]


def with_pair_flags(rows: Sequence[Evaluation], pairs: PairReport) -> list[Evaluation]:
    """Return the rows, attacks with a warning where protected audio is that of other people, or nearly the original."""
    counts = {"same-audio": pairs.same_audio, "waveform-kept": pairs.kept_waveform}
    return flag_attacks(rows, *(flag(code, count=n, total=pairs.compared) for code, n in counts.items() if n))


def with_refusal_flags(rows: Sequence[Evaluation], left_out: LeftOut) -> list[Evaluation]:
    """Return the rows, attacks with a warning where recordings are left out because the protection refused them."""
    if not left_out:
        return list(rows)
    return flag_attacks(rows, flag("refused-left-out", count=len(left_out.refused), total=left_out.total))


def flag_attacks(rows: Sequence[Evaluation], *flags: Flag) -> list[Evaluation]:
    """Return the rows, attacks with these flags."""
    return [row.with_flags(*flags) if row.about.role == "attack" else row for row in rows]


def session_flags(folds: Sequence[EmbeddingSets]) -> list[Flag]:
    """Return a warning where trials share a session with their speaker's enrolment; none where sessions are not known.

    Parameters
    ----------
    folds
        The speech of each fold of people, with the attribute `session`.
    """
    shared = total = 0
    for sets in folds:
        enrolled, tried = (_sessions(part) for part in (sets.eval_enrol, sets.eval_trial))
        if enrolled is None or tried is None:
            return []
        known = set(enrolled)
        shared += sum(session in known for session in tried)
        total += len(tried)
    return [flag("one-session", trials=shared, total=total)] if shared else []


def _sessions(part: Embeddings) -> list[tuple[str, str]] | None:
    """Return speaker and session of each embedding, None where a session is not known."""
    sessions = part.attributes.get("session")
    if sessions is None or (sessions == "").any():
        return None
    return list(zip(require_speakers(part).tolist(), sessions.tolist(), strict=True))


def draw_flags(change: SharedChange, pitch: PitchChange) -> list[Flag]:
    """Return a note where the protection seems to be drawn once for each speaker."""
    notes = [flag("drawn-per-speaker", share=change.share)] if change.drawn_per_speaker else []
    if change.linkable and pitch.drawn_per_speaker:
        notes.append(flag("pitch-drawn-per-speaker", spread=pitch.between))
    return notes


def failure_flags(failed: Sequence[FailedAttack]) -> list[Flag]:
    """Return a warning that names the attacks that could not be carried out; none where all could."""
    if not failed:
        return []
    count = "1 attack" if len(failed) == 1 else f"{len(failed)} attacks"
    names = "; ".join(f"{each.attacker}, {each.encoder}, {each.step} ({each.reason})" for each in failed)
    return [flag("attacks-failed", count=count, were="was" if len(failed) == 1 else "were", names=names)]


def with_room_flags(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the rows with a warning where the room control finds people beyond chance.

    Rows on unprotected speech have it where the control finds people before protection, attacks where it does after.
    Both controls are tested together, so that either has the warning with a probability of at most one minus the level
    where neither finds anybody.
    """
    warnings: dict[Role, list[Flag]] = {"control": [], "attack": []}
    flagged = list(rows)
    for i, chance in enumerate(chances(rows)):
        row = rows[i]
        if row.about.role != "room" or not chance.beaten or chance.p_value is None:
            continue
        before = row.about.threat is not None and row.about.threat.is_bound
        warning = flag(
            "recordings-differ",
            bits=max(row.number("alid") or 0.0, 0.0),
            most=log2(row.counts["identities"]),
            when="before" if before else "after",
            p_value=chance.p_value,
        )
        warnings["control" if before else "attack"].append(warning)
        flagged[i] = row.with_flags(warning)
    return [row.with_flags(*warnings.get(row.about.role, ())) for row in flagged]
