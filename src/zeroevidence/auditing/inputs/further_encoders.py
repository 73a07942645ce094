"""Further encoders of an audit beside the one asked for: other speaker encoders, and cues beside the voice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import CUES
from zeroevidence.attack.encoders.inventory import inventory
from zeroevidence.attack.extractors.device_extraction import has_gpu
from zeroevidence.attack.extractors.extractor import Extractor, load_extractor
from zeroevidence.attack.extractors.families.cues import CueExtractor
from zeroevidence.attack.ladder.ladder import Effort
from zeroevidence.attack.onnx_models.runtime import CropExtractor, OnnxExtractor
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.auditing.inputs.encoded_speech import EncodedSpeech
from zeroevidence.data.embeddings import Embeddings

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
