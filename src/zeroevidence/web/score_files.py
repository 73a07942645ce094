"""Evaluation of score files and finished results that were sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.errors import Problem, ZeroEvidenceError
from zeroevidence.evaluation import Comparison, Evaluation, compare
from zeroevidence.evaluation.compared_files import compare_results
from zeroevidence.evaluation.score_files import ScoreFile, ScorePaths, evaluate_files, score_files
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.run import Run, Step
from zeroevidence.web.outcome import Findings
from zeroevidence.web.request import COMPARING, READING, WORK, JobRequest, Upload, on_the_page, titles, with_names


def score_problems(request: JobRequest, run: Run) -> list[Problem]:
    """Return all problems with the score files and keys, as `doctor` lists them."""
    run.progress(READING, "files")
    files, names = _score_files(request), {upload.path: upload.name for upload in request.scores}
    # Several score files may share a development file.
    development = {file.dev.scores: file.dev for file in files if file.dev is not None}
    problems: list[Problem] = []
    for file in (*files, *development.values()):
        run.progress(f"Reading {with_names(file.scores, names)}", "files")(0, 0)
        problems += file.problems(_reading(request))
    return problems


def evaluate_scores(request: JobRequest, run: Run) -> Findings:
    """Evaluate score files, read finished results, and compare systems where there are several."""
    inputs = ReportInputs()
    results, raw = _sources(request)
    run.progress(WORK["scores"], "files")
    inputs.add_results([upload.path for upload in results], titles([upload.stem for upload in results]))

    current = ""

    def measuring(_: str, units: str) -> Step:
        return run.progress(f"Measuring {current}", units)

    def each(work: Callable[[int], Any], numbers: Iterable[int]) -> Iterator[Any]:
        nonlocal current
        for number in numbers:
            current = raw[number].name
            yield work(number)

    rows = evaluate_files(_score_files(request), _reading(request), run=replace(run, progress=measuring), each=each)
    for row in rows:
        flags = tuple(replace(flag, sentence=on_the_page(flag.sentence)) for flag in row.flags)
        inputs.add_rows([replace(row, flags=flags)])
    if len(request.scores) > 1:
        run.progress(COMPARING, "systems")
        try:
            inputs.comparisons += _comparisons(results, raw, rows)
        except ZeroEvidenceError as error:
            names = {upload.path: upload.name for upload in request.uploads()}
            run.say(f"The systems were not compared: {on_the_page(with_names(str(error), names))}.")
    return Findings(inputs, {"": inputs.rows} if inputs.rows else {})


def _comparisons(results: Sequence[Upload], raw: Sequence[Upload], rows: Sequence[Evaluation]) -> list[Comparison]:
    """Return the comparisons of systems that are all score files, or all finished results."""
    if raw and not results:
        return compare(rows)
    if raw:
        raise ZeroEvidenceError("some are score files and some finished results; expected one kind")
    return compare_results([upload.path for upload in results], titles([upload.stem for upload in results]))


def _is_result(upload: Upload) -> bool:
    """Whether a file is a finished result: it starts as JSON, whatever it is called."""
    with Path(upload.path).open("rb") as stream:
        return stream.read(64).lstrip().startswith(b"{")


def _sources(request: JobRequest) -> tuple[list[Upload], list[Upload]]:
    """Finished results, and score files."""
    results = [upload for upload in request.scores if _is_result(upload)]
    return results, [upload for upload in request.scores if upload not in results]


def _score_files(request: JobRequest) -> list[ScoreFile]:
    """The score files with their keys and development files."""
    _, raw = _sources(request)
    if not raw:
        return []
    sides = (raw, request.keys, request.dev, request.dev_keys)
    scores, keys, dev, dev_keys = ([upload.path for upload in uploads] for uploads in sides)
    speakers = None if request.speakers is None else request.speakers.path
    systems = titles([upload.stem for upload in raw])
    return score_files(ScorePaths(scores, keys, speakers=speakers, systems=systems, dev=dev, dev_keys=dev_keys))


def _reading(request: JobRequest) -> ReadingOptions:
    return ReadingOptions(
        duplicates="keep-last" if request.keep_last else "error",
        allow_missing=request.allow_missing,
        negate=request.negate,
        llr="log10" if request.log10 else "lr" if request.ratios else None,
        infinite="accept" if request.infinite else "refuse",
    )
