"""Warnings on results as values: a code, how much it matters, and a sentence that says why and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from zeroevidence.data.loaded_scores import UNIT_NAMES, RelaxedRule, SameSession
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.views import least_above_half
from zeroevidence.uncertainty.level import LEAST_PEOPLE

# fault: the number does not mean what it seems to; warning: read it with care; note: good to know
Severity: TypeAlias = Literal["fault", "warning", "note"]

FEW_SPEAKERS = 15
_CLEARLY = 0.01  # p-value of a correlation that is warned of


@dataclass(frozen=True, slots=True)
class Flag:
    """One warning.

    Examples
    --------
    >>> flag("no-intervals", speakers=4)
    Flag(code='no-intervals', severity='warning', sentence='4 speakers are too few for intervals, which are \
given for shares of people only; collect at least 10.')
    """

    code: str
    severity: Severity
    sentence: str

    def __post_init__(self) -> None:
        if self.severity not in get_args(Severity):
            raise UsageError(f"severity: expected one of {', '.join(get_args(Severity))}, got {self.severity!r}")

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"


# Every warning that a result may carry: by its code, the sentence with room for numbers. Indented lines go on.
_FAULTS = """
eer-above-half: the {measure} exceeds 50 % by more than chance explains, so the scores point the wrong way; check that
    higher scores speak for {kind}, and check the key, before reading this as privacy.
control-failed: the attacker does not recognise even original speech, so nothing follows from its failure on protected
    speech.
"""
_WARNINGS = """
scores-not-llrs: Cllr, the actual DCF and the actual D_ECE take scores as natural-log likelihood ratios, and these are
    plainly none: {why}; calibrate on other people (--dev), or read min Cllr, min DCF and D_ECE.
llrs-turned: among development people lower scores speak for targets (weight {weight:.3g}): Cllr, the actual DCF and the
    actual D_ECE are of an attacker who prefers low scores, and the EER is of one who prefers high ones; do not read
    them as one attacker.
lrs-suspected: no score is negative, and those of non-targets lean to one side as likelihood ratios do (skewness between
    quartiles {skewness:.2f}, that of their logarithms {of_logs:.2f}); taken as such they would cost {other:.2f} bits
    instead of {cllr:.2f} (Cllr); if they are that, say --llr lr.
llr-base-suspected: as {unit} likelihood ratios these scores would be nearly calibrated (Cllr {other:.2f} instead of
    {cllr:.2f} bits); if they are that, say --llr {unit}.
recogniser-weak: the recogniser errs in {share:.0%} of the words of the original speech, so its errors say little about
    what the protection costs; take one that knows such speech.
spelling-counts: of {written:.0%} word errors, {spoken:.0%} remain without case, punctuation and digits; write both
    sides alike.
attacker-at-chance: on average this attacker is not told apart from guessing; a weak attack is not evidence of privacy,
    so show that it recognises unprotected speech and try a stronger one.
too-few-to-test: {people} people are too few to tell a leak from chance, so nothing follows from this row, neither
    privacy nor a leak; evaluate at least {least} people.
scores-independent: nobody said who was compared with whom, so intervals treat scores as independent and are too narrow;
    give identifiers and speakers.
scores-decisions: all scores are 0 or 1, which are decisions, or labels, and no scores: they have one error rate of each
    kind, and nothing is measured at other thresholds; give the scores that were decided on.
equal-scores: {count} of {scores} scores equal another one of their class, and no identifiers tell comparisons apart; if
    lines were copied, intervals are too narrow and linkability is wrong, so give identifiers.
speakers-unknown: intervals resample {unit}s, not people, and may be too narrow; {remedy}.
people-linked: identifiers are recordings and nobody said who speaks, so people are those that target pairs connect:
    {count}, an upper limit on their number, and intervals may be too narrow; name people (--speakers FILE, or
    --speaker-of REGEX).
