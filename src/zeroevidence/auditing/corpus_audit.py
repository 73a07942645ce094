"""Audit of folders of speech: extraction with a cache, fine-tuning, then the attacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from zeroevidence.attack.array_store import CachedTransform, RepeatedTransform
from zeroevidence.attack.backends import BackendLike
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR, Extractor, load_extractor
from zeroevidence.attack.extractors.extract import device_network, extract, extract_on_device, has_gpu
from zeroevidence.attack.extractors.split_extractor import SplitExtractor, split_extractor, with_trunk
from zeroevidence.attack.ladder import Effort
from zeroevidence.attack.onnx_cards import refuse_shared
from zeroevidence.attack.onnx_runtime import SUFFIX, CropExtractor, OnnxExtractor
from zeroevidence.attack.training import TrainingSettings, usual_scope
from zeroevidence.attack.training.attacker import training_loop
from zeroevidence.auditing.attack_plan import AttackSettings
from zeroevidence.auditing.embedding_audit import Audit, audit_folds
from zeroevidence.auditing.embedding_sets import EmbeddingSets, check_trainable, sets_of, split_people
from zeroevidence.auditing.encoded_speech import (
    CROP_STEPS,
    EncodedSpeech,
    encode_further,
    other_encoders,
    pools_crops,
    required_speech,
    with_crops,
)
from zeroevidence.auditing.fine_tuning import FineTuner, too_few
from zeroevidence.auditing.protected_speech import (
    AnonymiserDraws,
    LeftOut,
    draw_names,
    further_recordings,
    number_of_draws,
    own_draw_is_closer,
    read_usable,
    try_protection,
    without,
    without_repeats,
)
from zeroevidence.auditing.row_flags import with_pair_flags, with_refusal_flags
from zeroevidence.auditing.speech_utility import CachedRecogniser
from zeroevidence.auditing.word_errors import RecogniserOptions, known_parts, measure_word_errors, select_recogniser
from zeroevidence.data.corpus import Corpus
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.corpora import read_segments
from zeroevidence.data.formats.speech_pairs import PairReport, examine_speech
from zeroevidence.data.printable import file_name_text
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.forking import cores
from zeroevidence.protect.release import protector_card, release_card
from zeroevidence.protect.voices import seeded_protectors
from zeroevidence.run import Run, Step, no_progress

_SHOWN_NOTES = 5  # on the speech; `doctor` lists all


@dataclass(frozen=True, slots=True)
class TrialSegments:
    """Shorter trials: a table of segments to cut utterances by, and how many segments make a trial."""

    segments: str | Path
    pieces: int = 1


def audit_corpora(
    corpus: str | Path,
    *,
    anonymised: str | Path | Sequence[str | Path] | None = None,
    protect: str | None = None,
    draws: int | None = None,
    extractor: str | Path = DEFAULT_EXTRACTOR,
    extractor_anonymised: str | Path | None = None,
    cache: str | Path,
    attackers: Sequence[str | ThreatModel] | None = None,
    effort: Effort = "standard",
    backends: Sequence[BackendLike] | None = None,
    training: TrainingSettings | None = None,
    cutting: TrialSegments | None = None,
    folds: int | None = None,
    recognition: RecogniserOptions = RecogniserOptions(),  # noqa: B008 (frozen)
    options: Options = Options(),
    run: Run = Run(),
    workers: int = 1,
    scheduler: Any = None,
    progress: Callable[[str, str], Step] = no_progress,
    say: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Attack anonymised speech that an anonymiser wrote, or that a protector makes here.

    Parameters
    ----------
    corpus
        A folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance, speaker and path.
    anonymised
        A folder with the same utterances as an anonymiser wrote them; or several, of which the first was released and
        the others are further runs of the same anonymiser, for attackers to train on and to enrol.
    protect
        The name of a protector of voices, instead of `anonymised`.
    draws
        How often the anonymiser is run, the release included, on speech to train on and to enrol. By default as often
        as there are folders; with `protect` once for `quick`, twice (five times with a GPU) for `standard`, and ten
        times for `full`. One that gives the same speech again is run once.
    extractor
        The speaker encoder.
    extractor_anonymised
        A further encoder that was trained on such speech.
    cache
        The folder where embeddings and trained encoders are cached.
    attackers
        As in `audit`, and so are `effort`, `backends`, `options` and `run`.
    training
        Settings of the fine-tuning of encoders; the seed is that of `run`.
    cutting
        Segments for shorter trials.
    folds
        Cross-validation over people, where the corpus names neither roles nor splits: how many folds, 0 for one split.
        By default three for fewer than 30 people, and one split for more.
    recognition
        How word errors are measured before and after protection: by default, where the extra ``recogniser`` is
        installed, by one that is no part of the protection, on a sample of the recordings.
    workers
        Processes for the resampling. Speech is read, protected and embedded on all cores in any case, and embedded on a
        GPU where there is one; many rows are evaluated on all cores, too.
    scheduler
        Address of a Dask scheduler, or a client of it, whose workers read, protect and embed the speech; they must see
        speech and cache under the same paths.
    progress
        Called with a title and a unit, returns what is called with numbers done and of all.
    say
        Called with messages, such as how long a training will take.

    Examples
    --------
    >>> audit_corpora("speech", cache="cache")
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: expected either a folder of anonymised speech or a protector, and not both
    """
    # the release first
    folders = (anonymised,) if isinstance(anonymised, (str, Path)) else tuple(anonymised or ())
    if bool(folders) == (protect is not None):
        raise UsageError("expected either a folder of anonymised speech or a protector, and not both")
    system = protect or Path(folders[0]).name
    settings = AttackSettings(
        attackers, effort, backends, options, run, system, file_name_text(Path(corpus).stem), workers=workers
    )
    number = number_of_draws(draws, len(folders), effort)
    protectors = () if protect is None else seeded_protectors(protect, run.seed, number)
    usable, refused = read_usable(corpus, folders)
    originals = _split(usable, corpus, folds, run.seed, cutting)
    compared = _check_speech(corpus, folders[0] if folders else None, refused, progress, say)
    encoder, parts = load_extractor(extractor), known_parts(protect, folders)
    recogniser = select_recogniser(recognition, parts, say)
    if protectors and any(part.role == "recogniser" for part in parts):  # it may refuse recordings
        kept = CachedTransform(protectors[0], Path(cache) / "protected")
        refused = try_protection(usable, kept, encoder.sample_rate, cores(), progress("protecting", "recordings"))
        usable = without(usable, refused)
        originals = _split(usable, corpus, folds, run.seed, cutting)
    if refused:
        say(f"note: {refused}")
    pairs = tuple((fold, fold.replaced(folders[0]) if folders else fold) for fold in originals)
    if protect is not None:
        card = protector_card(protect)
    else:
        card = release_card(folders[0], [utterance.path for utterance in pairs[0][1]], say)
    if len(pairs) > 1:
        people, times = len(originals[0].speakers), len(pairs)
        say(f"cross-validation: {people} people in {times} folds, so attackers learn {times} times")
    models = settings.threat_models()
    informed = any(required_speech(model) == {"anonymised"} for model in models)
    repeats = any(model.enrolment == "anonymised" for model in models)
    further = further_recordings(originals, number if repeats else 1, folders[1:])
    transform = None
    if protectors:
        repeated = RepeatedTransform(protectors, draw_names(further))
        transform = CachedTransform(repeated, Path(cache) / "protected")
    extraction = _Extraction(pairs, AnonymiserDraws(), transform, cache, max(workers, cores()), progress, scheduler)
    extraction.side(encoder, 0)  # cached before the anonymiser is run, which may take long
    runs = without_repeats(pairs[0][1], further, transform, encoder.sample_rate)
    if runs.deterministic:
        say("the anonymiser gives the same speech again, so it is run once")
    extraction = replace(extraction, draws=runs)
    retrained = [] if extractor_anonymised is None else [_load_retrained(extractor_anonymised, extraction)]
    tuning = _Tuning(replace(training or TrainingSettings(), seed=run.seed), effort, say)
    tuned_here = backends is None and informed and not retrained
    if tuned_here and scheduler is None and tuning.keeps_trunk(extraction):
        extraction = replace(extraction, split=split_extractor(encoder, Path(cache) / "outputs"))
    encoded: list[list[EncodedSpeech]] = []
    left_out: list[str] = []
    for fold in extraction.by_fold():
        speech = [EncodedSpeech(encoder.name, *fold.sides(encoder))]
        speech += [EncodedSpeech(each.name, None, fold.side(each, 1), "anonymised") for each in retrained]
        if backends is None:
            speech += encode_further(encoder, effort, fold.sides, pool=pools_crops(effort))
            left_out = []
            if tuned_here:
                tuned, left_out = tuning.encode(encoder, fold)
                speech += tuned
            untried = other_encoders(encoder.name)
            if effort == "standard" and untried:
                left_out.append(f"encoders {', '.join(untried)}: --effort full")
        encoded.append(speech)
    recordings = {utterance.id: str(utterance.path) for _, protected in pairs for utterance in protected}
    settings = replace(settings, deterministic=runs.deterministic, row_processes=cores())
    with naming_file(str(protect or folders[0])):
        result = audit_folds(encoded, settings, progress("attackers", "rows"), recordings)
    rows = result.rows if compared is None else with_pair_flags(result.rows, compared)
    rows = tuple(with_refusal_flags(rows, refused))
    utility: list[Evaluation] = []
    if recogniser is not None:
        protected = usable.replaced(folders[0]) if transform is None else transform
        cached = CachedRecogniser(recogniser, Path(cache) / "heard")
        utility = measure_word_errors(usable, protected, corpus, recognition, cached, options, run, progress, say)
    return replace(result, rows=rows, left_out=(*result.left_out, *left_out), protector=card, utility=tuple(utility))


