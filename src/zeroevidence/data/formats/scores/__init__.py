r"""Score files with their keys, and what comes with them: speakers, priors, results of the VoicePrivacy Challenges.

Each format of score files is a module of this package that adds itself to `SCORE_FORMATS`; the package imports all of
its modules, so nothing else names a format.

Examples
--------
Score files that a VoicePrivacy project left in its folders, and what its summary says:

>>> import tempfile
>>> from pathlib import Path
>>> project = Path(tempfile.mkdtemp())
>>> scores = project / "exp" / "asv_orig" / "libri_dev_enrolls-libri_dev_trials_f" / "scores"
>>> key = project / "data" / "libri_dev_trials_f" / "trials"
>>> for file, text in ((scores, "ada u1 2.1\n"), (key, "ada u1 target\n")):
...     file.parent.mkdir(parents=True)
...     _ = file.write_text(text)
>>> [(row.scores == scores, row.key == key) for row in find_rows(project)]
[(True, True)]
>>> summary = project / "result_for_rank_x"
>>> _ = summary.write_text("dataset split gender enrollment trial EER\nlibri dev f original anon 12.5\n")
>>> [(row.line, row.measures) for row in read_summary(summary)]
[(2, {'eer': 0.125})]
"""

from zeroevidence.data.formats.registry import import_modules
from zeroevidence.data.formats.scores.join import Duplicates
from zeroevidence.data.formats.scores.load import Infinite, diagnose, read_scores
from zeroevidence.data.formats.scores.prior import read_prior
from zeroevidence.data.formats.scores.registry import SCORE_FORMATS, ScoreFormat, format_names
from zeroevidence.data.formats.scores.summary import SummaryRow, read_summary
from zeroevidence.data.formats.scores.table import Problems, Table
from zeroevidence.data.formats.scores.voiceprivacy import FoundRow, find_rows

import_modules(__name__, __path__)

FORMATS = format_names()

__all__ = [
    "FORMATS",
    "SCORE_FORMATS",
    "Duplicates",
    "FoundRow",
    "Infinite",
    "Problems",
    "ScoreFormat",
    "SummaryRow",
    "Table",
    "diagnose",
    "find_rows",
    "format_names",
    "read_prior",
    "read_scores",
    "read_summary",
]