speakers-partly-unknown: intervals resample speakers, but single trials where nobody said who speaks ({which}), and may
    be too narrow; give a key that names them.
few-speakers: {speakers} are few, so intervals are wide; record more people, and each about equally often.
talkative-exposed: people with more recordings are recognised {how} (rank correlation {rho:.2f}, p = {p_value:.2g}), so
    values, which are averages over recordings, are not those of the average person; read per_person beside them, and
    record everybody equally often.
no-intervals: {speakers} speakers are too few for intervals, which are given for shares of people only; collect at least
    {least}.
incomplete-rows: {trials} trials were not compared with every enrolment and are left out of the search; score all pairs,
    or the search is over other trials than the rest.
one-session: {trials} of {total} trials were recorded in a session that their speaker is enrolled from, so the room
    cannot be told from the voice, with a null as little as without; record people in several sessions.
development-size: the search is through {here} identities, that of the development people through {there}; what they set
    for a search of another size, the threshold of singling out above all, may not fit this one.
development-spread: the scores of a trial spread by {here:.3g} here and by {there:.3g} among development people; what
    they set, the threshold of singling out above all, may not fit scores of another spread.
development-sex: the sex of the evaluated people is {here}, that of the development people {there}; what these set may
    not fit the others, so develop on people of the same sex.
overlap-unchecked: speakers are not known on both sides, so nobody checked that development and evaluation are different
    people; shared people flatter the attacker.
duplicates: pairs scored more than once were reduced ({how}, {count}); find out which score is right.
missing: {count} trials lacked a score or a label and are left out; the rest may be biased.
no-positive-control: no row shows this attacker on unprotected speech, so its failure may be its own; add original
    against original.
training-unknown: nothing says what this attacker was trained on, so it may be weaker than one who trained on protected
    speech; do not read it as semi-informed, nor rank systems by attackers who may differ: name the training in a table
    of systems (trained_on).
weaker-than-cheaper: this attacker learns less than the {cheaper} one, who knows less, by more than the interval of the
    difference; report the stronger of the two and look for a fault in this one.
weaker-than-cheaper-step: this step of the ladder learns less than the cheaper step {cheaper!r}, by more than its
    interval; the stronger one counts, and this one may lack training people.
development-disagrees: on the evaluated people {better} learns more than this attacker, who was chosen on development
    people, by more than the intervals; more development people would choose better.
headline-beaten: on the tested people {better} clearly learns more than this attacker, who was chosen on the people that
    attackers learned from; read the larger number, and give attackers more people to choose on.
people-marked: people are told apart better with the protection than without: the EER falls from {before:.2%} to
    {after:.2%}, by more than resampling people explains (a change of {change.low:.2%} to {change.high:.2%}). The
    protection marks people, or removes what blurred them; this is no utility, so look for what in it depends on the
    person.
not-cross-validated: a class has a single person among those that attackers learn from, so nobody can be held out;
    settings are the usual ones, and the strongest attacker was chosen on the tested people, which flatters the attack.
still-rising: with twice as many training people this attacker learned {gain:.2f} bits more and has not levelled off;
    read its disclosure as a lower bound.
training-pays: with twice as many epochs of training this attacker learned {gain:.2f} bits more of development people
    and has not levelled off; read its disclosure as a lower bound.
draws-pay: with {amount} runs of the anonymiser instead of {before} this attacker learned {gain:.2f} bits more and has
    not levelled off; read its disclosure as a lower bound.
enrolment-pays: with {amount} enrolled recordings of each person instead of {before} this attacker learned {gain:.2f}
    bits more and has not levelled off; read its disclosure as a lower bound.
recordings-differ: pauses and channel of the recordings, without any voice, give away {bits:.2f} of {most:.2f} bits
    {when} protection (p = {p_value:.2g}): those of a person have more than the voice in common, most often room or
    device, so this is a result about recordings, and what the voice alone gives away is not known.