def _split(
    corpus: Corpus, path: str | Path, folds: int | None, seed: int, cutting: TrialSegments | None
) -> tuple[Corpus, ...]:
    """Return the corpus in each fold of people, with trials cut where asked."""
    try:
        corpora = split_people(corpus, folds, seed)
    except InputError as error:
        raise InputError(error.reason, path=path) from None
    for fold in corpora:
        check_trainable(fold, path)
    if cutting is None:
        return corpora
    segments = read_segments(cutting.segments)
    return tuple(fold.cut(segments, cutting.pieces) for fold in corpora)


def _check_speech(
    corpus: str | Path,
    anonymised: str | Path | None,
    refused: LeftOut,
    progress: Callable[[str, str], Step],
    say: Callable[[str], None],
) -> PairReport | None:
    """Refuse speech that `doctor` finds problems in, say what is good to know, and return what pairs have in common."""
    lister = "zeroevidence doctor --corpus"
    report = examine_speech(corpus, anonymised, left_out=refused.names, workers=cores(), progress=progress)
    if report.problems:
        raise InputError.of(list(report.problems), lister)
    for note in report.notes[:_SHOWN_NOTES]:
        say(f"note: {note}")
    if len(report.notes) > _SHOWN_NOTES:
        say(f"note: {len(report.notes) - _SHOWN_NOTES} more notes, which `{lister}` lists")
    return report.pairs


