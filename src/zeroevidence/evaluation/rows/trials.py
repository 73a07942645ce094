"""What a search discloses: by trial, by person, and by the number of recordings that the attacker holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.measure.search.disclosure import SpeakerRisk, by_speaker


@dataclass(frozen=True, slots=True)
class People:
    """What a search learns about each speaker, the most exposed first; of very many speakers only those.

    Parameters
    ----------
    speaker
        Name of the speaker.
    trials
        Number of the speaker's trials.
    alid
        Mean LID over the speaker's trials, in bits.
    lid_max
        Largest LID of the speaker's trials, in bits.
    linked
        Share of the speaker's trials whose true identity scored strictly above all others.
    falsely
        Share of all other speakers' trials for which this name came first.
    named
        Whether the speaker counts as named: see the measure `people_named`.
    worst_case
        log10 of the strongest likelihood ratio in any comparison that involves the speaker; None where comparisons are
        not known one by one.
    """

    speaker: tuple[str, ...]
    trials: tuple[int, ...]
    alid: tuple[float, ...]
    lid_max: tuple[float, ...]
    linked: tuple[float, ...]
    falsely: tuple[float, ...] | None = None
    named: tuple[bool, ...] | None = None
    worst_case: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recordings:
    """What an attacker learns who holds several recordings of the person, an entry for each number of them.

    An attacker may use fewer than they hold, so no value is below the one before.

    Parameters
    ----------
    held
        Number of recordings that the attacker holds.
    people
        Number of people who have as many; of the others all recordings are used.
    worth
        Number of independent recordings that would give the same evidence.
    alid
        Mean LID, in bits.
    top1
        Share of trials whose true identity scored highest.
    lid_max
        Largest LID, in bits.
    link_probability
        Linkability in the legal sense.
    singling_out
        Singling out in the legal sense.
    alid_low
        Lower end of the interval of `alid`.
    alid_high
        Upper end of the interval of `alid`.
    top1_low
        Lower end of the interval of `top1`.
    top1_high
        Upper end of the interval of `top1`.
    """

    held: tuple[int, ...]
    people: tuple[int, ...]
    worth: tuple[float, ...]
    alid: tuple[float, ...]
    top1: tuple[float, ...]
    lid_max: tuple[float, ...]
    link_probability: tuple[float, ...]
    singling_out: tuple[float, ...]
    alid_low: tuple[float, ...] | None = None
    alid_high: tuple[float, ...] | None = None
    top1_low: tuple[float, ...] | None = None
    top1_high: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Trials:
    """What each trial of a search discloses.

    Parameters
    ----------
    trial
        Identifier of the trial.
    speaker
        Its true speaker.
    lid
        Local information disclosure, in bits.
    rank
        Rank of the true identity, the mean rank over ties.
    linked
        1 where the true identity scored strictly above all others.
    """

    trial: StrArray
    speaker: StrArray
    lid: FloatArray
    rank: FloatArray
    linked: IntArray

    @cached_property
    def by_speaker(self) -> SpeakerRisk:
        """What the trials disclose of each speaker."""
        return by_speaker(self.lid, self.speaker)
