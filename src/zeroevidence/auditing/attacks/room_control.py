"""The room control: an attacker who hears the recordings, but no voice.

Where people were recorded in a room or with a device of their own, recordings of one person are alike without any
voice. This attacker compares the pauses and the channel alone, before protection and after it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.attackers.attacker import find_attacker
from zeroevidence.attack.attackers.challenges import UNPROTECTED_SPEECH
from zeroevidence.attack.cues.cue import CUES
from zeroevidence.attack.ladder.ladder import LADDER
from zeroevidence.auditing.attacks.attack_plan import AttackPlan, AttackRows
from zeroevidence.auditing.attacks.attack_result import FailedAttack
from zeroevidence.auditing.attacks.attack_settings import AttackSettings
from zeroevidence.auditing.inputs.encoded_speech import EncodedSpeech
from zeroevidence.data.embeddings import Embeddings

WITHOUT_VOICE = ("background", "channel")  # cues in which no voice is heard
CONTROL = f"cue:{'+'.join(WITHOUT_VOICE)}"
_STEP = "whitened"


def room_control(folds: Sequence[EncodedSpeech], settings: AttackSettings) -> AttackRows:
    """Return the rows of the control: original speech, then protected speech, each compared with itself.

    Parameters
    ----------
    folds
        Cues without a voice of both kinds of speech in each fold of people; without any there are no rows.
    settings
        Settings of the attacks.
    """
    results = AttackRows()
    if not folds:
        return results
    step, informed = LADDER.find(_STEP), find_attacker("semi-informed")
    plan = AttackPlan([[cues] for cues in folds], [step], [informed], settings)
    for model in (UNPROTECTED_SPEECH, informed):
        started = time.perf_counter()
        result = plan.attack(0, step, model)
        if isinstance(result, FailedAttack):
            results.failed.append(result)
            continue
        row = plan.row(model, result)
        row = replace(row, labels={**row.labels, "encoder": CONTROL}, about=replace(row.about, role="room"))
        results.add(row, plan.card(model, result), replace(result, seconds=time.perf_counter() - started))
    return results


def without_voice(folds: Sequence[EncodedSpeech]) -> list[EncodedSpeech]:
    """Return the cues in which no voice is heard, of all cues; nothing of vectors that are no cues."""
    heard = np.concatenate([np.full(len(cue.features), cue.name in WITHOUT_VOICE) for cue in CUES.values()])

    def columns(part: Embeddings) -> FloatArray:
        return part.vectors[:, heard]

    return [
        EncodedSpeech(CONTROL, cues.original.mapped(columns), cues.anonymised.mapped(columns))
        for cues in folds
        if cues.original is not None and cues.anonymised.train.vectors.shape[1] == len(heard)
    ]