def _load_retrained(name: str | Path, extraction: _Extraction) -> Extractor:
    """Return an encoder that the user trained on such speech; refused where it was trained on evaluated people."""
    encoder = load_extractor(name)
    if isinstance(encoder, OnnxExtractor):
        utterances = [utterance for _, speech in extraction.folds for utterance in speech]
        refuse_shared(encoder.card, {utterance.speaker for utterance in utterances if utterance.split == "eval"})
    return encoder


@dataclass(frozen=True, slots=True)
class _Tuning:
    """Fine-tuning of encoders on the training people of the audit."""

    settings: TrainingSettings
    effort: Effort
    say: Callable[[str], None]

    def keeps_trunk(self, extraction: _Extraction) -> bool:
        """Return whether encoders are trained, and only behind their trunks."""
        if self.effort == "quick" or too_few(extraction.fewest_training_people) is not None:
            return False
        try:
            _, place = training_loop(None)
        except MissingExtra:
            return False
        return self.settings.filled("all" if self.effort == "full" else usual_scope(place)).scope == "last"

    def encode(self, encoder: Extractor, fold: _Extraction) -> tuple[list[EncodedSpeech], list[str]]:
        """Return the speech by fine-tuned encoders, and what was left out."""
        if self.effort == "quick":
            return [], ["fine-tuning the encoder on anonymised speech: --effort standard"]
        reason = too_few(fold.fewest_training_people)
        if reason is not None:
            return [], [f"fine-tuning {encoder.name}: {reason}"]
        speech, left_out, draws = fold.folds[fold.number][1], list[str](), fold.draws
        if own_draw_is_closer(fold.side(encoder, 1)):
            draws = AnonymiserDraws()
            left_out.append(
                "fine-tuning on further draws: development trials are closer to enrolment of their own draw, as where "
                "something is drawn for each speaker"
            )
        tuner = FineTuner(
            [*speech, *draws.training(speech)],
            fold.transform,
            self.effort,
            Run(cores=fold.workers, cache=Path(fold.cache), progress=fold.progress, say=self.say),
            self.settings,
            (fold.number + 1, len(fold.folds)),
            draws.number,
        )
        encoded: list[EncodedSpeech] = []
        further = other_encoders(encoder.name) if self.effort == "full" else []
        for each in [encoder, *map(load_extractor, further)]:
            trunk = None if fold.split is None or each is not encoder else fold.split.trunk
            tuned = tuner(each, None if trunk is None else trunk.outputs)
            if tuned.card is None:
                left_out.append(f"fine-tuning {each.name}: {tuned.reason}")
                continue
            left_out += [f"every weight of {each.name}: {tuned.further}"] if tuned.further else []
            name, trained = f"{each.name}-trained", load_extractor(tuned.card)
            side = fold.side(trained if trunk is None else with_trunk(tuned.card, trunk), 1)
            encoded.append(EncodedSpeech(name, None, side, "anonymised", learned=tuned.learned))
            for crops in with_crops(trained) if pools_crops(self.effort) else ():
                side = fold.side(crops, 1)
                encoded.append(EncodedSpeech(f"{name}{SUFFIX}", None, side, "anonymised", CROP_STEPS, tuned.learned))
        return encoded, left_out


