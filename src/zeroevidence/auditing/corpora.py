"""From folders of speech to an audit: extraction with a cache, then the attacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from zeroevidence.attack.attackers import find_attacker, usual_attackers
from zeroevidence.attack.backends import BackendLike
from zeroevidence.attack.encoders import refuse_shared
from zeroevidence.attack.extract import extract
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR, Extractor, load_extractor
from zeroevidence.attack.extractors.runtime import OnnxExtractor
from zeroevidence.attack.ladder import Effort
from zeroevidence.auditing.attacks import Audit, audit
from zeroevidence.auditing.company import company, others
from zeroevidence.auditing.encoders import Encoded
from zeroevidence.auditing.finetuning import FineTuning
from zeroevidence.auditing.sets import EmbeddingSets
from zeroevidence.data.formats.corpora.read import read_corpus, read_segments
from zeroevidence.data.speech import Corpus
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.protect import load_protector
from zeroevidence.uncertainty.draws import Progress


@dataclass(frozen=True, slots=True)
class Cutting:
    """Shorter trials: a table of pieces to cut utterances by, and how many pieces make a trial."""

    segments: str | Path
    pieces: int = 1


def audit_corpora(
    corpus: str | Path,
    *,
    anonymised: str | Path | None = None,
    protect: str | None = None,
    extractor: str | Path = DEFAULT_EXTRACTOR,
    extractor_anonymised: str | Path | None = None,
    cache: str | Path,
    attackers: Sequence[str | ThreatModel] | None = None,
    effort: Effort = "standard",
    backends: Sequence[BackendLike] | None = None,
    cutting: Cutting | None = None,
    options: Options | None = None,
    workers: int = 1,
    progress: Callable[[str, str], Progress | None] = lambda what, units: None,  # noqa: ARG005
    say: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Attack anonymised speech that an anonymiser wrote, or that a protector makes here.

    Parameters
    ----------
    corpus
        A folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance, speaker and path.
    anonymised, protect
        A folder with the same utterances as an anonymiser wrote them; or the name of a protector of voices.
    extractor, extractor_anonymised, cache
        The speaker encoder; one that learned from such speech; the folder where embeddings are kept.
    attackers, effort, backends, options, workers, cutting, progress
        As in `audit`; shorter trials; given words for what is done and for its unit, what to call with numbers.
    say
        Called with notices, such as how long a training will take.

    Examples
    --------
    >>> audit_corpora("speech", cache="cache")
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: expected either a folder of anonymised speech or a protector, and not both
    """
    options = _checked(anonymised, protect, options)
    transform = None if protect is None else load_protector(protect, seed=options.seed)
    original = _trainable(read_corpus(corpus, seed=options.seed), corpus)
    if cutting is not None:
        original = original.cut(read_segments(cutting.segments), cutting.pieces)
    other = original if anonymised is None else original.replaced(anonymised)
    job = _Extraction((original, other), transform, cache, workers, progress)
    encoder = load_extractor(extractor)
    retrained = [] if extractor_anonymised is None else [_retrained(extractor_anonymised, job)]
    sides = job.sides(encoder)
    further: list[Encoded] = []
    left_out: list[str] = []
    if backends is None:
        learns = not retrained and _informed(attackers)
        further, left_out = _further(encoder, effort, job, options.seed, say, learns=learns)
    found = audit(
        *sides,
        encoders=[*retrained, *further],
        attackers=attackers,
        effort=effort,
        backends=backends,
        options=options,
        seed=options.seed,
        system=protect or Path(str(anonymised)).name,
        dataset=Path(corpus).stem,
        extractor=encoder.name,
        workers=workers,
        progress=progress("attackers", "rows"),
    )
    return replace(found, left_out=(*found.left_out, *left_out))


def _further(
    encoder: Extractor, effort: Effort, job: _Extraction, seed: int, say: Callable[[str], None], *, learns: bool
) -> tuple[list[Encoded], list[str]]:
    """Encoders that climb beside the one asked for, and what was left out."""
    found = list(company(encoder, effort, job.sides))
    left_out: list[str] = []
    if learns:
        tuned, left_out = _fine_tuned(encoder, effort, job, seed, say)
        found += tuned
    if effort == "standard" and others(encoder.name):
        left_out.append(f"encoders {', '.join(others(encoder.name))}: --effort full")
    return found, left_out


