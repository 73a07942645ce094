"""Who joins the encoder that was asked for: further encoders, and cues beside the voice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import CUES
from zeroevidence.attack.encoders.inventory import inventory
from zeroevidence.attack.extractors.extractor import Extractor, load_extractor
from zeroevidence.attack.extractors.families.cues import CueExtractor
from zeroevidence.attack.ladder.ladder import Effort
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.auditing.inputs.encoded_speech import EncodedSpeech
from zeroevidence.data.embeddings import Embeddings

Embeds = Callable[[Extractor], tuple[EmbeddingSets, EmbeddingSets]]
_CUES = "cues"
_STEP = "whitened"  # cues have few dimensions, of very different worth: plain cosine wastes them, PLDA gains nothing


def company(asked: Extractor, effort: Effort, embeds: Embeds) -> Iterator[EncodedSpeech]:
    """Further encoders that an effort asks for, as they see both kinds of speech.

    Parameters
    ----------
    asked
        The encoder that is there already.
    effort
        ``quick`` adds none; ``standard`` adds cues, together and one at a time; ``full`` every encoder that is present.
    embeds
        What makes embeddings of original and protected speech.
    """
    if effort == "full":
        for name in others(asked.name):
            yield EncodedSpeech(name, *embeds(load_extractor(name)))
    if effort != "quick" and not isinstance(asked, CueExtractor):
        yield from _cues(*embeds(load_extractor(_CUES)))


def others(asked: str) -> list[str]:
    """Encoders that are present beside the one asked for."""
    return [one.name for one in inventory().encoders if one.name != asked]


def _cues(original: EmbeddingSets, anonymised: EmbeddingSets) -> Iterator[EncodedSpeech]:
    """All cues together, for every attacker; and each alone, for the attacker who knows most."""
    yield EncodedSpeech(_CUES, original, anonymised, steps=(_STEP,))
    first = 0
    for cue in CUES.values():
        columns = slice(first, first + len(cue.features))
        first = columns.stop

        def only(part: Embeddings, columns: slice = columns) -> FloatArray:
            return part.vectors[:, columns]

        yield EncodedSpeech(f"cue:{cue.name}", None, anonymised.mapped(only), steps=(_STEP,))
