"""Original and anonymised speech by each encoder of an audit, with what more training of it would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.attack.backends import Backend, make_backend
from zeroevidence.attack.cues import CUES
from zeroevidence.attack.encoders import inventory
from zeroevidence.attack.extractors import Extractor, load_extractor
from zeroevidence.attack.extractors.extract import has_gpu
from zeroevidence.attack.extractors.families import CueExtractor
from zeroevidence.attack.ladder import Effort
from zeroevidence.attack.onnx_runtime import CropExtractor, OnnxExtractor
from zeroevidence.auditing.embedding_sets import EmbeddingSets, check_pair
from zeroevidence.auditing.step_attack import Sides, disclosure, score_trials
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import Material, ThreatModel, Training
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Curve
from zeroevidence.evaluation.rows.about import DrawUse

_GAIN = 0.1  # bits from a doubling, below which a curve counts as level
_SHARES = (0.25, 0.5, 1.0)
_REPEATS = 5
_LEAST_PEOPLE = 4
_NUMBERS = (1, 2, 5, 10, 20, 50, 100)  # of draws


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Disclosure to an attacker over the amount of training people, epochs, draws or enrolled recordings.

    Parameters
    ----------
    amount
        Training people, epochs, draws of the anonymiser or enrolled recordings; each about twice the one before.
    bits
        Disclosure, averaged over draws where there are several.

    Examples
    --------
    >>> curve = LearningCurve((5, 10, 20), (1.0, 1.5, 1.53))
    >>> curve.levelled_off, round(curve.gain, 2)
    (True, 0.03)
    """

    amount: tuple[int, ...]
    bits: tuple[float, ...]

    @property
    def gain(self) -> float:
        """Gain of the last doubling, in bits."""
        return self.bits[-1] - self.bits[-2]

    @property
    def levelled_off(self) -> bool:
        """Whether more training would hardly make this attacker stronger."""
        return self.gain < _GAIN

    def to_curve(self) -> Curve:
        """Return the curve for figures and files."""
        return Curve(tuple(map(float, self.amount)), self.bits)


@dataclass(frozen=True, slots=True)
class LearningCurves:
    """The learning curves of an attacker, where they are known.

    Parameters
    ----------
    people
        Over training people.
    epochs
        Over epochs of the training of its encoder.
    draws
        Over draws of the anonymiser that its back-end learns from and that it enrols; the encoder stays the same.
    """

    people: LearningCurve | None = None
    epochs: LearningCurve | None = None
    draws: LearningCurve | None = None


def learning_curve(
    model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse, *, seed: int = 0
) -> LearningCurve | None:
    """Return the disclosure to the same back-end fitted to fewer people; None where it cannot be fitted to so few."""
    everyone = sides[model.trained_on].speakers("train")
    sizes = [max(2, round(share * len(everyone))) for share in _SHARES]
    if sizes[0] < _LEAST_PEOPLE:
        return None
    bits = []
    for size in sizes:
        repeats = 1 if size == len(everyone) else _REPEATS
        samples = [
            np.random.default_rng([seed, size, repeat]).permutation(everyone)[:size] for repeat in range(repeats)
        ]
        try:
            bits.append(float(np.mean([_disclosure(model, backend, sides, draws, people) for people in samples])))
        except (InputError, np.linalg.LinAlgError):
            return None
    return LearningCurve(tuple(sizes), tuple(bits))


def draw_curve(model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse) -> LearningCurve | None:
    """Return the disclosure to the same back-end over the number of draws that it learns from and enrols.

    The encoder stays the same. None where there is one draw only, or the attacker enrols original speech.
    """
    most = 1 + len(sides[model.enrolment].draws)
    if most < 2:
        return None
    amounts = [*(number for number in _NUMBERS if number < most), most]
    people = sides[model.trained_on].speakers("train")
    bits = [
        _disclosure(model, backend, sides, DrawUse(training=number, enrolment=number, level=draws.level), people)
        for number in amounts
    ]
    return LearningCurve(tuple(amounts), tuple(bits))


def _disclosure(model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse, people: StrArray) -> float:
    vectors, speakers = sides[model.trained_on].training(draws.training)
    rows = np.isin(speakers, people)
    fitted = make_backend(backend).fit(vectors[rows], speakers[rows])
    enrolled = sides[model.enrolment].part_draws("eval_enrol")[: draws.enrolment]
    return disclosure(score_trials(fitted, enrolled, sides[model.trial].eval_trial, draws.level))


