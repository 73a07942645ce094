"""Audit of folders of speech: split, protect, embed, train, attack and evaluate, measure words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from zeroevidence.attack.extractors import Extractor, load_extractor
from zeroevidence.attack.extractors.extract import device_network, extract, extract_on_device, extract_together, has_gpu
from zeroevidence.attack.extractors.split_extractor import SplitExtractor, split_extractor, with_trunk
from zeroevidence.attack.onnx_cards import read_card, refuse_shared
from zeroevidence.attack.onnx_runtime import SUFFIX, CropExtractor, OnnxExtractor
from zeroevidence.attack.training import usual_scope
from zeroevidence.attack.training.attacker import training_loop
from zeroevidence.attack.voice_transforms import (
    NAMED_DRAW,
    CachedTransform,
    RepeatedTransform,
    VoiceTransform,
    compute_one_by_one,
    protect,
)
from zeroevidence.auditing import content_cues, embedding_sets, encoders, protected_speech
from zeroevidence.auditing.content_cues import CONTENT_CUES, ReleasedSpeech
from zeroevidence.auditing.embedding_audit import Audit, audit_folds
from zeroevidence.auditing.embedding_sets import EmbeddingSets, EncodedSpeech
from zeroevidence.auditing.naturalness import can_judge, evaluate_naturalness
from zeroevidence.auditing.options import AuditOptions
from zeroevidence.auditing.protected_speech import AnonymiserDraws, AuditedSpeech
from zeroevidence.auditing.row_flags import flag_attacks, pair_flags, refusal_flags
from zeroevidence.auditing.speech_utility import CachedRecogniser
from zeroevidence.auditing.word_errors import measure_word_errors, select_recogniser
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.corpora import read_segments
from zeroevidence.data.formats.speech_pairs import PairReport, examine_speech
from zeroevidence.data.printable import file_name_text
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.evaluation.people import with_seconds
from zeroevidence.evaluation.rows.about import Protection
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.parallel import end_workers
from zeroevidence.protect.release import ProtectorCard, protector_card, protector_without_draws, release_card
from zeroevidence.run import Run, no_step

_SHOWN_NOTES = 5  # on the speech; `doctor` lists all


def audit_corpora(speech: AuditedSpeech, options: AuditOptions = AuditOptions(), run: Run = Run()) -> Audit:
    """Attack anonymised speech that an anonymiser wrote, or that a protector makes here.

    Parameters
    ----------
    speech
        The original speech, and the folders of its anonymised utterances or the name of a protector.
    options
        What is tried, and how it is measured.
    run
        Its cache, which is needed, keeps embeddings and trained encoders. Its cores are processes that read, protect
        and embed speech, which a GPU embeds where there is one, and that evaluate rows. With a scheduler its workers do
        so; they must see speech and cache under the same paths.

    Examples
    --------
    >>> from zeroevidence.auditing import read_speech
    >>> audit_corpora(read_speech("speech", protector="mcadams"), run=Run(cache=Path("cache")))
    Traceback (most recent call last):
    ...
    zeroevidence.errors.InputError: speech: no such file
    """
    draws, protectors = protected_speech.plan_draws(speech.folders, speech.protector, options, run.seed)
    _refuse_untrained(options)
    if run.cache is None:
        raise UsageError("an audit keeps embeddings and trained encoders in a folder; expected a run with a cache")
    dataset = options.dataset or file_name_text(Path(speech.path).stem)
    options = replace(options, system=options.system or speech.system, dataset=dataset)
    cache = Path(run.cache).absolute()
    run = replace(run, cache=cache)
    folds = _split(speech, options, run.seed)
    compared = _check(speech, run)
    encoder = load_extractor(options.extractor)
    recogniser = select_recogniser(options.recogniser, speech.parts, run, needed=options.transcripts is not None)
    speech, protected = _protect(speech, folds, protectors, draws, encoder.sample_rate, options, run)
    card = _describe(speech, protected)
    embedded = _embed(protected, encoder)
    encoded, left_out = _train(speech, embedded, encoder, options)
    recordings = {utterance.id: str(utterance.path) for _, fold in embedded.folds for utterance in fold}
    repeats = embedded.draws.deterministic
    seconds = embedded.trial_seconds(encoder.sample_rate)
    end_workers()  # each holds encoders and what they computed with, up to 200 MB, which attackers do not need

    def blind() -> bool:
        transform = embedded.transform or protector_without_draws(card)
        return protected_speech.ignores_speakers(speech.corpus, transform, encoder.sample_rate)

    with naming_file(str(speech.protector or speech.folders[0])):
        result = audit_folds(encoded, options, run, deterministic=repeats, blind=blind, recordings=recordings)
    flags = [*pair_flags(compared), *refusal_flags(speech.left_out)]
    rows = tuple(flag_attacks(result.rows, *flags, protection=_protection(speech, card)))
    rows = tuple(with_seconds(row, seconds) for row in rows)
    untried = (*result.left_out, *left_out)
    result = replace(result, rows=rows, left_out=untried, protector=card)
    released, utility = embedded.transform or speech.corpus.replaced(speech.folders[0]), list[Evaluation]()
    if recogniser is not None:
        heard = CachedRecogniser(recogniser, Store.optional(cache, "heard"))
        utility += measure_word_errors(speech, released, heard, options, run)
    if can_judge():
        kept = Store.optional(cache, "judged")
        utility += evaluate_naturalness(speech.corpus, released, options.measuring, store=kept, run=run)
    return replace(result, utility=tuple(utility))


def _refuse_untrained(options: AuditOptions) -> None:
    """Refuse attackers who all have trained encoders where none is given or trained."""
    trains = options.backends is None and options.effort != "quick"
    models = options.threat_models()
    if not trains and options.extractor_anonymised is None and all(model.extractor != "original" for model in models):
        raise UsageError(
            f"{models[0].name}: an attacker with an encoder that was trained on anonymised speech; expected such an "
            "encoder (--extractor-anonymised), or --effort standard without --backend, which trains one"
        )


def _split(speech: AuditedSpeech, options: AuditOptions, seed: int) -> tuple[Corpus, ...]:
    """Return the corpus in each fold of people, with trials cut where asked."""
    try:
        corpora = embedding_sets.split_people(speech.corpus, options.folds, seed, options.splits)
    except InputError as error:
        raise InputError(error.reason, path=speech.path) from None
    for fold in corpora:
        embedding_sets.check_trainable(fold, speech.path)
    if options.segments is None:
        return corpora
    segments = read_segments(options.segments)
    return tuple(fold.cut(segments, options.pieces) for fold in corpora)


def _check(speech: AuditedSpeech, run: Run) -> PairReport | None:
    """Refuse speech that `doctor` finds problems in, say what is good to know, and return what pairs have in common."""
    lister = "zeroevidence doctor --corpus"
    released = speech.folders[0] if speech.folders else None
    report = examine_speech(speech.rows, released, speech.left_out.names, replace(run, scheduler=None))
    if report.problems:
        raise InputError.of(list(report.problems), lister)
    for note in report.notes[:_SHOWN_NOTES]:
        run.say(f"note: {note}")
    if len(report.notes) > _SHOWN_NOTES:
        run.say(f"note: {len(report.notes) - _SHOWN_NOTES} more notes, which `{lister}` lists")
    return report.pairs


def _protect(
    speech: AuditedSpeech,
    folds: tuple[Corpus, ...],
    protectors: Sequence[VoiceTransform],
    draws: int,
    rate: int,
    options: AuditOptions,
    run: Run,
) -> tuple[AuditedSpeech, _ProtectedFolds]:
    """Return the speech that the protection does not refuse, and both kinds of it in each fold of people."""
    assert run.cache is not None
    cache = Store.optional(run.cache, "protected")
    # of further draws nothing is needed but what is computed while they are there, by `extract_together`
    protectors = [CachedTransform(each, None if number else cache) for number, each in enumerate(protectors)]
    if protectors and any(part.role == "recogniser" for part in speech.parts):  # it may refuse recordings
        refused = protected_speech.try_protection(speech.corpus, protectors[0], rate, run)
        speech = speech.without(refused)
        folds = _split(speech, options, run.seed)
    if speech.left_out:
        run.say(f"note: {speech.left_out}")
    repeats = any(model.enrolment == "anonymised" for model in options.threat_models())
    further = protected_speech.further_recordings(folds, draws if repeats else 1, speech.folders[1:])
    alike = frozenset(each.id for each in speech.corpus if NAMED_DRAW.fullmatch(each.id))
    transform = RepeatedTransform(protectors, alike) if protectors else None
    pairs = tuple((fold, fold.replaced(speech.folders[0]) if speech.folders else fold) for fold in folds)
    return speech, _ProtectedFolds(pairs, transform, run, AnonymiserDraws(further))


def _describe(speech: AuditedSpeech, protected: _ProtectedFolds) -> ProtectorCard:
    """Return the card of the protector, as far as it is known."""
    if speech.protector is not None:
        return protector_card(speech.protector)
    recordings = [utterance.path for utterance in protected.folds[0][1]]
    return release_card(speech.folders[0], recordings, protected.run.say)


def _protection(speech: AuditedSpeech, card: ProtectorCard) -> Protection | None:
    """Return how the speech was protected; None where that was done elsewhere."""
    if speech.protector is None and card.release is None:
        return None
    return Protection(card.name, len(speech.left_out.refused), speech.left_out.total, card.recognises)


def _embed(protected: _ProtectedFolds, encoder: Extractor) -> _ProtectedFolds:
    """Embed the original speech, and leave out further draws of an anonymiser that gives the same speech again."""
    folds, say = protected.folds, protected.run.say
    if len(folds) > 1:
        evaluated = [{utterance.speaker for utterance in fold.select(split="eval")} for fold, _ in folds]
        splits = sum(min(evaluated[0]) in people for people in evaluated)
        dealt = f"{len(folds[0][0].speakers)} people in {len(folds) // splits} folds"
        dealt += f", dealt {splits} times (--splits)" if splits > 1 else ""
        say(f"cross-validation: {dealt}, so attackers learn {len(folds)} times")
    protected.side(encoder, 0)  # cached before the anonymiser is run, which may take long
    recordings, rate = protected.draws.recordings, encoder.sample_rate
    draws = protected_speech.without_repeats(folds[0][1], recordings, protected.transform, rate)
    if draws.deterministic:
        say("the anonymiser gives the same speech again, so it is run once")
    return replace(protected, draws=draws)


def _train(
    audited: AuditedSpeech, protected: _ProtectedFolds, encoder: Extractor, options: AuditOptions
) -> tuple[list[list[EncodedSpeech]], list[str]]:
    """Return the speech of each fold by every encoder, also by those that learn from it, and what was left out."""
    given = options.extractor_anonymised
    retrained = [] if given is None else [_load_retrained(given, protected)]
    informed = any(model.extractor == "anonymised" for model in options.threat_models())
    tuned_here = options.backends is None and informed and not retrained
    if tuned_here and protected.run.scheduler is None and _keeps_trunk(protected, options):
        assert protected.run.cache is not None
        protected = replace(protected, split=split_extractor(encoder, protected.run.cache))
    used = [encoder] if options.backends is not None else encoders.used_extractors(encoder, options.effort)
    protected.prepare([*used, *retrained])
    encoded: list[list[EncodedSpeech]] = []
    left_out: dict[str, None] = {}  # in some fold
    contents, unread = dict[str, Mapping[str, Any]](), list[str]()
    if options.backends is None and options.effort != "quick":
        released = {each.id: each for _, fold in protected.folds for each in fold}
        source = ReleasedSpeech(audited, released, protected.transform, options, protected.run)
        contents, unread = content_cues.read_contents(source)
    for number in range(len(protected.folds)):
        fold = replace(protected, number=number)  # shares the embeddings
        speech = [EncodedSpeech(encoder.name, *fold.sides(encoder))]
        speech += [EncodedSpeech(each.name, None, fold.side(each, 1), "anonymised") for each in retrained]
        if options.backends is None:
            tuned, untuned = list[EncodedSpeech](), list[str]()
            if tuned_here:
                tuned, untuned = _fine_tune(encoder, fold, options)
            speech += encoders.encode_further(encoder, options.effort, fold.sides)
            sets = speech[0].anonymised
            speech += [CONTENT_CUES[name].encode(content, sets) for name, content in contents.items()]
            speech += tuned
            left_out |= dict.fromkeys([*unread, *untuned])
            untried = encoders.other_encoders(encoder.name)
            if options.effort == "standard" and untried:
                left_out[f"encoders {', '.join(untried)}: --effort full"] = None
        encoded.append(speech)
    return encoded, [*left_out]


def _load_retrained(name: str | Path, protected: _ProtectedFolds) -> Extractor:
    """Return an encoder that the user trained on such speech; refused where it was trained on evaluated people."""
    encoder = load_extractor(name)
    if isinstance(encoder, OnnxExtractor):
        utterances = [utterance for _, speech in protected.folds for utterance in speech]
        refuse_shared(encoder.card, {utterance.speaker for utterance in utterances if utterance.split == "eval"})
    return encoder


def _keeps_trunk(protected: _ProtectedFolds, options: AuditOptions) -> bool:
    """Return whether encoders are trained, and only behind their trunks."""
    if options.effort == "quick" or encoders.too_few(protected.fewest_training_people) is not None:
        return False
    try:
        _, place = training_loop(None)
    except MissingExtra:
        return False
    return options.training.filled("all" if options.effort == "full" else usual_scope(place)).scope == "last"


def _fine_tune(
    encoder: Extractor, fold: _ProtectedFolds, options: AuditOptions
) -> tuple[list[EncodedSpeech], list[str]]:
    """Return the speech of a fold by encoders that were fine-tuned on its training people, and what was left out."""
    if options.effort == "quick":
        return [], ["fine-tuning the encoder on anonymised speech: --effort standard"]
    reason = encoders.too_few(fold.fewest_training_people)
    if reason is not None:
        return [], [f"fine-tuning {encoder.name}: {reason}"]
    speech, left_out, draws = fold.folds[fold.number][1], list[str](), fold.draws
    if protected_speech.own_draw_is_closer(fold.side(encoder, 1)):
        draws = AnonymiserDraws()
        left_out.append(
            "fine-tuning on further draws: development trials are closer to enrolment of their own draw, as where "
            "something is drawn for each speaker"
        )
    utterances, number = [*speech, *draws.training(speech)], (fold.number + 1, len(fold.folds))
    run, settings = replace(fold.run, scheduler=None), replace(options.training, seed=fold.run.seed)
    tuner = encoders.FineTuner(utterances, fold.transform, options.effort, run, settings, number, draws.number)
    encoded: list[EncodedSpeech] = []
    further = encoders.other_encoders(encoder.name) if options.effort == "full" else []
    for each in [encoder, *map(load_extractor, further)]:
        trunk = None if fold.split is None or each is not encoder else fold.split.trunk
        tuned = tuner(each, None if trunk is None else trunk.outputs)
        if tuned.card is None:
            left_out.append(f"fine-tuning {each.name}: {tuned.reason}")
            continue
        left_out += [f"every weight of {each.name}: {tuned.further}"] if tuned.further else []
        name, trained = f"{each.name}-trained", OnnxExtractor(read_card(tuned.card))
        side = fold.side(trained if trunk is None else with_trunk(tuned.card, trunk), 1)
        encoded.append(EncodedSpeech(name, None, side, "anonymised", learned=tuned.learned))
        for crops in encoders.with_crops(trained, options.effort):
            side, steps = fold.side(crops, 1), encoders.CROP_STEPS
            encoded.append(EncodedSpeech(f"{name}{SUFFIX}", None, side, "anonymised", steps, tuned.learned))
    return encoded, left_out


@dataclass(frozen=True, slots=True)
class _ProtectedFolds:
    """Original and protected speech in each fold of people, and what embeds them."""

    folds: tuple[tuple[Corpus, Corpus], ...]  # original and protected speech with the roles of each fold
    transform: VoiceTransform | None  # protects the second, where it is not protected yet
    run: Run
    draws: AnonymiserDraws
    number: int = 0  # of the current fold
    embedded: dict[tuple[str, int], Embeddings] = field(default_factory=dict)
    split: SplitExtractor | None = None  # the encoder in two parts, where it will be trained behind its trunk

    @property
    def fewest_training_people(self) -> int:
        """The number of training people, in the fold that has fewest."""
        return min(len({utterance.speaker for utterance in speech.select("train")}) for _, speech in self.folds)

    def trial_seconds(self, rate: int) -> dict[str, float]:
        """Return the length of each released trial, in seconds."""
        trials = {each.id: each for _, speech in self.folds for each in speech.select("trial")}
        transform = self.transform

        def seconds(each: Utterance) -> float:
            return len(protect(load_speech(each, rate).wave, rate, each, transform)) / rate

        return dict(zip(trials, compute_one_by_one(seconds, list(trials.values()), no_step, self.run), strict=True))

    def sides(self, encoder: Extractor) -> tuple[EmbeddingSets, EmbeddingSets]:
        """Return original and protected speech by an encoder."""
        return self.side(encoder, 0), self.side(encoder, 1)

    def side(self, encoder: Extractor, which: Literal[0, 1]) -> EmbeddingSets:
        """Return original speech (0) or protected speech (1) by an encoder."""
        key = encoder.fingerprint, which
        if key not in self.embedded:  # folds differ in roles only, so every recording is embedded once
            self.embedded[key] = self._embed(encoder, which)
        sets = embedding_sets.sets_of(self.embedded[key], self.folds[self.number][which])
        return sets.with_draws(self.draws.embeddings(self.embedded[key])) if which else sets

    def prepare(self, extractors: Sequence[Extractor]) -> None:
        """Compute what all extractors need of protected speech, which is protected once."""
        extract_together(self._speech(1), extractors, transform=self.transform, title="protected speech", run=self.run)

    def _speech(self, which: Literal[0, 1]) -> list[Utterance]:
        """Return the recordings of all folds, with further draws of protected ones; some folds may cut trials."""
        utterances = {utterance.id: utterance for fold in self.folds for utterance in fold[which]}
        further = [utterance for draw in self.draws.recordings for utterance in draw.values()] if which else []
        return [*utterances.values(), *further]

    def _embed(self, encoder: Extractor, which: Literal[0, 1]) -> Embeddings:
        title = ("original speech", "protected speech")[which]
        if which and self.split is not None and encoder.fingerprint == self.split.fingerprint:
            encoder = self.split
        speech, transform = self._speech(which), self.transform if which else None
        network = device_network(encoder) if self.run.scheduler is None and has_gpu() else None
        if network is not None and isinstance(encoder, OnnxExtractor | CropExtractor):
            return extract_on_device(speech, encoder, network, transform=transform, title=title, run=self.run)
        return extract(speech, encoder, transform=transform, title=title, features=True, run=self.run)
