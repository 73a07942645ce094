"""Progress of a job, a JSON object per line on standard output: its steps in order, and how far the current one is."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from zeroevidence.uncertainty.resampling.draws import Progress
from zeroevidence.web.work.request import BUNDLED, JobRequest, Kind

READING, COMPARING, DRAWING = "Read the files", "Compare the systems", "Draw the report"
_WORK: dict[Kind, str] = {
    "scores": "Measure what the attackers learn",
    "speech": "Attack the recordings",
    "embeddings": "Attack the embeddings",
    "sample": "Attack the bundled speech",
    "cascade": "Attack the bundled speech",
}
_PAUSE = 0.1  # seconds between two lines of one title


def job_steps(request: JobRequest) -> list[str]:
    """Return the steps of a job, in the order in which they are taken."""
    several = len(request.scores) > 1 or len(request.systems) > 1 or request.kind == "sample"
    reading = [] if request.kind in BUNDLED else [READING]
    return [*reading, _WORK[request.kind], *([COMPARING] if several else []), DRAWING]


@dataclass(slots=True)
class JobProgress:
    """Writes the progress of a job; a step never comes before one that has begun.

    Parameters
    ----------
    steps
        The steps of the job.
    step
        The number of the current one.
    notes
        What is good to know about the work, for the page of the result.
    """

    steps: list[str]
    step: int = 0
    notes: list[str] = field(default_factory=list)
    _title: str = ""
    _written: float = 0.0

    def begin(self, step: str) -> None:
        """Begin a step; the steps before it are done."""
        self.step = max(self.step, self.steps.index(step))
        self.write(step)

    def work(self) -> None:
        """Begin the attacks or the measuring."""
        self.begin(next(step for step in self.steps if step in _WORK.values()))

    def write(self, message: str, done: int = 0, total: int = 0) -> None:
        """Write what is done now, and how far it is; the same again only after a moment, and at its end."""
        now = time.monotonic()
        if message == self._title and done < total and now - self._written < _PAUSE:
            return
        self._title, self._written = message, now
        print(json.dumps({"message": message, "done": done, "total": total, "step": self.step}), flush=True)

    def counter(self, title: str, units: str = "") -> Progress:  # noqa: ARG002
        """Return what writes the progress of one part of the work, as commands take it."""
        return lambda done, total: self.write(title, done, total)

    def note(self, sentence: str) -> None:
        """Keep a sentence for the page of the result, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)