@dataclass(frozen=True, slots=True)
class FineTuningHistory:
    """How an encoder was fine-tuned on anonymised speech.

    Parameters
    ----------
    people
        Number of training people.
    recordings
        Number of their recordings.
    epochs
        Passes over them.
    over_people
        Disclosure of development people to encoders that were trained on fewer people.
    over_epochs
        Disclosure to encoders that were trained for fewer epochs.
    """

    people: int
    recordings: int
    epochs: int
    over_people: LearningCurve | None = None
    over_epochs: LearningCurve | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSpeech:
    """Original and anonymised speech as embedded by one encoder.

    Parameters
    ----------
    name
        What results call the encoder.
    original
        Embeddings before protection; without them, only attackers who need none can use the encoder.
    anonymised
        Embeddings of the same people after protection.
    trained_on
        What the encoder learned from; one that was fine-tuned on anonymised speech attacks only as semi-informed.
    steps
        Steps of the ladder to try; all unless given.
    learned
        How it was fine-tuned, where that is known.
    part_of
        The encoder whose vectors contain these; attackers with a part are not fused beside those with the whole.
    """

    name: str
    original: EmbeddingSets | None
    anonymised: EmbeddingSets
    trained_on: Training = "original"
    steps: tuple[str, ...] = ()
    learned: FineTuningHistory | None = None
    part_of: str | None = None

    def __post_init__(self) -> None:
        if self.original is not None:
            check_pair(self.original, self.anonymised)

    def sides(self) -> dict[Material, EmbeddingSets]:
        """Return the sets by the side of a comparison."""
        anonymised: dict[Material, EmbeddingSets] = {"anonymised": self.anonymised}
        return anonymised if self.original is None else {"original": self.original, **anonymised}

    def serves(self, model: ThreatModel, step: str) -> bool:
        """Return whether an attacker can use it at a step of the ladder."""
        needs = required_speech(model) - {"noise"}
        fits = self.trained_on == "original" or model.trained_on == "anonymised"
        return fits and needs <= set(self.sides()) and (not self.steps or step in self.steps)


def required_speech(model: ThreatModel) -> set[Material]:
    """Return the kinds of speech that an attacker needs."""
    return {model.enrolment, model.trial, model.trained_on, *model.development}


def check_same_people(encoders: list[EncodedSpeech]) -> None:
    """Refuse encoders that were not given the same utterances: their scores could not be fused."""
    first = encoders[0]
    for other in encoders[1:]:
        for side, sets in other.sides().items():
            for name, part in sets.parts().items():
                here = first.sides()[side].parts()[name]
                if not np.array_equal(np.sort(here.ids), np.sort(part.ids)):
                    raise InputError(f"{other.name} and {first.name} embed other utterances ({side}, {name})")


Embed = Callable[[Extractor], tuple[EmbeddingSets, EmbeddingSets]]
ALL_CUES = "cues"
CROP_STEPS = ("cosine", "whitened", "plda")  # an adapter learns from whole recordings, and takes longest
_STEP = "whitened"  # cues have few dimensions, of very different worth: plain cosine wastes them, PLDA gains nothing


def encode_further(first: Extractor, effort: Effort, embed: Embed, *, pool: bool = False) -> Iterator[EncodedSpeech]:
    """Yield both kinds of speech by the further encoders of an effort.

    Parameters
    ----------
    first
        The encoder that was asked for.
    effort
        ``quick`` adds none; ``standard`` adds cues, together and one at a time; ``full`` every encoder that is present.
    embed
        Embeds original and protected speech.
    pool
        Whether speaker encoders are tried once more with vectors that are means over crops.
    """
    if effort == "full":
        for name in other_encoders(first.name):
            other = load_extractor(name)
            yield EncodedSpeech(name, *embed(other))
            for crops in with_crops(other) if pool else ():
                yield EncodedSpeech(crops.name, *embed(crops), steps=CROP_STEPS)
    for crops in with_crops(first) if pool else ():
        yield EncodedSpeech(crops.name, *embed(crops), steps=CROP_STEPS)
    if effort != "quick" and not isinstance(first, CueExtractor):
        yield from encode_cues(*embed(load_extractor(ALL_CUES)))


def pools_crops(effort: Effort) -> bool:
    """Return whether an effort tries means over crops: ``full``, and ``standard`` where there is a GPU."""
    return effort == "full" or (effort == "standard" and has_gpu())


def with_crops(encoder: Extractor) -> list[CropExtractor]:
    """Return the encoder with means over crops; nothing where it takes no features that could be cut."""
    return [CropExtractor(encoder)] if isinstance(encoder, OnnxExtractor) and encoder.takes_features else []


def other_encoders(name: str) -> list[str]:
    """Return the names of installed encoders but one."""
    return [encoder.name for encoder in inventory().encoders if encoder.name != name]


def encode_cues(original: EmbeddingSets, anonymised: EmbeddingSets) -> Iterator[EncodedSpeech]:
    """Yield all cues together, for every attacker, and each alone, for the attacker who knows most."""
    yield EncodedSpeech(ALL_CUES, original, anonymised, steps=(_STEP,))
    first = 0
    for cue in CUES.values():
        columns = slice(first, first + len(cue.features))
        first = columns.stop

        def only(part: Embeddings, columns: slice = columns) -> FloatArray:
            return part.vectors[:, columns]

        yield EncodedSpeech(f"cue:{cue.name}", None, anonymised.mapped(only), steps=(_STEP,), part_of=ALL_CUES)
