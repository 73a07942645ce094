"""Attack anonymised speech and measure what attackers learn."""

from __future__ import annotations

import shlex
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path

import click

from zeroevidence.attack.attackers import usual_attackers
from zeroevidence.attack.extractors import expected_names
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.auditing import Audit
from zeroevidence.auditing.corpus_audit import audit_corpora
from zeroevidence.auditing.options import AuditOptions, CalibratedOn
from zeroevidence.auditing.protected_speech import AuditedSpeech, plan_draws, read_speech
from zeroevidence.auditing.word_errors import NO_RECOGNISER
from zeroevidence.cli.commands.utility import RecognitionInputs, evaluate_sound
from zeroevidence.cli.declare import assignments, options_of, run_options, shared
from zeroevidence.cli.output import Output, print_written
from zeroevidence.cli.printing import echo, echo_lines, working
from zeroevidence.data.files import naming_file
from zeroevidence.data.seals import read_key, write_seal
from zeroevidence.data.store import Store, find_files
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.data.writing import lock_folder, refuse_existing
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.results import to_json
from zeroevidence.protect.voices import spelling_help
from zeroevidence.run import Run, setting

WHILE_RUNNING = ("protected", "features", "outputs")  # kinds of entries that are large, and needed to its end only
_OPTIONS = (*(field.name for field in fields(AuditOptions) if "help" in field.metadata), "intervals", "null")


