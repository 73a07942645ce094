"""Process that draws figures of a finished job as files: one of them, or all in a zip file."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from zeroevidence.data.writing import write_atomically
from zeroevidence.evaluation import read_results
from zeroevidence.plot.canvas import FORMATS
from zeroevidence.report.figures import FigureFile, draw_files, figure_processes
from zeroevidence.web.outcome import FIGURES, RESULT
from zeroevidence.web.process import guard_process


def main(folder: str, name: str) -> int:
    """Draw a file of a job, and return the exit code."""
    guard_process()
    home = Path(folder)
    rows = read_results(home / RESULT)
    if name == FIGURES:
        with figure_processes() as each:
            drawn = draw_files(rows, FORMATS, each=each)
        write_atomically(home / name, lambda path: _pack(drawn, path))
    else:
        kind, _, format = name.rpartition(".")
        (figure,) = draw_files(rows, [format], kinds=[kind])
        write_atomically(home / name, lambda path: path.write_bytes(figure.content[format]))
    return 0


def _pack(figures: list[FigureFile], path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for figure in figures:
            for format, content in figure.content.items():
                archive.writestr(f"{figure.kind}.{format}", content)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