words-disclose: words, not voice: the text alone gives away {bits:.2f} of {most:.2f} bits (p = {p_value:.2g}), which no
    change of voice takes away; where people were told what to read, this is a result about the texts.
attacks-failed: {count} could not be carried out and {were} left out: {names}; what was measured is the least that is
    given away.
same-recordings: {count} targets compare a recording with itself, as was allowed, which says nothing about other
    recordings of the same people.
equal-vectors: {count} trials have exactly the vector of somebody else's enrolment, as one text in one voice may have;
    check that these are different recordings.
same-audio: {count} of {total} protected recordings are the same audio for several people, so they cannot tell who of
    them spoke; check the files before reading this as privacy.
waveform-kept: {count} of {total} protected recordings have nearly the waveform of the original: they were encoded again
    or hardly changed; check that these are the protected files.
refused-left-out: the protection refused {count} of {total} recordings, which are left out on both sides, so this is a
    result about the others; do not release the originals in their place.
calibration-misled: this attacker calibrates on speech of another kind than the trials and trusts its scores too much;
    its negative disclosure is its own mistake and no privacy, so read D_ECE, or calibrate on matched speech.
zeros: {percent:.0f} % of the entries are exactly zero; which ones they are can tell the attribute by itself, and no
    smooth map hides it. Use embeddings from before the rectifier.
"""
_NOTES = """
cross-fitted: no weight and no development people were given, so the trials of each person are calibrated on those of
    the other people of the same search.
negative-weight: for {trials} of {total} trials the weight of the calibration is negative ({weight:.3g} on average over
    all): there the attacker of LID prefers the lowest score, while top-1, ranks and links take the highest; do not read
    them as one attacker, and check that higher scores speak for the same speaker.
pooled: {count} groups ({how}) were pooled, as asked; where people were compared within their own group only, there is
    no search through all of them.
heard-sample: {count} of {total} recordings, drawn at random, were heard; intervals say how much that leaves open.
reference-heard: nobody said what was spoken, so words are compared with those that the recogniser understood in {count}
    of {total} original recordings; its own errors are not counted, and this is no word error rate of the original.
negated: {count} scores were negated, as asked.
llr-unit: {count} scores were read as {unit}, as asked.
llr-column: {count} scores were read as {unit}, as their column is called.
no-attack: {count} lines of bona fide speech name the attack A00, which was taken for none.
not-enrolled: {trials} trials are of people who are not enrolled: one-to-one measures such as the EER count their
    comparisons, and the search leaves them out; eer_closed_set is the EER over the comparisons of the search.
same-session: {target} target and {nontarget} non-target pairs are of one session and are left out, because the room
    could not be told from the voice there{search}.
names-composed: {count} names are written in several ways that look alike{example}; names are compared in Unicode's
    composed form (NFC), so each is one.
infinite: {count} scores are infinite and were taken as they are; the search needs finite ones and is not measured.
failures: {count} {how} scores are NaN and count as failures to acquire, as asked; measures are of the others, and
    threshold rows have FAR and FRR, which are of all.
bits-negative: fewer than 0 bits: what this attacker says of the tested people is worse than saying nothing, so nothing
    was learned that could be used; it does not mean that there is nothing.
number-classes: {attribute} is a number and was cut into classes at quantiles of the training people: {classes};
    --classes sets how many.
fused: the scores of {number} systems were added with weights that were fitted on {whom}: {weights}.
cross-validated: cross-validated over people: in each of {splits} split(s) into {folds} folds everybody is evaluated
    once, among the people of one fold, by attackers who learned from the people of other folds.
