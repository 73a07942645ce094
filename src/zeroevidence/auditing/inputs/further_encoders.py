"""Further encoders of an audit beside the one asked for: other speaker encoders, and cues beside the voice."""

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

Embed = Callable[[Extractor], tuple[EmbeddingSets, EmbeddingSets]]
ALL_CUES = "cues"
_STEP = "whitened"  # cues have few dimensions, of very different worth: plain cosine wastes them, PLDA gains nothing


def encode_further(first: Extractor, effort: Effort, embed: Embed) -> Iterator[EncodedSpeech]:
    """Yield both kinds of speech by the further encoders of an effort.

    Parameters
    ----------
    first
        The encoder that was asked for.
    effort
        ``quick`` adds none; ``standard`` adds cues, together and one at a time; ``full`` every encoder that is present.
    embed
        Embeds original and protected speech.
    """
    if effort == "full":
        for name in other_encoders(first.name):
            yield EncodedSpeech(name, *embed(load_extractor(name)))
    if effort != "quick" and not isinstance(first, CueExtractor):
        yield from encode_cues(*embed(load_extractor(ALL_CUES)))


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

        yield EncodedSpeech(f"cue:{cue.name}", None, anonymised.mapped(only), steps=(_STEP,))
