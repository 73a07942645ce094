"""Flags on the rows of an audit, among them whether the protection seems to be drawn once for each speaker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log, log2, sqrt
from types import MappingProxyType

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.attack.backends import unit
from zeroevidence.attack.cues import CUES, cue_columns
from zeroevidence.auditing.embedding_sets import EmbeddingSets, EncodedSpeech
from zeroevidence.auditing.protected_speech import LeftOut
from zeroevidence.auditing.step_attack import FailedAttack
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.formats.speech_pairs import PairReport
from zeroevidence.data.preparing import compared_with_itself, find_same
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import chances, clearly_stronger_row
from zeroevidence.evaluation.rows.about import Protection, Role
from zeroevidence.evaluation.rows.flags import FEW_SPEAKERS, Flag, flag, relaxed_flags

_MOST = 600  # recordings that are compared
_PERMUTATIONS = 199
_LEVEL = 0.005  # of the test whether recordings of a person can be linked
_LEAST_SHARE = 0.25  # distortions that are the same for everybody stay below
_DEVIATIONS = 2.0  # standard errors over people by which the share must exceed zero
_ROUNDING = 1e-6  # of a cosine of embeddings in single precision
_LEAST_SEMITONES = 1.0
_TIMES = 2.0  # the spread of pitch between people over that of a person's recordings


@dataclass(frozen=True, slots=True)
class SharedChange:
    """What protected recordings of a person have in common.

    Parameters
    ----------
    share
        Of what they have in common beyond those of different people, the part that their originals do not explain.
    error
        Its standard error over people; infinite where fewer than `FEW_SPEAKERS` were compared.
    linkable_p_value
        Of the hypothesis that protected recordings of a person are no more alike than those of different people.
    """

    share: float = 0.0
    error: float = inf
    linkable_p_value: float = 1.0

    @property
    def drawn_per_speaker(self) -> bool:
        """Whether the protection seems to be drawn per speaker, and so keeps recordings of a person linkable."""
        return self.linkable and self.share >= max(_LEAST_SHARE, _DEVIATIONS * self.error)

    @property
    def linkable(self) -> bool:
        """Whether protected recordings of a person are more alike than those of different people."""
        return self.linkable_p_value <= _LEVEL


def shared_change(
    folds: Sequence[EncodedSpeech], seed: int = 0, recordings: Mapping[str, str] = MappingProxyType({})
) -> SharedChange:
    """Return what protected trials of a person have in common that the original trials do not explain.

    Parameters
    ----------
    folds
        Both kinds of speech in each fold of people; trials of development people are compared, too.
    seed
        Of the permutations of recordings among people.
    recordings
        By the name of a trial, the recording that it is a part of: parts of one recording, which may have been
        protected as a whole, are not compared. A trial that is not named is a recording of its own.
    """
    original, protected, speakers, names = paired_trials(folds)
    same = speakers[:, None] == speakers[None, :]
    files = np.array([recordings.get(name, name) for name in names.tolist()], dtype=np.str_)
    within = same & (files[:, None] != files[None, :])
    if not within.any() or same.all():
        return SharedChange()
    before, after = (vectors @ vectors.T for vectors in (unit(original), unit(protected)))
    share, error = _share_over_people(before, after, within, speakers)
    return SharedChange(share, error, _linkable_p_value(after, within, ~same, seed))


def _share_over_people(
    before: FloatArray, after: FloatArray, within: BoolArray, speakers: StrArray
) -> tuple[float, float]:
    """Return the share that is not explained, and its standard error by leaving out one person at a time."""
    people, index = np.unique(speakers, return_inverse=True)
    member = np.eye(len(people))[index]
    pairs = [np.ones_like(before), before, after, before**2, before * after]
    blocks = np.stack([member.T @ values @ member for values in pairs])
    with_others = blocks.sum(axis=2) - np.diagonal(blocks, axis1=1, axis2=2)
    different = with_others.sum(axis=1)
    same = np.stack([(values * within).sum(axis=1) @ member for values in pairs[:3]])
    share = float(_unexplained(different, same.sum(axis=1)))
    if len(people) < FEW_SPEAKERS:
        return share, inf
    without = _unexplained(different[:, None] - 2.0 * with_others, same.sum(axis=1, keepdims=True) - same)
    return share, float(np.sqrt((len(people) - 1.0) * np.var(without)))


def _unexplained(different: FloatArray, same: FloatArray) -> FloatArray:
    """Return the share of the likeness within people that a line through pairs of different people does not predict.

    Parameters
    ----------
    different
        Of pairs of different people the number, the sums of their likeness before and after protection, of its square
        before, and of the product of both.
    same
        Of pairs of one person the number, and the sums of their likeness before and after protection.
    """
    number, x, y, xx, xy = different
    x, y = x / number, y / number
    spread, joint = xx / number - x * x, xy / number - x * y
    slope = np.maximum(joint, 0.0) / np.maximum(spread, _ROUNDING**2)
    count = np.maximum(same[0], 1.0)
    gained_before, gained_after = same[1] / count - x, same[2] / count - y
    explained = slope * gained_before / np.maximum(gained_after, _ROUNDING)
    return np.where(gained_after > _ROUNDING, 1.0 - explained, 0.0)


def _linkable_p_value(after: FloatArray, within: BoolArray, different: BoolArray, seed: int) -> float:
    """Return how often people that are made up of any recordings are as alike as the real ones."""
    rng = np.random.default_rng([seed, 0x64726177])
    rows, columns = np.nonzero(within)
    observed, as_alike = after[rows, columns].mean(), 0
    if observed - after[different].mean() < _ROUNDING:
        return 1.0
    for _ in range(_PERMUTATIONS):
        order = rng.permutation(len(after))
        as_alike += int(after[order[rows], order[columns]].mean() >= observed)
    return (1 + as_alike) / (1 + _PERMUTATIONS)


def paired_trials(folds: Sequence[EncodedSpeech]) -> tuple[FloatArray, FloatArray, StrArray, StrArray]:
    """Return vectors of trials before and after protection, each trial once, who speaks, and their names."""
    pairs: dict[str, tuple[FloatArray, FloatArray]] = {}
    by_speaker: dict[str, list[str]] = defaultdict(list)
    for encoded in folds:
        for name, before in () if encoded.original is None else encoded.original.parts().items():
            after = encoded.anonymised.parts()[name]
            _, here, there = np.intersect1d(before.ids, after.ids, return_indices=True)
            for i, j in zip(here.tolist(), there.tolist(), strict=True) if name.endswith("trial") else ():
                recording = str(before.ids[i])
                if recording not in pairs:
                    pairs[recording] = before.vectors[i], after.vectors[j]
                    by_speaker[str(require_speakers(before)[i])].append(recording)
    people = sorted(speaker for speaker, names in by_speaker.items() if len(names) > 1)[: _MOST // 2]
    each = _MOST // max(len(people), 1)
    chosen = [(speaker, name) for speaker in people for name in sorted(by_speaker[speaker])[:each]]
    original, protected = (np.array([pairs[name][side] for _, name in chosen], dtype=np.float64) for side in (0, 1))
    speakers, names = (np.array([row[column] for row in chosen], dtype=np.str_) for column in (0, 1))
    return original, protected, speakers, names


@dataclass(frozen=True, slots=True)
class PitchChange:
    """By how much the pitch is moved, beyond what the pitch itself explains, in semitones.

    Parameters
    ----------
    between
        Standard deviation over recordings of different people, by the median difference of pairs of them.
    within
        The same over recordings of one person.
    """

    between: float = 0.0
    within: float = inf

    @property
    def drawn_per_speaker(self) -> bool:
        """Whether the pitch of each person seems to be moved by an amount of its own."""
        return self.between >= max(_LEAST_SEMITONES, _TIMES * self.within)


def pitch_change(folds: Sequence[EncodedSpeech]) -> PitchChange:
    """Return by how much the protection moves the pitch of trials; nothing is known of fewer than `FEW_SPEAKERS`.

    Medians are compared throughout, since a pitch that is tracked an octave off must not count as a draw.

    Parameters
    ----------
    folds
        All cues of both kinds of speech in each fold of people.
    """
    before, after, speakers, _ = paired_trials(folds)
    if not len(speakers):
        return PitchChange()
    columns, features = np.flatnonzero(cue_columns(["pitch"])), [each.name for each in CUES["pitch"].features]
    median = features.index("median")
    measured = before[:, columns].any(axis=1) & after[:, columns].any(axis=1)  # zeros stand for what is not known
    semitones = CUES["pitch"].features[median].spread * 12.0 / log(2.0)
    x, y = (side[measured, columns[median]] * semitones for side in (before, after))
    _, index, counts = np.unique(speakers[measured], return_inverse=True, return_counts=True)
    if np.count_nonzero(counts > 1) < FEW_SPEAKERS:
        return PitchChange()
    moved = y - _slope(_medians(x, index), _medians(y, index)) * x
    same = index[:, None] == index[None, :]
    apart = np.abs(moved[:, None] - moved[None, :])
    return PitchChange(_deviation(apart[~same]), _deviation(apart[same & ~np.eye(len(index), dtype=bool)]))


def _slope(x: FloatArray, y: FloatArray) -> float:
    """Return the slope of y over x: the median over pairs [Theil and Sen] that are a semitone apart."""
    rows, columns = np.triu_indices(len(x), 1)
    apart = np.abs(x[rows] - x[columns]) > 1.0
    steps = (y[rows] - y[columns])[apart] / (x[rows] - x[columns])[apart]
    return float(np.median(steps)) if len(steps) else 1.0


def _medians(values: FloatArray, index: IntArray) -> FloatArray:
    return np.array([np.median(values[index == person]) for person in range(index.max() + 1)])


def _deviation(differences: FloatArray) -> float:
    """Return the standard deviation of normal values whose pairs have these differences, by the median."""
    return 1.4826 / sqrt(2.0) * float(np.median(differences))


def with_step_flags(rows: Sequence[Evaluation], costs: Mapping[str, int]) -> list[Evaluation]:
    """Return the rows with a warning where a cheaper step against the same system learns clearly more."""
    flagged = []
    for row in rows:
        high = row.metrics["alid"].high if row.about.role == "attack" and "alid" in row.metrics else None
        clearly_stronger = (
            other.labels["backend"]
            for other in rows
            if other.about.threat == row.about.threat
            and other.labels.get("encoder") == row.labels.get("encoder")
            and costs.get(other.labels["backend"], inf) < costs.get(row.labels["backend"], inf)  # a fusion has them all
            and (other.number("alid") or 0.0) > (inf if high is None else high)
        )
        name = next(clearly_stronger, None)
        flagged.append(row if name is None else row.with_flags(flag("weaker-than-cheaper-step", cheaper=name)))
    return flagged


def with_choice_flags(rows: Sequence[Evaluation], finding: Finding) -> list[Evaluation]:
    """Return the rows with a warning on the strongest where another learns clearly more from the evaluated people."""
    attacks = [i for i, row in enumerate(rows) if row.about.role == "attack"]
    number = clearly_stronger_row(rows, finding.strongest, attacks, "alid")
    flagged = list(rows)
    if number is not None:
        best = rows[number].labels
        name = ", ".join(filter(None, (str(best.get("encoder", "")), best["backend"])))
        flagged[finding.strongest] = rows[finding.strongest].with_flags(flag("development-disagrees", better=name))
    return flagged


def pair_flags(pairs: PairReport | None) -> list[Flag]:
    """Return warnings where protected audio is that of other people, or nearly the original."""
    if pairs is None:
        return []
    counts = {"same-audio": pairs.same_audio, "waveform-kept": pairs.kept_waveform}
    return [flag(code, count=count, total=pairs.compared) for code, count in counts.items() if count]


def refusal_flags(left_out: LeftOut) -> list[Flag]:
    """Return a warning where recordings are left out because the protection refused them."""
    return [flag("refused-left-out", count=len(left_out.refused), total=left_out.total)] if left_out else []


def flag_attacks(rows: Sequence[Evaluation], *flags: Flag, protection: Protection | None = None) -> list[Evaluation]:
    """Return the rows, attacks with these flags and with how their speech was protected."""
    return [
        replace(row, about=replace(row.about, protection=protection)).with_flags(*flags)
        if row.about.role == "attack"
        else row
        for row in rows
    ]


def same_flags(folds: Sequence[EncodedSpeech], *, allow_same: bool) -> list[Flag]:
    """Return warnings on original recordings that are equal: of different people, or, where allowed, of one person.

    Parameters
    ----------
    folds
        The speech of each fold by one encoder.
    allow_same
        Whether the same audio may be enrolment and trial of one person; it is refused otherwise.
    """
    names: tuple[set[str], set[str]] = set(), set()
    for sets in (encoder.original for encoder in folds if encoder.original is not None):
        for kind, which in zip(names, find_same(sets.eval_trial, sets.eval_enrol), strict=True):
            kind.update(sets.eval_trial.ids[which].tolist())
    same, equal = names
    flags = relaxed_flags(compared_with_itself(sorted(same), allow=allow_same))
    return [*flags, flag("equal-vectors", count=len(equal))] if equal else flags


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
        sessions = set(enrolled)
        shared += sum(session in sessions for session in tried)
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


def with_words_flags(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the rows, attacks with a warning where one by the words alone finds people."""
    tests = [
        (row, chance.p_value)
        for row, chance in zip(rows, chances(rows), strict=True)
        if row.about.words and chance.beaten
    ]
    row, p_value = max(tests, key=lambda test: test[0].about.development or 0.0, default=(None, None))
    if row is None or p_value is None:
        return list(rows)
    bits, most = max(row.number("alid") or 0.0, 0.0), log2(row.counts["identities"])
    return flag_attacks(rows, flag("words-disclose", bits=bits, most=most, p_value=p_value))


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
        bits, most = max(row.number("alid") or 0.0, 0.0), log2(row.counts["identities"])
        when = "before" if before else "after"
        warning = flag("recordings-differ", bits=bits, most=most, when=when, p_value=chance.p_value)
        warnings["control" if before else "attack"].append(warning)
        flagged[i] = row.with_flags(warning)
    return [row.with_flags(*warnings.get(row.about.role, ())) for row in flagged]