def _informed(attackers: Sequence[str | ThreatModel] | None) -> bool:
    """Whether some attacker learns from anonymised speech and needs no other."""
    models = [find_attacker(one) for one in (usual_attackers() if attackers is None else attackers)]
    return any({one.enrolment, one.trial, one.trained_on, *one.development} == {"anonymised"} for one in models)


def _retrained(name: str | Path, job: _Extraction) -> Encoded:
    """An encoder that the user trained on such speech; refused where it learned from evaluated people."""
    trained = load_extractor(name)
    if isinstance(trained, OnnxExtractor):
        refuse_shared(trained.card, {one.speaker for one in job.corpora[1] if one.split == "eval"})
    return Encoded(trained.name, None, job.side(trained, 1), trained_on="anonymised")


def _fine_tuned(
    asked: Extractor, effort: Effort, job: _Extraction, seed: int, say: Callable[[str], None]
) -> tuple[list[Encoded], list[str]]:
    """Encoders that learn here from the training people, and what was left out."""
    if effort == "quick":
        return [], ["fine-tuning the encoder on anonymised speech: --effort standard"]
    tuning = FineTuning(
        list(job.corpora[1]),
        job.transform,
        Path(job.cache),
        effort,
        seed,
        job.workers,
        job.progress("features to learn from", "utterances"),
        say,
    )
    found: list[Encoded] = []
    left_out: list[str] = []
    for encoder in [asked, *(load_extractor(name) for name in (others(asked.name) if effort == "full" else []))]:
        tuned = tuning(encoder)
        if tuned.card is None:
            left_out.append(f"fine-tuning {encoder.name}: {tuned.reason}")
            continue
        left_out += [f"every weight of {encoder.name}: {tuned.further}"] if tuned.further else []
        side = job.side(load_extractor(tuned.card), 1)
        found.append(Encoded(f"{encoder.name}-trained", None, side, trained_on="anonymised", learned=tuned.learned))
    return found, left_out


@dataclass(frozen=True, slots=True)
class _Extraction:
    """Both kinds of speech, and how they become embeddings."""

    corpora: tuple[Corpus, Corpus]
    transform: Any
    cache: str | Path
    workers: int
    progress: Callable[[str, str], Progress | None]

    def sides(self, encoder: Extractor) -> tuple[EmbeddingSets, EmbeddingSets]:
        """Original and protected speech as an encoder sees them."""
        return self.side(encoder, 0), self.side(encoder, 1)

    def side(self, encoder: Extractor, which: Literal[0, 1]) -> EmbeddingSets:
        """Original speech (0) or protected speech (1) as an encoder sees it."""
        words = ("original speech", "protected speech")[which]
        return embedded(
            self.corpora[which],
            encoder,
            self.cache,
            transform=self.transform if which else None,
            workers=self.workers,
            progress=self.progress(f"{words}, {encoder.name}", "utterances"),
        )


def _checked(anonymised: str | Path | None, protect: str | None, options: Options | None) -> Options:
    if (anonymised is None) == (protect is None):
        raise UsageError("expected either a folder of anonymised speech or a protector, and not both")
    return options or Options()


def _trainable(original: Corpus, path: str | Path) -> Corpus:
    """Refuse a corpus without training people before hours of work."""
    if not any(one.role == "train" for one in original):
        raise InputError(
            "every utterance has a role and none is train, so attackers have nobody to learn from; give some speakers "
            "the role train, or leave the roles out and they are drawn",
            path=path,
        )
    return original


def embedded(
    corpus: Corpus,
    encoder: Extractor,
    cache: str | Path,
    *,
    transform: Any = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> EmbeddingSets:
    """Embeddings of a corpus by the roles of its utterances."""
    utterances = list(corpus)
    found = extract(utterances, encoder, cache=Path(cache), transform=transform, progress=progress, workers=workers)
    split = np.array(["train" if one.role == "train" else str(one.split) for one in utterances])
    return EmbeddingSets.from_roles(found, split, np.array([str(one.role) for one in utterances]))
