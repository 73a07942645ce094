"""Lists of the speakers of utterances: a Kaldi ``utt2spk``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.errors import Problem


@dataclass(frozen=True, slots=True)
class SpeakerList:
    """The speaker of each utterance.

    Parameters
    ----------
    name
        The file that lists them.
    speakers
        The speaker of each utterance.
    """

    name: str
    speakers: Mapping[str, str]

    def missing(self, ids: Iterable[str], kind: str) -> list[Problem]:
        """Return a problem for each identifier without a speaker; `kind` is what messages call the identifiers."""
        problems = FileProblems(self.name)
        for name in ids:
            if name not in self.speakers:
                problems.add(None, f"no speaker for {kind} {name!r}; expected a line for every {kind}")
        return problems.all()


def read_speakers(file: InputFile) -> tuple[SpeakerList, list[Problem]]:
    """Return the speakers of a Kaldi ``utt2spk`` file, `utterance speaker` on each line, and its problems."""
    speakers: dict[str, str] = {}
    lines: dict[str, int] = {}
    problems = FileProblems(file.name)
    for number, utterance, speaker in text.two_columns(file, problems, "utterance speaker"):
        if speakers.setdefault(utterance, speaker) != speaker:
            earlier = f"{speakers[utterance]!r} (line {lines[utterance]})"
            problems.add(number, f"{utterance!r} belongs to {speaker!r} here but to {earlier}; expected one speaker")
        else:
            lines.setdefault(utterance, number)
    if not speakers and not problems:
        problems.add(None, "empty; expected one line per utterance: utterance speaker")
    return SpeakerList(file.name, speakers), problems.all()