@dataclass(frozen=True, slots=True)
class _Extraction:
    """Both kinds of speech, and how they are embedded."""

    folds: tuple[tuple[Corpus, Corpus], ...]  # original and protected speech with the roles of each fold
    draws: AnonymiserDraws
    transform: Any
    cache: str | Path
    workers: int  # threads that read, protect and embed
    progress: Callable[[str, str], Step]
    scheduler: Any = None  # of a cluster
    number: int = 0  # of the current fold
    embedded: dict[tuple[str, int], Embeddings] = field(default_factory=dict)
    split: SplitExtractor | None = None  # the encoder in two parts, where it will be trained behind its trunk

    @property
    def fewest_training_people(self) -> int:
        """The number of training people, in the fold that has fewest."""
        return min(len({utterance.speaker for utterance in speech.select("train")}) for _, speech in self.folds)

    def by_fold(self) -> list[_Extraction]:
        """Return the extraction of each fold of people; embeddings are shared."""
        return [replace(self, number=number) for number in range(len(self.folds))]

    def sides(self, encoder: Extractor) -> tuple[EmbeddingSets, EmbeddingSets]:
        """Return original and protected speech by an encoder."""
        return self.side(encoder, 0), self.side(encoder, 1)

    def side(self, encoder: Extractor, which: Literal[0, 1]) -> EmbeddingSets:
        """Return original speech (0) or protected speech (1) by an encoder."""
        key = encoder.fingerprint, which
        if key not in self.embedded:  # folds differ in roles only, so every recording is embedded once
            self.embedded[key] = self._embed(encoder, which)
        sets = sets_of(self.embedded[key], self.folds[self.number][which])
        return sets.with_draws(self.draws.embeddings(self.embedded[key])) if which else sets

    def _embed(self, encoder: Extractor, which: Literal[0, 1]) -> Embeddings:
        title = ("original speech", "protected speech")[which]
        if which and self.split is not None and encoder.fingerprint == self.split.fingerprint:
            encoder = self.split
        # a trial may be cut in some folds only
        utterances = {utterance.id: utterance for fold in self.folds for utterance in fold[which]}
        further = [utterance for draw in self.draws.recordings for utterance in draw.values()] if which else []
        speech = [*utterances.values(), *further]
        transform = self.transform if which else None
        run = Run(cores=self.workers, cache=Path(self.cache), progress=self.progress, scheduler=self.scheduler)
        network = device_network(encoder) if self.scheduler is None and has_gpu() else None
        if network is not None and isinstance(encoder, OnnxExtractor | CropExtractor):
            return extract_on_device(speech, encoder, network, transform=transform, title=title, run=run)
        return extract(speech, encoder, transform=transform, title=title, run=run)