drawn-per-speaker: protected recordings of one person are more alike than their originals explain ({share:.0%} of what
    they have in common beyond other people's): something may be drawn per speaker, which keeps their recordings
    linkable, or words and timing are heard better than before.
pitch-drawn-per-speaker: the pitch was moved by another amount for each person (a spread of {spread:.1f} semitones
    between people), so it seems to be drawn per speaker; two recordings of one person then stay linkable.
values-left-out: {lost} of {times} values without some of the speakers are missing, because a kind of trial was; collect
    more speakers.
"""


def _sentences(severity: Severity, text: str) -> dict[str, tuple[Severity, str]]:
    """The severity and the sentence of each code of a text."""
    entries = (" ".join(entry.split()).split(": ", 1) for entry in re.split(r"\n(?! )", text.strip()))
    return {code: (severity, sentence) for code, sentence in entries}


FLAGS: Mapping[str, tuple[Severity, str]] = {
    **_sentences("fault", _FAULTS),
    **_sentences("warning", _WARNINGS),
    **_sentences("note", _NOTES),
}


def recording_flags(correlation: tuple[float, float] | None) -> list[Flag]:
    """Return a warning where exposure goes with the number of recordings: their rank correlation and its p-value.

    Examples
    --------
    >>> [len(recording_flags(correlation)) for correlation in (None, (0.5, 0.2), (0.5, 0.004))]
    [0, 0, 1]
    """
    if correlation is None or correlation[1] > _CLEARLY:
        return []
    rho, p_value = correlation
    return [flag("talkative-exposed", how="better" if rho > 0.0 else "less well", rho=rho, p_value=p_value)]


def flag(code: str, **values: object) -> Flag:
    """The warning of that code with its numbers filled in."""
    severity, sentence = FLAGS[code]
    return Flag(code, severity, sentence.format(least=LEAST_PEOPLE, **values))


def is_above_half(eer: MeasureResult, independent: int) -> bool:
    """Return whether an EER is above one half beyond its interval, which a protection without any leak is not.

    Without an interval, its lower limit is that of a rate over so many independent comparisons.

    Examples
    --------
    >>> [is_above_half(MeasureResult(0.51, "rate", low=low, high=0.6), 30) for low in (0.4, 0.505)]
    [False, True]
    >>> [is_above_half(MeasureResult(value, "rate"), 30) for value in (0.51, 0.9)]
    [False, True]
    """
    value = eer.number
    if value is None or not value > 0.5:
        return False
    if eer.low is not None:
        return eer.low > 0.5
    return independent > 0 and round(value * independent) / independent >= least_above_half(independent)


def resampling_flags(unit: str | None, clusters: int, effective: float) -> list[Flag]:
    """What is to be said about intervals that resample this unit."""
    if unit == "score":
        return [flag("scores-independent")]
    if unit == "identifier":
        return [flag("speakers-unknown", unit="identifier", remedy="name --speakers")]
    if unit != "speaker" or effective >= FEW_SPEAKERS:
        return []
    if clusters < LEAST_PEOPLE:
        return [flag("no-intervals", speakers=clusters)]
    if clusters < FEW_SPEAKERS:
        return [flag("few-speakers", speakers=f"{clusters} speakers")]
    return [
        flag("few-speakers", speakers=f"{clusters} speakers, who count as {effective:.0f} because some speak most,")
    ]


def session_flags(same: SameSession | None) -> list[Flag]:
    """What is to be said about comparisons of one session that were left out."""
    if same is None or not same.target + same.nontarget:
        return []
    search = f"; the search is without {same.trials} trials for the same reason" if same.trials else ""
    return [flag("same-session", target=same.target, nontarget=same.nontarget, search=search)]


def relaxed_flags(relaxed: Sequence[RelaxedRule]) -> list[Flag]:
    """What is to be said about rules of reading that were relaxed."""
    flags = []
    for rule in relaxed:
        example = "" if rule.example is None else f", such as {rule.example}"
        unit = UNIT_NAMES.get(rule.how or "")
        flags.append(flag(rule.rule, how=rule.how, unit=unit, count=rule.count, example=example))
    return list(dict.fromkeys(flags))
