"""Collected results of the kits of 2020 and 2022: ``results-<date>[.orig]/results.txt``.

The name of a comparison or of a set is on a line, and the measures follow, indented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.voiceprivacy.result_folders import challenge_pair, results_folder
from zeroevidence.data.threat import UNPROTECTED, ThreatModel, Training
from zeroevidence.errors import InputError

Entry = tuple[dict[str, str], dict[str, float], ThreatModel | None, Training | None, int]

_NAME = re.compile(r"(?:ASV|ASR)-\S+")
_SET = re.compile(r"ASR-(?P<dataset>.+)_(?P<split>[^_-]+)_asr(?P<suffix>(?:_.*)?)")
_NUMBER = r"([0-9.eE+-]+)"
# Patterns, and for each number the measure and its unit.
_ASV = (
    (re.compile(rf"EER: {_NUMBER}%"), (("eer", 100.0),)),
    (re.compile(rf"Cllr \(min/act\): {_NUMBER}/{_NUMBER}"), (("cllr_min", 1.0), ("cllr", 1.0))),
    (re.compile(rf"ROCCH-EER: {_NUMBER}%"), (("eer_rocch", 100.0),)),
    (re.compile(rf"linkability: {_NUMBER}"), (("linkability", 1.0),)),
    (re.compile(rf"Population: {_NUMBER} bit"), (("d_ece", 1.0),)),
    (re.compile(rf"Individual: {_NUMBER} \(\w+\)"), (("worst_case", 1.0),)),
)
_WER = re.compile(
    r"%WER [0-9.]+ \[ (?P<errors>[0-9]+) / (?P<words>[0-9]+), (?P<ins>[0-9]+) ins, (?P<del>[0-9]+) del, "
    r"(?P<sub>[0-9]+) sub \](?: (?P<file>\S+))?"
)
_KINDS = {"wer": "errors", "wer_insertions": "ins", "wer_deletions": "del", "wer_substitutions": "sub"}


def is_collected(line: str) -> bool:
    """Return whether a first line is that of such a file."""
    return _NAME.fullmatch(line.strip()) is not None


def collected_results(source: InputFile) -> Iterator[Entry]:
    """Yield labels, measures, attacker, kind of speech, and line of every result.

    Raises
    ------
    InputError
        When a line is none of those that the kits write.
    """
    results = source.path.absolute().parent.name
    name, start, measures = "", 0, dict[str, float]()
    for number, raw in text.numbered_lines(source.read()):
        line, wrong = text.decode(raw)
        if wrong:
            raise InputError(wrong, path=source.name, line=number)
        content = " ".join(line.split())
        if content and not line.startswith((" ", "\t")):
            if measures:
                yield _comparison(name, results, measures, start, source.name)
            name, start, measures = content, number, {}
        elif content and name.startswith("ASV-"):
            measures |= _measures(content, source.name, number)
        elif content and name.startswith("ASR-"):
            yield _recognition(name, results, content, number, source.name)
    if measures:
        yield _comparison(name, results, measures, start, source.name)


def _measures(line: str, file: str, number: int) -> dict[str, float]:
    """Return the measures of one line; other lines are refused."""
    for pattern, measures in _ASV:
        if match := pattern.fullmatch(line):
            values = [text.parse_score(token) for token in match.groups()]
            if all(isinstance(value, float) for value in values):
                return {name: float(value) / unit for value, (name, unit) in zip(values, measures, strict=True)}
    raise InputError(
        f"{line!r}; expected EER, Cllr, ROCCH-EER, linkability, Population or Individual", path=file, line=number
    )


def _comparison(name: str, results: str, measures: dict[str, float], line: int, file: str) -> Entry:
    pair = challenge_pair(name, results)
    if pair is None:
        raise InputError(f"{name!r}; expected ASV-<enrolls>-<trials>", path=file, line=line)
    return pair[0], measures, pair[1], None, line


def _recognition(name: str, results: str, line: str, number: int, file: str) -> Entry:
    where, match = _SET.fullmatch(name), _WER.fullmatch(line)
    if where is None or match is None or not int(match["words"]):
        raise InputError(f"{name}: {line!r}; expected a line of %WER", path=file, line=number)
    speech: Training = "anonymised" if where["suffix"] else "original"
    labels = {
        "system": UNPROTECTED if speech == "original" else results_folder(results)[0],
        "dataset": where["dataset"],
        "split": where["split"],
    }
    if match["file"]:  # a recogniser may have been tried with several language models
        labels["recogniser"] = Path(match["file"]).parent.name
    rates = {measure: int(match[kind]) / int(match["words"]) for measure, kind in _KINDS.items()}
    return labels, rates, None, speech, number