@dataclass(frozen=True, slots=True)
class _Speech:
    """The speech that is audited, and what attackers calibrate on."""

    corpus: str = setting(MISSING, "", argument=True, metavar="CORPUS")
    anonymised: tuple[str, ...] = shared(
        "--anonymised",
        "may be repeated: the first was released, the others are further runs of the same anonymiser, which attackers "
        "train on and enrol",
        default=(),
    )
    protect: str | None = setting(
        None, f"Anonymise the speech with this voice protector: {spelling_help()}.", metavar="NAME"
    )
    pitch: bool = shared("--pitch", "their lengths are compared, too")
    calibrate_on: CalibratedOn = setting(
        "matched",
        "Calibrate scores on development speech like the evaluated one (matched), or on what the attacker has.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """Where results and report go."""

    report: str | None = shared("--report", "OUT/report.html unless given")
    folder: str = shared("--output", "a folder", default=MISSING, metavar="OUT")
    seal: str | None = shared("--seal", "the private one: it seals OUT/result.json, in OUT/result.json.seal")


@click.command("audit")
@options_of(_Speech, "given")
@options_of(
    AuditOptions,
    "options",
    *_OPTIONS,
    extractor=f"one of {expected_names()}",
    attackers={"default": usual_attackers(), "show_default": True},
)
@assignments(
    "training",
    TrainingSettings,
    "Setting of the fine-tuning of speaker encoders, such as epochs=3, may be repeated",
    leave_out=("seed",),
)
@options_of(RecognitionInputs, "recognition")
@run_options(
    *("level", "seed", "cores", "cache", "scheduler"),
    cache={"help": "Where to keep embeddings between runs [default: OUT/cache]."},
    scheduler="its workers embed the speech [default: none]",
)
@options_of(_Written, "written")
@options_of(Output, "output", "measures", "estimate", "signatures", "verbose", "overwrite")
def command(
    given: _Speech,
    options: AuditOptions,
    training: TrainingSettings,
    recognition: RecognitionInputs,
    run: Run,
    written: _Written,
    output: Output,
) -> None:
    """Attack anonymised speech with attackers of increasing knowledge and report what they learn.

    CORPUS is the original speech: a folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance,
    speaker and path. Give the same utterances, anonymised, with --anonymised, or let a bundled protector anonymise them
    with --protect. Where the corpus names no roles, they are drawn: who is enrolled, who is tried, who is trained on. A
    corpus of few people is cross-validated. An interrupted audit continues where it stopped.

    The folder OUT gets the results, which the other commands read, and the report. Where the extra `recogniser` is
    installed, both also hold the word error rates of a sample of the original and of the anonymised speech, by a
    recogniser that is no part of the protection, against --transcripts or those of the corpus; --recogniser none leaves
    them out. Where the extra `naturalness` is installed, they hold predicted opinion scores (MOS) of both.

    \b
    zeroevidence audit original/ --anonymised anonymised/ -o out/
    zeroevidence audit original/ --anonymised anonymised/ --anonymised again/ -o out/
    zeroevidence audit original/ --protect mcadams -o out/
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.report.document import audit_text, check_folder, save_audit

    home = check_folder(written.folder, overwrite=output.overwrite)
    # an interrupted run goes on, and may have written the report already
    refuse_existing(written.report, output.overwrite or home.is_dir())
    key = None if written.seal is None else read_key(written.seal, private=True)
    words = recognition.transcripts, recognition.recogniser
    if not (recognition.bundled or recognition.alone):  # the user measures word errors, or nobody does
        words = None, None if recognition.transcripts is None else NO_RECOGNISER
    options = replace(options, training=training, calibration=given.calibrate_on)
    options = replace(options, transcripts=words[0], recogniser=words[1])
    plan_draws(given.anonymised, given.protect, options, run.seed)  # refuses what does not fit before anything is read
    with naming_file(given.corpus):
        speech = read_speech(given.corpus, given.anonymised, given.protect)
    utility = _utility(recognition, speech, options, run, pitch=given.pitch)
    kept = home / "cache" if run.cache is None else run.cache
    lock = lock_folder(home, continued_from=["cache" if run.cache is None else kept.absolute()])
    with working("auditing speech"), lock, naming_file(given.corpus):
        audit = audit_corpora(speech, options, replace(run, cache=kept))
        labels = audit.strongest.labels
        system = {name: labels[name] for name in ("system", "dataset") if name in labels}
        rows = (*audit.utility, *utility)
        audit = replace(audit, utility=tuple(replace(row, labels={**system, **row.labels}) for row in rows))
        missing = _write_report(audit, home, written, output, run)
        if key is not None:
            write_seal(home / "result.json", to_json((*audit.rows, *audit.utility)), key)
        save_audit(audit, home, overwrite=output.overwrite)  # last: a folder with results is complete
        for kind in WHILE_RUNNING if run.cache is None else ():  # others may use a cache that was named
            Store(kept, kind).remove()
    print_written(home)
    size = sum(file.path.stat().st_size for file in find_files(kept))
    echo(f"cache: {size / 1e6:.1f} MB, which `zeroevidence cache {shlex.quote(str(kept))} --clean` removes", err=True)
    if missing is not None and written.report is not None:
        raise missing
    echo_lines(audit_text(audit, **output.shown, verbose=output.verbose), rendered=True)


def _write_report(audit: Audit, home: Path, written: _Written, output: Output, run: Run) -> MissingExtra | None:
    """Write the report, or return what it needs."""
    from zeroevidence.report.document import save_report

    replaced = output.overwrite or written.report is None
    try:
        path = written.report or home / "report.html"
        path = save_report(audit, path, measures=output.measures, overwrite=replaced, run=run)
    except MissingExtra as error:
        echo(f"no report: {error}", err=True)
        return error
    print_written(path)
    return None


def _utility(
    recognition: RecognitionInputs, speech: AuditedSpeech, options: AuditOptions, run: Run, *, pitch: bool
) -> list[Evaluation]:
    """Return the rows of utility that are asked for, other than word errors by a bundled recogniser."""
    by_us = recognition.bundled or recognition.alone
    given = replace(recognition, recogniser=None, transcripts=None) if by_us else recognition
    if not pitch and not given.any:
        return []
    if not speech.folders and (pitch or given.recogniser is not None):
        raise UsageError("--pitch and --recogniser need anonymised speech in a folder; expected --anonymised")
    measuring = options.measuring
    changed = speech.corpus.replaced(speech.folders[0]) if speech.folders else None
    speakers = {utterance.id: utterance.speaker for utterance in speech.corpus}
    rows = given.evaluate(speakers, {}, "anonymised", measuring, run, changed)
    if given.recogniser is not None:  # it is run on the original speech, too
        words = replace(given, emotions=None, recognised=None)
        rows = [*words.evaluate(speakers, {"system": UNPROTECTED}, "original", measuring, run, speech.corpus), *rows]
    if pitch and changed is not None:
        rows += evaluate_sound(speech.corpus, changed, {}, measuring, run, pitch=True)
    return rows
