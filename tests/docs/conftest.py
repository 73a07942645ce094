"""Runs the blocks of a Markdown page as a reader would: shell lines and Python, in one folder and one namespace."""

import contextlib
import doctest
import importlib.util
import io
import math
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from zeroevidence.cli import main, printing
from zeroevidence.errors import MissingExtra
from zeroevidence.report import page as report_page
from zeroevidence.report.figures import draw_figures

ROOT = Path(__file__).resolve().parents[2]
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MISSING_EXTRA = MissingExtra.exit_code
_FENCE = re.compile(r"```(\w*)\s*")
_NOT_RUN = re.compile(r"<!-- not run: .+ -->")
_EXITS = re.compile(r"#\s*exits with (\d+)\b")


@dataclass(frozen=True)
class Block:
    """One fenced block, whether it is to be run, and the output that the page shows after it."""

    language: str
    text: str
    line: int
    runs: bool = True
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
            if language == "text" and blocks and not between.strip() and blocks[-1].output is None:
                blocks[-1] = replace(blocks[-1], output=content)
            else:
                runs = language in ("sh", "python") and not _NOT_RUN.fullmatch(between.strip().rpartition("\n")[2])
                blocks.append(Block(language, content, opened + 1, runs))
            language, between = None, ""
        elif language is not None:
            body.append(line)
        else:
            between += line + "\n"
    return blocks


def check_output(block: Block, printed: str, where: str) -> None:
    """Compare with the page as doctest does: `...` stands for anything, blanks for blanks, no-break ones too."""
    plain = printed.replace("\u00a0", " ").replace("\u202f", " ")
    if block.output is not None and not doctest.OutputChecker().check_output(block.output, plain, LOOSE):
        pytest.fail(f"{where}: the page shows\n{block.output}\nbut the block gives\n{printed}", pytrace=False)


def run_line(line: str, where: str) -> str:
    """One shell line: `zeroevidence` in this process, anything else in a shell; the exit code is checked."""
    expected = int(match[1]) if (match := _EXITS.search(line)) else 0
    arguments = shlex.split(line, comments=True)
    if arguments[0] == "zeroevidence" and not _needs_shell(line):
        code, printed = _run_in_process(arguments[1:])
    else:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, check=False)
        code, printed = done.returncode, done.stdout + done.stderr
    if code == MISSING_EXTRA != expected:
        pytest.skip(f"could not import what {where} needs: {printed.strip()}")
    if code != expected:
        pytest.fail(f"{where}: {line}\nended with {code} instead of {expected}:\n{printed}", pytrace=False)
    return printed


def _needs_shell(line: str) -> bool:
    """Whether operators of the shell, such as a pipe, stand outside quotes."""
    return any(set(token) <= set("();<>|&") for token in shlex.shlex(line, posix=True, punctuation_chars=True))


def _run_in_process(arguments: list[str]) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0), printed.getvalue()


class Page:
    """A page with its folder and its Python namespace."""

    def __init__(self, path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.names: dict[str, object] = {"__name__": "__main__"}
        monkeypatch.chdir(folder)

    def run(self, blocks: list[Block] | None = None) -> None:
        """Run every block that is to be run, in order."""
        for block in parse(self.path.read_text(encoding="utf-8")) if blocks is None else blocks:
            if block.runs:
                where = f"{self.path.relative_to(ROOT)}:{block.line}"
                run = self._run_python if block.language == "python" else self._run_shell
                check_output(block, run(block, where), where)

    def _run_python(self, block: Block, where: str) -> str:
        printed = io.StringIO()
        # Empty lines before, so that a traceback names the line of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(self.path), "exec")
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, self.names)
        except (MissingExtra, ModuleNotFoundError) as error:
            if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("zeroevidence"):
                raise
            pytest.skip(f"could not import what {where} needs: {error}")
        return printed.getvalue()

    def _run_shell(self, block: Block, where: str) -> str:
        lines = [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]
        return "".join(run_line(line, where) for line in lines if not line.lstrip().startswith("#"))


def _draw_nothing(*rows, **options):
    return []


@pytest.fixture
def parse_blocks():
    """The parser of pages."""
    return parse


@pytest.fixture
def page(tmp_path, monkeypatch, shared_demo):
    """A page by its path within the project; reports have figures in README only, the first of them."""

    def open_page(path):
        draws = iter([draw_figures] if path == "README.md" else [])
        draw = lambda *rows, **options: next(draws, _draw_nothing)(*rows, **options)  # noqa: E731
        monkeypatch.setattr(report_page, "draw_figures", draw)
        return Page(ROOT / path, tmp_path, monkeypatch)

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(printing, "_MINUTE", math.inf)  # no line of progress, however slow the machine is
    return open_page


@pytest.fixture(scope="session")
def generated():
    """The module that makes parts of pages from the package."""
    spec = importlib.util.spec_from_file_location("generated", ROOT / "docs" / "_ext" / "generated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
