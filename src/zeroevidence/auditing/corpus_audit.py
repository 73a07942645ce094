"""From folders of speech to an audit: extraction with a cache, then the attacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from zeroevidence.attack.attackers.attacker import find_attacker, usual_attackers
from zeroevidence.attack.backends.backend import BackendLike
from zeroevidence.attack.encoders.training_speakers import refuse_shared
from zeroevidence.attack.extractors.extract import extract
from zeroevidence.attack.extractors.extractor import DEFAULT_EXTRACTOR, Extractor, load_extractor
from zeroevidence.attack.ladder.ladder import Effort
from zeroevidence.attack.onnx_models.runtime import OnnxExtractor
from zeroevidence.attack.speech.batches import cores
from zeroevidence.attack.speech.protection import cached_transform
from zeroevidence.auditing.attacks.fine_tuning import FineTuner, too_few
from zeroevidence.auditing.embedding_audit import Audit, audit_folds
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.auditing.inputs.encoded_speech import EncodedSpeech
from zeroevidence.auditing.inputs.further_encoders import company, others
from zeroevidence.auditing.inputs.speaker_folds import sets_of, split_people
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.corpora.read import read_corpus, read_segments
from zeroevidence.data.speech.corpus import Corpus
from zeroevidence.data.speech.folds import LEAST_PEOPLE
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.protect import load_protector
from zeroevidence.protect.card import protector_card, unknown_protector_card
from zeroevidence.uncertainty.resampling.draws import Progress


@dataclass(frozen=True, slots=True)
class TrialSegments:
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
    cutting: TrialSegments | None = None,
    folds: int | None = None,
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
        As in `audit`; shorter trials; given words for what is done and for its unit, what to call with numbers. Speech
        is read, protected and embedded on all cores, whatever `workers` says.
    folds
        Cross-validation over people, where the corpus names neither roles nor splits: how many folds, 0 for one split;
        three for fewer than 30 people, and one split for more, unless given.
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
    protector = None if protect is None else load_protector(protect, seed=options.seed)
    originals = _split(corpus, folds, options.seed, cutting)
    pairs = tuple((one, one if anonymised is None else one.replaced(anonymised)) for one in originals)
    if len(pairs) > 1:
        people, times = len(originals[0].speakers), len(pairs)
        say(f"cross-validation: {people} people in {times} folds, so attackers learn {times} times")
    encoder = load_extractor(extractor)
    everyone: list[list[EncodedSpeech]] = []
    left_out: list[str] = []
    with cached_transform(protector) as transform:
        job = _Extraction(pairs, transform, cache, max(workers, cores()), progress)
        retrained = [] if extractor_anonymised is None else [_retrained(extractor_anonymised, job)]
        for fold in job.each():
            own = [EncodedSpeech(encoder.name, *fold.sides(encoder))]
            own += [EncodedSpeech(one.name, None, fold.side(one, 1), trained_on="anonymised") for one in retrained]
            if backends is None:
                learns = not retrained and _informed(attackers)
                further, left_out = _further(encoder, effort, fold, options.seed, say, learns=learns)
                own += further
            everyone.append(own)
    found = audit_folds(
        everyone,
        attackers=attackers,
        effort=effort,
        backends=backends,
        options=options,
        seed=options.seed,
        words=(protect or Path(str(anonymised)).name, Path(corpus).stem),
        workers=workers,
        progress=progress("attackers", "rows"),
    )
    card = unknown_protector_card(Path(str(anonymised)).name) if protect is None else protector_card(protect)
    return replace(found, left_out=(*found.left_out, *left_out), protector=card)


def _split(path: str | Path, folds: int | None, seed: int, cutting: TrialSegments | None) -> tuple[Corpus, ...]:
    """The corpus in each fold of people, its trials cut where asked."""
    corpus = read_corpus(path, draw=False)
    try:
        corpora = split_people(corpus, folds, seed)
    except InputError as error:
        raise InputError(error.reason, path=path) from None
    for one in corpora:
        _check_trainable(one, path)
    if cutting is None:
        return corpora
    segments = read_segments(cutting.segments)
    return tuple(one.cut(segments, cutting.pieces) for one in corpora)


def _further(
    encoder: Extractor, effort: Effort, job: _Extraction, seed: int, say: Callable[[str], None], *, learns: bool
) -> tuple[list[EncodedSpeech], list[str]]:
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


def _retrained(name: str | Path, job: _Extraction) -> Extractor:
    """An encoder that the user trained on such speech; refused where it learned from evaluated people."""
    trained = load_extractor(name)
    if isinstance(trained, OnnxExtractor):
        evaluated = {one.speaker for _, speech in job.folds for one in speech if one.split == "eval"}
        refuse_shared(trained.card, evaluated)
    return trained


def _fine_tuned(
    asked: Extractor, effort: Effort, job: _Extraction, seed: int, say: Callable[[str], None]
) -> tuple[list[EncodedSpeech], list[str]]:
    """Encoders that learn here from the training people, and what was left out."""
    if effort == "quick":
        return [], ["fine-tuning the encoder on anonymised speech: --effort standard"]
    reason = too_few(min(len({one.speaker for one in speech.select("train")}) for _, speech in job.folds))
    if reason is not None:
        return [], [f"fine-tuning {asked.name}: {reason}"]
    tuning = FineTuner(
        list(job.folds[job.number][1]),
        job.transform,
        Path(job.cache),
        effort,
        seed,
        job.workers,
        job.progress("features to learn from", "utterances"),
        say,
        (job.number + 1, len(job.folds)),
    )
    found: list[EncodedSpeech] = []
    left_out: list[str] = []
    for encoder in [asked, *(load_extractor(name) for name in (others(asked.name) if effort == "full" else []))]:
        tuned = tuning(encoder)
        if tuned.card is None:
            left_out.append(f"fine-tuning {encoder.name}: {tuned.reason}")
            continue
        left_out += [f"every weight of {encoder.name}: {tuned.further}"] if tuned.further else []
        side = job.side(load_extractor(tuned.card), 1)
        found.append(
            EncodedSpeech(f"{encoder.name}-trained", None, side, trained_on="anonymised", learned=tuned.learned)
        )
    return found, left_out


@dataclass(frozen=True, slots=True)
class _Extraction:
    """Both kinds of speech, and how they become embeddings."""

    folds: tuple[tuple[Corpus, Corpus], ...]  # original and protected speech with the roles of each fold
    transform: Any
    cache: str | Path
    workers: int  # threads that read, protect and embed
    progress: Callable[[str, str], Progress | None]
    number: int = 0  # of the fold that is looked at
    kept: dict[tuple[str, int], Embeddings] = field(default_factory=dict)

    def each(self) -> list[_Extraction]:
        """The same for each fold of people; what was embedded is shared."""
        return [replace(self, number=number) for number in range(len(self.folds))]

    def sides(self, encoder: Extractor) -> tuple[EmbeddingSets, EmbeddingSets]:
        """Original and protected speech as an encoder sees them."""
        return self.side(encoder, 0), self.side(encoder, 1)

    def side(self, encoder: Extractor, which: Literal[0, 1]) -> EmbeddingSets:
        """Original speech (0) or protected speech (1) as an encoder sees it."""
        known = encoder.fingerprint, which
        if known not in self.kept:  # folds differ in roles only, so every recording is embedded once
            self.kept[known] = self._embedded(encoder, which)
        return sets_of(self.kept[known], self.folds[self.number][which])

    def _embedded(self, encoder: Extractor, which: Literal[0, 1]) -> Embeddings:
        words = ("original speech", "protected speech")[which]
        wanted = {one.id: one for fold in self.folds for one in fold[which]}  # a trial may be cut, others not
        return extract(
            list(wanted.values()),
            encoder,
            cache=Path(self.cache),
            transform=self.transform if which else None,
            progress=self.progress(f"{words}, {encoder.name}", "utterances"),
            workers=self.workers,
        )


def _checked(anonymised: str | Path | None, protect: str | None, options: Options | None) -> Options:
    if (anonymised is None) == (protect is None):
        raise UsageError("expected either a folder of anonymised speech or a protector, and not both")
    return options or Options()


def _check_trainable(corpus: Corpus, path: str | Path) -> None:
    """Refuse a corpus without training people before hours of work."""
    people = {one.speaker for one in corpus.select("train")}
    if not people:
        raise InputError(
            "every utterance has a role and none is train, so attackers have nobody to learn from; give some speakers "
            "the role train, or leave the roles out and they are drawn",
            path=path,
        )
    if len(people) < 2:
        raise InputError(
            f"{len(corpus.speakers)} speakers leave one to train attackers on, who learn from at least two; an audit "
            f"needs at least {LEAST_PEOPLE} speakers with two recordings each",
            path=path,
        )
