"""Word errors of original and protected speech, by a recogniser that had no part in the protection."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zeroevidence.attack.speech.protection import VoiceTransform, protect
from zeroevidence.auditing.utility.heard_speech import Ear, hear
from zeroevidence.auditing.utility.spoken_words import closest_words, word_error_rate
from zeroevidence.data.formats.lists.transcripts import read_transcripts
from zeroevidence.data.speech.audio import load_speech
from zeroevidence.data.speech.corpus import Corpus, Utterance, random_key
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.scores.utility import evaluate_transcripts
from zeroevidence.protect.anonymising.release import read_card
from zeroevidence.protect.card import protector_card
from zeroevidence.protect.voices import ProtectorPart
from zeroevidence.protect.voices.recognisers import RATE, RECOGNISERS, Recognised, load_recogniser
from zeroevidence.uncertainty.resampling.draws import Progress

NONE = "none"  # in place of a recogniser: nothing is heard
MOST_HEARD = 200  # recordings that are heard where a recogniser is asked for, drawn at random where there are more
MOST_UNASKED = 60  # and where none is: a few minutes of the slower recogniser
WEAK = 0.5  # word error rate of original speech above which a recogniser says little
JUDGES = ("moonshine", "whisper")  # the fastest first
_COLUMNS = ("text", "transcript")  # attributes of utterances that hold what was said
_EXTRA = "recogniser"


@dataclass(frozen=True, slots=True)
class Hearing:
    """How an audit measures words.

    Parameters
    ----------
    recogniser
        Name of the recogniser, ``none`` to hear nothing; by default one that is installed and no part of the
        protection.
    transcripts
        File of what was said (Kaldi ``text``); by default the corpus is searched for it.
    """

    recogniser: str | None = None
    transcripts: str | Path | None = None


def choose_judge(parts: Sequence[ProtectorPart], asked: str | None = None) -> str | None:
    """Return the recogniser that judges a protection: the one asked for, or the first that can.

    One that is a part of the protection cannot, and one that is not installed cannot; None where there is no other.

    Raises
    ------
    UsageError
        Where the one asked for is a part of the protection: no system judges itself.
    MissingExtra
        Where the one asked for is not installed.
    """
    own = {part.name for part in parts if part.role in ("recogniser", "encoder")}
    if asked is None:
        return next((name for name in JUDGES if name not in own and _is_installed(name)), None)
    if RECOGNISERS.find(asked).name in own:
        others = ", ".join(name for name in RECOGNISERS if name not in own)
        raise UsageError(f"{asked} is a part of the protection and cannot judge it; expected {others}")
    load_recogniser(asked)
    return asked


def _is_installed(name: str) -> bool:
    """Return whether a recogniser can be loaded, and its words be counted."""
    try:
        load_recogniser(name)
    except MissingExtra:
        return False
    return importlib.util.find_spec("jiwer") is not None


def corpus_transcripts(corpus: Corpus, source: str | Path) -> dict[str, str]:
    """Return what was said in each utterance, as far as a corpus tells: a column of its table, or Kaldi's ``text``."""
    said = {
        each.id: each.attributes[name] for each in corpus for name in _COLUMNS if each.attributes.get(name, "").split()
    }
    home = Path(source)
    for file in (home / "text", *sorted(home.glob("*/text"))) if home.is_dir() and not said else ():
        if file.is_file():
            said |= read_transcripts(file)
    return {each.id: said[each.id] for each in corpus if said.get(each.id, "").split()}


def known_parts(protect: str | None, folders: Sequence[str | Path]) -> tuple[ProtectorPart, ...]:
    """Return the models and programs of a protector, or of the one that wrote a folder, as far as they are known."""
    card = read_card(folders[0]) if protect is None else protector_card(protect)
    return () if card is None else card.parts


def appoint_judge(hearing: Hearing, parts: Sequence[ProtectorPart], say: Callable[[str], None]) -> str | None:
    """Return the recogniser that an audit hears speech with; None, and a message unless asked for, where it does not.

    Parameters
    ----------
    hearing
        How it is to be heard.
    parts
        Models and programs of the protection, as far as they are known.
    say
        Called with messages.
    """
    if hearing.recogniser == NONE:
        return None
    judge = choose_judge(parts, hearing.recogniser)
    if judge is None:
        say(
            f"note: word errors of original and protected speech are not measured; pip install 'zeroevidence[{_EXTRA}]'"
            f" installs recognisers for it, and --recogniser {NONE} says that none is wanted"
        )
    return judge


