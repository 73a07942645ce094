"""Options that several commands have, with one meaning each; this module needs click alone.

The help of a shared option is its meaning and, after a semicolon, details of one command.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import click

from zeroevidence.cli.options.declare import Decorator


@dataclass(frozen=True)
class SharedOption:
    """An option of several commands; calling it returns the decorator of one command.

    Parameters
    ----------
    spelling
        Its name, such as ``--output``, or its names with a space between.
    meaning
        The start of its help.
    settings
        Arguments of `click.option`.
    """

    spelling: str
    meaning: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __call__(self, detail: str = "", *, name: str | None = None, **settings: Any) -> Decorator:
        """Return the decorator of a command.

        Parameters
        ----------
        detail
            The rest of the help.
        name
            Parameter of the command that receives the value; made from the spelling unless given.
        settings
            Further arguments of `click.option`.
        """
        declarations = (*self.spelling.split(), *([] if name is None else [name]))
        text = f"{self.meaning}; {detail}." if detail else f"{self.meaning}."
        return click.option(*declarations, help=text, **(self.settings | settings))


_COUNT = click.IntRange(1)
_FLAG = {"is_flag": True}

output = SharedOption("-o --output", "Where to write the results")
output_format = SharedOption("-f --output-format", "Format of the results", {"show_default": True})
overwrite = SharedOption("--overwrite", "Replace existing output", _FLAG)
report = SharedOption("--report", "Where to write the HTML report", {"metavar": "FILE"})
signatures = SharedOption("--signatures", "Print the signature of each row below text tables", _FLAG)
estimate = SharedOption(
    "--estimate", "Show the values corrected for few people beside the values; JSON holds them anyway", _FLAG
)
hide_ids = SharedOption("--hide-ids", "Replace the names of people by numbers", _FLAG)
measure = SharedOption("--measure", "Measure to report, may be repeated", {"multiple": True, "metavar": "NAME"})
fail_if = SharedOption(
    "--fail-if", "Exit with code 1 if this condition holds", {"multiple": True, "metavar": "CONDITION"}
)

key = SharedOption("--key", "File with the labels of the trials", {"metavar": "KEY"})
speakers = SharedOption(
    "--speakers",
    "Speaker of each utterance, where the data do not name it: lines of `utterance speaker` (Kaldi utt2spk)",
    {"metavar": "FILE"},
)
system = SharedOption("--system", "Name of the system in the results", {"metavar": "NAME"})
corpus = SharedOption("--corpus", "Corpus of original speech", {"metavar": "DIR"})
anonymised = SharedOption(
    "--anonymised", "Folder with the same utterances as the original speech, anonymised", {"metavar": "DIR"}
)
extractor = SharedOption("--extractor", "Speaker encoder", {"metavar": "NAME"})
protector = SharedOption("--protector", "Protector to fit")
keep = SharedOption("--keep", "Further attribute that should survive", {"metavar": "NAME"})
pitch = SharedOption("--pitch", "Compare the pitch of original and anonymised speech", _FLAG)

level = SharedOption(
    "--level",
    "Confidence level of intervals, bounds and tests",
    {"type": click.FloatRange(0, 1, min_open=True, max_open=True), "show_default": True},
)
seed = SharedOption(
    "--seed", "Seed of all random choices", {"type": click.IntRange(0), "default": 0, "show_default": True}
)
workers = SharedOption(
    "--workers",
    "Processes that share the work; results do not depend on their number",
    {"type": _COUNT, "default": 1, "show_default": True},
)
threads = SharedOption("--threads", "Threads that share the work", {"type": _COUNT})
device = SharedOption("--device", "Device of torch, such as cuda:1 or cpu", {"metavar": "NAME"})
limit = SharedOption(
    "--limit", "Problems of each file to print, at most", {"type": _COUNT, "default": 50, "show_default": True}
)
