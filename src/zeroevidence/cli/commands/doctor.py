"""List the problems of score files, keys and corpora, with file and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.output import print_written
from zeroevidence.cli.printing import exit_if_problems, print_problems
from zeroevidence.cli.score_files import ScoreInputs
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.seals import check_seal, make_keys, read_key
from zeroevidence.errors import InputError, Problem, UsageError
from zeroevidence.run import Run, setting

if TYPE_CHECKING:
    from zeroevidence.auditing.protected_speech import LeftOut
    from zeroevidence.data.formats.corpora import CorpusReport


_READ = ("scores", "keys", "speakers", "targets", "nontargets", *(field.name for field in fields(ReadingOptions)))


@dataclass(frozen=True, slots=True)
class _Speech:
    """A corpus, how many problems are printed, and keys of seals."""

    corpus: str | None = shared("--corpus", "to check instead of SCORES")
    anonymised: str | None = shared("--anonymised")
    limit: int = shared("--limit")
    seal: str | None = shared("--seal", "the public one: results must have a seal by its owner")
    new_key: bool = setting(False, "Write a pair of keys for seals here, private.pem and public.pem.")


@click.command("doctor")
@options_of(ScoreInputs, "inputs", *_READ)
@options_of(_Speech, "speech")
@run_options()
def command(inputs: ScoreInputs, speech: _Speech, run: Run) -> None:
    """List every problem of score files and keys, or of a corpus, as `file:line: reason`, and evaluate nothing.

    Takes the same files as `evaluate`, or the same corpora as `audit`. Exits with 3 if there is a problem, with 0 if
    there is none.

    \b
    zeroevidence doctor scores.txt --key trials
    zeroevidence doctor --corpus original/ --anonymised anonymised/
    zeroevidence doctor --new-key
    zeroevidence doctor --seal public.pem result.json
    """  # noqa: D301 (\b is a control character here)
    if speech.new_key:
        for file in make_keys(Path()):
            print_written(file)
        return
    corpus = speech.corpus
    if bool(inputs.paths.scores or inputs.paths.targets or inputs.paths.nontargets) == (corpus is not None):
        raise UsageError("expected either SCORES or --corpus")
    if speech.anonymised is not None and corpus is None:
        raise UsageError("--anonymised goes with the original speech; expected --corpus, too")
    key = None if speech.seal is None else read_key(speech.seal, private=False)
    finished = inputs.finished  # asked once: a file that disappears later is still one to be examined
    if key is not None and (corpus is not None or inputs.paths.targets):
        raise UsageError("--seal is for results that were sealed; expected files of results and no others")
    if key is not None and (other := next((path for path in inputs.paths.scores if path not in finished), None)):
        there = Path(other).exists()
        raise InputError("is no result; expected one that was sealed" if there else "no such file", path=other)
    if corpus is None:
        exit_if_problems(_check_scores(inputs, finished, speech.limit, key))
    else:
        exit_if_problems(_check_speech(corpus, speech, run))


def _check_scores(inputs: ScoreInputs, finished: Sequence[str], limit: int, key: Any) -> int:
    """Print the problems of score files, and return how many there are."""
    try:
        files = inputs.files()
    except InputError as error:
        return print_problems([error], limit)
    count = sum(print_problems(_result_problems(path, key), limit, path) for path in finished)
    return count + sum(print_problems(file.problems(inputs.reading), limit, file.scores) for file in files)


def _result_problems(path: str, key: Any) -> list[Problem]:
    """Return what is wrong with a file of results, or with its seal where a key is given."""
    from zeroevidence.evaluation.results import read_results, result_text

    try:
        read_results(path)
        if key is not None:
            check_seal(*result_text(path), key)
    except InputError as error:
        return [error.problem]
    return []


def _check_speech(corpus: str, speech: _Speech, run: Run) -> int:
    """Print the problems of a corpus, and of its anonymised utterances, and return how many there are."""
    from zeroevidence.data.formats.speech_pairs import examine_speech

    anonymised, limit = speech.anonymised, speech.limit
    refused = _refused(corpus, anonymised)
    report = examine_speech(corpus, anonymised, refused.names, run)
    if refused:
        print_problems([f"note: {anonymised}: {refused}"], limit, noun=" notes")
    count = _print_report(report.corpus, limit, corpus)
    return count if report.pairs is None else count + _print_report(report.pairs, limit, anonymised)


def _refused(corpus: str, anonymised: str | None) -> LeftOut:
    """Return what an audit would leave out; nothing of a corpus that cannot be read, whose problems are listed."""
    from zeroevidence.auditing.protected_speech import LeftOut, read_speech
    from zeroevidence.protect.release import refused_recordings

    if anonymised is None or not refused_recordings(anonymised):
        return LeftOut()
    try:
        return read_speech(corpus, anonymised).left_out
    except InputError:
        return LeftOut()


def _print_report(report: CorpusReport, limit: int, path: str | None) -> int:
    count = print_problems(report.problems, limit, path)
    print_problems([f"note: {note}" for note in report.notes], limit, noun=" notes")
    return count
