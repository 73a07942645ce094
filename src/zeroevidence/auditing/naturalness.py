"""How clean and natural original and protected speech sounds, as DistillMOS predicts that listeners would judge it.

The model and its weights come in a wheel. Its package imports torchaudio, which it needs for files alone, and of which
there is no build for each version of torch; so an empty module stands in for it where it is not imported yet.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.attack.voice_transforms import VoiceTransform
from zeroevidence.auditing.word_errors import SpeechSides, sample_recordings
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.store import Store, digest
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.data.waves import Wave
from zeroevidence.errors import MissingExtra
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.evaluation.utility import UtilityRowSettings, utility_row, who_speaks
from zeroevidence.measure.utility import OpinionView
from zeroevidence.optional import optional, torch_threads
from zeroevidence.protect.voices.speech_models import Wheel
from zeroevidence.run import Run

JUDGED = 60  # recordings, drawn at random where there are more
_EXTRA = "naturalness"
_NEEDED_FOR = "predicted opinion scores"
_WHEEL = Wheel("distillmos==0.9.1", "distillmos", "weights")
_WEIGHTS = "distill_mos_v7.pt", "b18b3ac60227267cfb91e5d00ce22cc7b73716fd92f269484da1446e27031a40"
_FILES_ALONE = "torchaudio"  # the package reads files with it, which is not done here


def can_judge() -> bool:
    """Return whether the model is installed."""
    try:
        load_judge()
    except MissingExtra:
        return False
    return True


@lru_cache(maxsize=1)
def load_judge() -> Callable[[Wave], float]:
    """Return what predicts the opinion score of speech at 16 kHz, from 1 (bad) to 5 (excellent).

    Raises
    ------
    MissingExtra
        Where the wheel is not installed.
    InputError
        Where its weights are not those of the version that is known.
    """
    _WHEEL.file(*_WEIGHTS, extra=_EXTRA, needed_for=_NEEDED_FOR)  # first: importing torch takes seconds
    torch = optional("torch", _EXTRA, _NEEDED_FOR)
    with contextlib.redirect_stdout(io.StringIO()):  # it says where its weights are
        model = _import_model().ConvTransformerSQAModel().eval()

    def judge(wave: NDArray[Any]) -> float:
        with torch.inference_mode(), torch_threads(1):  # several wait for each other longer than they compute
            return float(model(torch.from_numpy(np.asarray(wave, np.float32)[None])))

    return judge


def _import_model() -> Any:
    absent = _FILES_ALONE not in sys.modules
    sys.modules.setdefault(_FILES_ALONE, ModuleType(_FILES_ALONE))
    try:
        return importlib.import_module(_WHEEL.package)
    except ImportError:
        raise MissingExtra(_EXTRA, _NEEDED_FOR) from None
    finally:
        if absent:
            del sys.modules[_FILES_ALONE]


def evaluate_naturalness(
    original: Corpus,
    anonymised: Corpus | VoiceTransform,
    options: Options = Options(),
    *,
    most: int = JUDGED,
    store: Store | None = None,
    run: Run = Run(),
) -> list[Evaluation]:
    """Return the predicted opinion scores of original and of protected speech, and their difference.

    Parameters
    ----------
    original
        The original speech.
    anonymised
        The protected speech, or what protects the original.
    options
        Intervals.
    most
        Recordings that are judged, as `evaluate_word_errors` draws them.
    store
        Keeps scores; None for no cache.
    run
        Seed, level and progress.

    Raises
    ------
    MissingExtra
        Where the model is not installed.
    """
    sample = sample_recordings(tuple(original), most, run.seed)
    sides = SpeechSides(anonymised)
    before = _judge(sample, sides.original, "original", store, run)
    after = _judge(sample, sides.protected, "protected", store, run)
    shortened = len(sample) < len(original)
    flags = [flag("heard-sample", count=len(sample), total=len(original))] if shortened else []
    names, speakers = [each.id for each in sample], {each.id: each.speaker for each in sample}
    each = np.ones(len(sample))

    def row(columns: Sequence[FloatArray], speech: Training) -> Evaluation:
        labels = {"system": UNPROTECTED} if speech == "original" else {}
        how, counts = UtilityRowSettings(labels, speech, options, run), {"utterances": len(sample)}
        who = who_speaks(names, speakers)
        return utility_row(
            np.stack(columns, axis=1), each, lambda sums: OpinionView(*sums), who, counts, how
        ).with_flags(*flags)

    return [row((before, each), "original"), row((after, each, after - before), "anonymised")]


def _judge(
    sample: Sequence[Utterance], load: Callable[[Utterance], Wave], title: str, store: Store | None, run: Run
) -> FloatArray:
    """Return the score of each recording."""
    judge, scores = load_judge(), np.empty(len(sample))
    step = run.progress(f"judging {title} speech", "utterances")
    for place, utterance in enumerate(sample):
        wave = load(utterance)
        compute = partial(_score, judge, wave)
        scores[place] = compute()[0] if store is None else store.array(digest(_WHEEL.version, wave), compute)[0]
        step(place + 1, len(sample))
    return scores


def _score(judge: Callable[[Wave], float], wave: Wave) -> FloatArray:
    return np.array([judge(wave)])
