"""What a recogniser hears in recordings, with a cache: an audit that is continued hears nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from zeroevidence.attack.speech.array_store import array_key
from zeroevidence.attack.speech.batches import compute_ahead
from zeroevidence.data.files.json_values import load_json, typed
from zeroevidence.data.files.writing import write_atomically
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError
from zeroevidence.forking import cores
from zeroevidence.protect.voices.recognisers import RECOGNISERS, Recognised, load_recogniser, recognise
from zeroevidence.uncertainty.resampling.draws import Progress


@dataclass(frozen=True, slots=True)
class Ear:
    """A recogniser with a cache.

    Parameters
    ----------
    recogniser
        Its name.
    folder
        Where texts are kept; None to keep none.
    """

    recogniser: str
    folder: Path | None = None

    def __call__(self, wave: Wave) -> Recognised:
        """Return what is heard in speech at 16 kHz."""
        if self.folder is None:
            return recognise(self.recogniser, wave)
        key = array_key(wave, self.recogniser, RECOGNISERS[self.recogniser].version)
        file = self.folder / key[:2] / f"{key[2:]}.json"
        with suppress(InputError):  # missing, or cut off
            return typed(Recognised, load_json(file), "text")
        heard = recognise(self.recogniser, wave)
        with suppress(OSError):  # a full disk is no reason to stop
            file.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(asdict(heard))
            write_atomically(file, lambda temporary: temporary.write_text(text, encoding="utf-8"))
        return heard


def hear(
    utterances: Sequence[Utterance], load: Callable[[Utterance], Wave], ear: Ear, progress: Progress | None
) -> dict[str, Recognised]:
    """Return what is heard in each utterance.

    Parameters
    ----------
    utterances
        The utterances.
    load
        Returns the speech of an utterance at 16 kHz.
    ear
        The recogniser.
    progress
        Called with the number of utterances done and of all.
    """
    load_recogniser(ear.recogniser)  # what is missing is said before any work
    heard: dict[str, Recognised] = {}
    for utterance, recognised in zip(
        utterances, compute_ahead(lambda each: ear(load(each)), utterances, cores()), strict=True
    ):
        heard[utterance.id] = recognised
        if progress is not None:
            progress(len(heard), len(utterances))
    return heard
