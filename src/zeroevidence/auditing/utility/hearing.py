"""Word errors of original and protected speech, by a recogniser that had no part in the protection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from zeroevidence.attack.speech.batches import compute_ahead, cores
from zeroevidence.attack.speech.protection import VoiceTransform, protect
from zeroevidence.auditing.utility.spoken_words import closest_words, word_error_rate
from zeroevidence.data.formats.lists.transcripts import read_transcripts
from zeroevidence.data.speech.audio import load_audio
from zeroevidence.data.speech.corpus import Corpus, Utterance, random_key
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.scores.utility import evaluate_transcripts
from zeroevidence.protect.voices import ProtectorPart
from zeroevidence.protect.voices.recognisers import RATE, RECOGNISERS, load_recogniser, recognise
from zeroevidence.uncertainty.resampling.draws import Progress

MOST_HEARD = 200  # recordings that are heard, drawn at random where there are more
WEAK = 0.5  # word error rate of original speech above which a recogniser says little
_JUDGES = ("moonshine", "whisper")  # the fastest first
_COLUMNS = ("text", "transcript")  # attributes of utterances that hold what was said


def choose_judge(parts: Sequence[ProtectorPart], asked: str | None = None) -> str:
    """Return the recogniser that judges a protection: the one asked for, or the first that is no part of it.

    Raises
    ------
    UsageError
        Where the one asked for is a part of the protection: no system judges itself.

    Examples
    --------
    >>> choose_judge(())
    'moonshine'
    >>> choose_judge((ProtectorPart("recogniser", "moonshine", "", ""),))
    'whisper'
    """
    own = {part.name for part in parts if part.role in ("recogniser", "encoder")}
    if asked is None:
        return next(name for name in _JUDGES if name not in own)
    if RECOGNISERS.find(asked).name in own:
        others = ", ".join(name for name in RECOGNISERS if name not in own)
        raise UsageError(f"{asked} is a part of the protection and cannot judge it; expected {others}")
    return asked


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


def evaluate_hearing(
    original: Corpus,
    anonymised: Corpus | VoiceTransform,
    said: Mapping[str, str],
    recogniser: str,
    options: Options | None = None,
    progress: Callable[[str, str], Progress | None] = lambda title, units: None,  # noqa: ARG005
) -> list[Evaluation]:
    """Return the word error rates of original and of protected speech, of the same recordings.

    Texts are compared as they are spoken: without case and punctuation, and with numbers written out. Of more than 200
    recordings as many are drawn.

    Parameters
    ----------
    original
        The original speech.
    anonymised
        The protected speech, or what protects the original.
    said
        What was said in each utterance.
    recogniser
        Name of the recogniser (`choose_judge`).
    options
        Intervals and seed.
    progress
        Called with a title and a unit, returns what is called with numbers done and of all.
    """
    load_recogniser(recogniser)  # what is missing is said before any work
    options = options or Options()
    known = [each for each in original if each.id in said and closest_words(said[each.id], "")[0]]
    if not known:
        raise InputError("no words to compare with; expected transcripts of some utterances")
    chosen = sorted(known, key=lambda each: random_key(f"{options.seed}:{each.id}"))[:MOST_HEARD]
    speakers = {each.id: each.speaker for each in chosen}
    protected = {each.id: each for each in anonymised} if isinstance(anonymised, Corpus) else {}

    def load_protected(utterance: Utterance) -> Wave:
        if isinstance(anonymised, Corpus):
            return load_audio(protected[utterance.id], RATE)
        return protect(load_audio(utterance, RATE), RATE, utterance, anonymised)

    sides: tuple[tuple[Training, Callable[[Utterance], Wave]], ...] = (
        ("original", lambda utterance: load_audio(utterance, RATE)),
        ("anonymised", load_protected),
    )
    rows: list[Evaluation] = []
    for speech, load in sides:
        report = progress(f"hearing {speech} speech, {recogniser}", "utterances")
        texts = {}
        heard = compute_ahead(lambda each, load=load: recognise(recogniser, load(each)).text, chosen, cores())  # type: ignore[misc]
        for utterance, text in zip(chosen, heard, strict=True):
            texts[utterance.id] = closest_words(said[utterance.id], text)
            if report is not None:
                report(len(texts), len(chosen))
        labels = {"recogniser": recogniser} | ({"system": UNPROTECTED} if speech == "original" else {})
        spoken, written = ({name: pair[at] for name, pair in texts.items()} for at in (0, 1))
        rows.append(
            evaluate_transcripts(spoken, written, speakers=speakers, labels=labels, speech=speech, options=options)
        )
    share = word_error_rate(rows[0])
    return [row.with_flags(flag("recogniser-weak", share=share)) for row in rows] if share > WEAK else rows