def hear_audit(
    original: Corpus,
    anonymised: Corpus | VoiceTransform,
    source: str | Path,
    hearing: Hearing,
    ear: Ear,
    options: Options,
    progress: Callable[[str, str], Progress | None],
    say: Callable[[str], None],
) -> list[Evaluation]:
    """Return the word error rates beside an audit; none, and a message, where they cannot be measured unasked.

    Parameters
    ----------
    original
        The original speech.
    anonymised
        The protected speech, or what protects the original.
    source
        Folder or table of the original, which may hold transcripts.
    hearing
        How it is to be heard.
    ear
        The recogniser (`appoint_judge`).
    options
        Intervals and seed.
    progress
        Called with a title and a unit, returns what is called with numbers done and of all.
    say
        Called with messages.
    """
    given, asked = hearing.transcripts, hearing.recogniser is not None
    said = corpus_transcripts(original, source) if given is None else read_transcripts(given)
    most = MOST_HEARD if asked else MOST_UNASKED
    try:
        return evaluate_hearing(original, anonymised, said, ear, options, most=most, progress=progress)
    except InputError as error:
        if asked:
            raise InputError(error.reason, path=error.path or given or source) from None
        say(f"note: word errors are not measured: {error}")
        return []


def evaluate_hearing(
    original: Corpus,
    anonymised: Corpus | VoiceTransform,
    said: Mapping[str, str],
    ear: Ear,
    options: Options | None = None,
    *,
    most: int = MOST_HEARD,
    progress: Callable[[str, str], Progress | None] = lambda title, units: None,  # noqa: ARG005
) -> list[Evaluation]:
    """Return the word error rates of original and of protected speech, of the same recordings.

    Texts are compared as they are spoken: without case and punctuation, and with numbers written out. Without
    transcripts, protected speech alone is compared, with what the recogniser hears in the original.

    Parameters
    ----------
    original
        The original speech.
    anonymised
        The protected speech, or what protects the original.
    said
        What was said in each utterance; empty where nobody knows.
    ear
        The recogniser (`choose_judge`).
    options
        Intervals and seed.
    most
        Recordings that are heard, drawn at random where there are more.
    progress
        Called with a title and a unit, returns what is called with numbers done and of all.

    Raises
    ------
    InputError
        Where there are no words to compare with.
    """
    options = options or Options()
    known = [each for each in original if not said or closest_words(said.get(each.id, ""), "")[0]]
    chosen = sorted(known, key=lambda each: random_key(f"{options.seed}:{each.id}"))[:most]
    protected = {each.id: each for each in anonymised} if isinstance(anonymised, Corpus) else {}

    def load_original(utterance: Utterance) -> Wave:
        return load_speech(utterance, RATE).wave

    def load_protected(utterance: Utterance) -> Wave:
        if isinstance(anonymised, Corpus):
            return load_original(protected[utterance.id])
        return protect(load_original(utterance), RATE, utterance, anonymised)

    before = hear(chosen, load_original, ear, progress(f"hearing original speech, {ear.recogniser}", "utterances"))
    sample = [flag("heard-sample", count=len(chosen), total=len(known))] if len(chosen) < len(known) else []
    sides: list[tuple[Training, dict[str, Recognised]]] = []
    if said:
        reference, sides = said, [("original", before)]
    else:
        least = RECOGNISERS[ear.recogniser].least_confidence
        reference = {name: each.text for name, each in before.items() if each.confidence >= least}
        chosen = [each for each in chosen if closest_words(reference.get(each.id, ""), "")[0]]
        sample.append(flag("reference-heard", count=len(chosen), total=len(before)))
    if not chosen:
        raise InputError("no words to compare with; expected transcripts, or speech that the recogniser understands")
    after = hear(chosen, load_protected, ear, progress(f"hearing protected speech, {ear.recogniser}", "utterances"))
    sides.append(("anonymised", after))
    rows = [_row(reference, heard, chosen, speech, ear, options).with_flags(*sample) for speech, heard in sides]
    return _with_weakness(rows) if said else rows


def _row(
    reference: Mapping[str, str],
    heard: Mapping[str, Recognised],
    utterances: Sequence[Utterance],
    speech: Training,
    ear: Ear,
    options: Options,
) -> Evaluation:
    """Return the word errors of one kind of speech."""
    texts = {each.id: closest_words(reference[each.id], heard[each.id].text) for each in utterances}
    labels = {"recogniser": ear.recogniser} | ({"system": UNPROTECTED} if speech == "original" else {})
    spoken, written = ({name: pair[at] for name, pair in texts.items()} for at in (0, 1))
    speakers = {each.id: each.speaker for each in utterances}
    return evaluate_transcripts(spoken, written, speakers=speakers, labels=labels, speech=speech, options=options)


def _with_weakness(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the rows, of original speech first, with a warning where the recogniser fails on that."""
    share = word_error_rate(rows[0])
    warnings: list[Flag] = [flag("recogniser-weak", share=share)] if share > WEAK else []
    return [row.with_flags(*warnings) for row in rows]
