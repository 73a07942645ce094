"""The scores of a tandem by kind of trial, with who is claimed, who is heard, and which attack made them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.preparing.name_order import name_ranks
from zeroevidence.data.tandem import TandemScores, TrialScores
from zeroevidence.errors import InputError

ALL = "all"


@dataclass(frozen=True, slots=True, eq=False)
class TrialClass:
    """Ascending scores of one kind of trial, the speaker of each, and where each attack's stand.

    `speaker` is the claimed one and `heard` the one who spoke; -1 where unknown, or where nobody spoke.
    """

    scores: FloatArray
    speaker: IntArray
    heard: IntArray
    attack: Mapping[str, IntArray]

    @property
    def is_labelled(self) -> bool:
        """Whether the attack of every trial is known."""
        return bool(self.attack) and "" not in self.attack

    @classmethod
    def of(cls, trials: TrialScores, codes: Mapping[str, int], spoken: Mapping[str, int]) -> TrialClass:
        """Trials of one kind, by the codes of speakers and by who spoke each utterance."""
        # equal scores by what is known of them, so that the order of a file is nothing
        ranks = [name_ranks(names) for names in (trials.attacks, trials.speakers) if names is not None]
        order = np.lexsort((*ranks, trials.scores))
        names = np.full(len(trials), "") if trials.speakers is None else trials.speakers[order]
        distinct, inverse = np.unique(names, return_inverse=True)
        speaker = np.array([codes.get(str(name), -1) for name in distinct], dtype=np.int64)[inverse]
        made = {} if trials.attacks is None else _positions(trials.attacks[order])
        heard = np.full(len(trials), -1, dtype=np.int64)
        if trials.utterances is not None and spoken:
            utterances, place = np.unique(trials.utterances[order], return_inverse=True)
            heard = np.array([spoken.get(str(utterance), -1) for utterance in utterances], dtype=np.int64)[place]
        return cls(trials.scores[order].astype(np.float64), speaker, heard, made)


def trial_classes(scores: TandemScores) -> tuple[dict[str, TrialClass], list[str]]:
    """The scores of each kind of trial, and the names of the speakers."""
    speakers = [] if scores.speakers is None else [str(speaker) for speaker in scores.speakers]
    codes = {speaker: code for code, speaker in enumerate(speakers)} if len(speakers) > 1 else {}
    spoken = _spoken(scores, codes)
    return {kind: TrialClass.of(trials, codes, spoken) for kind, trials in scores.classes().items()}, speakers


def _spoken(scores: TandemScores, codes: Mapping[str, int]) -> dict[str, int]:
    """Who spoke each bona fide utterance: the claimed speaker of a target, and whom the countermeasure hears."""
    sure = (scores.asv_target, scores.sasv_target, scores.cm_bonafide)
    return {
        str(utterance): codes[str(speaker)]
        for trials in sure
        if trials is not None and trials.utterances is not None and trials.speakers is not None
        for utterance, speaker in zip(trials.utterances, trials.speakers, strict=True)
        if str(speaker) in codes
    }


def class_arrays(
    classes: Mapping[str, TrialClass], speakers: Sequence[str]
) -> Iterator[FloatArray | IntArray | StrArray]:
    """Yield everything about the trials that enters a digest: scores, attacks, speakers and their names."""
    yield np.array(speakers, dtype=np.str_)
    for kind, trials in classes.items():
        yield np.array([kind, *trials.attack])
        yield trials.scores
        yield from (trials.speaker, trials.heard, *trials.attack.values())


def scores_by_attack(classes: Mapping[str, TrialClass], attacks: Sequence[str]) -> dict[str, dict[str, FloatArray]]:
    """Scores by kind of trial for all attacks and for each."""
    parts = {ALL: {kind: trials.scores for kind, trials in classes.items()}}
    for attack in attacks:
        parts[attack] = {
            kind: trials.scores[trials.attack[attack]] if kind.endswith("spoof") else trials.scores
            for kind, trials in classes.items()
        }
    return parts


def attacks_of(scores: TandemScores, classes: Mapping[str, TrialClass]) -> list[str]:
    """The attacks that every side has spoofs of."""
    spoofs = {kind: spoof_trials for kind, spoof_trials in classes.items() if kind.endswith("spoof")}
    for kind, trials in scores.classes().items():
        if kind in spoofs and (trials.attacks is None or (trials.attacks == "").any()):
            number = len(trials) if trials.attacks is None else int((trials.attacks == "").sum())
            raise InputError(f"{number} of {len(trials)} {kind} scores have no attack label; expected one for each")
    for kind, spoof_trials in spoofs.items():
        for other, theirs in spoofs.items():
            lacking = sorted(set(spoof_trials.attack) - set(theirs.attack))
            if lacking:
                raise InputError(f"attack {lacking[0]!r} has {kind} scores but no {other} scores")
    return sorted(next(iter(spoofs.values())).attack)


def _positions(names: np.ndarray[tuple[int], np.dtype[np.str_]]) -> dict[str, IntArray]:
    return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}
