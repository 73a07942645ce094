"""Runs the blocks of a Markdown page as a reader would: shell lines and Python, in one folder and one namespace."""

from __future__ import annotations

import contextlib
import doctest
import io
import math
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from zeroevidence.cli import main
from zeroevidence.cli.options import output
from zeroevidence.errors import MissingExtra
from zeroevidence.report.html import page as report_page
from zeroevidence.report.html.figures import draw_figures

ROOT = Path(__file__).resolve().parents[2]
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MISSING_EXTRA = MissingExtra.exit_code
_FENCE = re.compile(r"```(\w*)\s*")
_NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
_EXITS = re.compile(r"#\s*exits with (\d+)\b")


@dataclass(frozen=True)
class Block:
    """One fenced block, what stands before it, and the output that the page shows after it."""

    language: str
    text: str
    line: int
    not_run: str | None = None
    output: str | None = None


def parse(text: str) -> list[Block]:
    """The fenced blocks of a page; a ``text`` block right after a runnable one is its output."""
    blocks: list[Block] = []
    language, opened, body, between = None, 0, [], ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.fullmatch(line)
        if language is None and fence:
            language, opened, body = fence[1], number, []
        elif language is not None and line.rstrip() == "```":
            content = "\n".join(body) + "\n"
            reason = _NOT_RUN.fullmatch(between.strip().rpartition("\n")[2])
            if language == "text" and blocks and not between.strip() and blocks[-1].output is None:
                last = blocks[-1]
                blocks[-1] = Block(last.language, last.text, last.line, last.not_run, content)
            else:
                blocks.append(Block(language, content, opened + 1, reason and reason[1]))
            language, between = None, ""
        elif language is not None:
            body.append(line)
        else:
            between += line + "\n"
    return blocks


def check_output(block: Block, got: str, where: str) -> None:
    """Compare with the page as doctest does: `...` stands for anything, blanks for blanks, no-break ones too."""
    plain = got.replace("\u00a0", " ").replace("\u202f", " ")
    if block.output is not None and not doctest.OutputChecker().check_output(block.output, plain, LOOSE):
        pytest.fail(f"{where}: the page shows\n{block.output}\nbut the block gives\n{got}", pytrace=False)


def run_line(line: str, where: str) -> str:
    """One shell line: `zeroevidence` in this process, anything else in a shell; the exit code is checked."""
    expected = int(match[1]) if (match := _EXITS.search(line)) else 0
    arguments = shlex.split(line, comments=True)
    if arguments[0] == "zeroevidence" and not _needs_shell(line):
        code, output = _in_process(arguments[1:])
    else:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            ["sh", "-c", line], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
        )
        code, output = done.returncode, done.stdout + done.stderr
    if code == MISSING_EXTRA != expected:
        pytest.skip(f"could not import what {where} needs: {output.strip()}")
    if code != expected:
        pytest.fail(f"{where}: {line}\nended with {code} instead of {expected}:\n{output}", pytrace=False)
    return output


def _needs_shell(line: str) -> bool:
    """Whether operators of the shell, such as a pipe, stand outside quotes."""
    return any(set(token) <= set("();<>|&") for token in shlex.shlex(line, posix=True, punctuation_chars=True))


def _in_process(arguments: list[str]) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0), output.getvalue()


class Page:
    """A page with its folder and its Python namespace."""

    def __init__(self, path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.folder = path, folder
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.ran = self.left = 0
        monkeypatch.chdir(folder)

    def run(self, blocks: list[Block] | None = None) -> None:
        """Run every block that is a command or Python, in order."""
        for block in parse(self.path.read_text(encoding="utf-8")) if blocks is None else blocks:
            if block.language not in ("sh", "python"):
                continue
            if block.not_run is not None:
                self.left += 1
                continue
            where = f"{self.path.relative_to(ROOT)}:{block.line}"
            run = self._python if block.language == "python" else self._shell
            check_output(block, run(block, where), where)
            self.ran += 1

    def _python(self, block: Block, where: str) -> str:
        output = io.StringIO()
        # Empty lines before, so that a traceback names the line of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(self.path), "exec")
        try:
            with contextlib.redirect_stdout(output):
                exec(code, self.names)
        except MissingExtra as error:
            pytest.skip(f"could not import what {where} needs: {error}")
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("zeroevidence"):
                raise
            pytest.skip(f"could not import what {where} needs: {error.name}")
        return output.getvalue()

    def _shell(self, block: Block, where: str) -> str:
        lines = [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]
        return "".join(run_line(line, where) for line in lines if not line.lstrip().startswith("#"))


@pytest.fixture
def row_blocks():
    """The parser of pages."""
    return parse


@pytest.fixture
def page(tmp_path, monkeypatch, record_property, shared_demo):
    """A page by its path within the project; how many blocks ran is told at the end of the session.

    Of several reports on a page the first has its figures.
    """
    drawn = []

    def draw_first(*rows, **options):
        drawn.append(rows)
        return draw_figures(*rows, **options) if len(drawn) == 1 else ([], {})

    monkeypatch.setattr(report_page, "draw_figures", draw_first)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(output, "_MINUTE", math.inf)  # no line of progress, however slow the machine is
    pages = []

    def of(path: str) -> Page:
        pages.append(Page(ROOT / path, tmp_path, monkeypatch))
        return pages[-1]

    yield of
    record_property("blocks_run", sum(page.ran for page in pages))
    record_property("blocks_left", sum(page.left for page in pages))


def pytest_terminal_summary(terminalreporter):
    """Say how many blocks of the documentation ran."""
    counts = {"blocks_run": 0, "blocks_left": 0}
    for report in terminalreporter.stats.get("", []):  # setups and teardowns that went well
        for name, value in getattr(report, "user_properties", []) if report.when == "teardown" else []:
            if name in counts:
                counts[name] += value
    if counts["blocks_run"]:
        terminalreporter.write_line(
            f"documentation: {counts['blocks_run']} blocks ran, {counts['blocks_left']} marked as not run"
        )
