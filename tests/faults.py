"""Runs commands in copies of itself that are killed, stopped, or find the disk full, at chosen moments.

A moment is a change in the folder of a command: a file or folder is made, opened for writing, renamed or removed.
Copies have every module of the commands already, so that a run takes no more than its work.
"""

import atexit
import contextlib
import ctypes
import importlib
import json
import os
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

_CHANGES = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir"}  # names of audit events
_USED = ["matplotlib.figure", "matplotlib.backends.backend_svg", "safetensors.numpy", "jinja2", "rich.console"]
_USED += ["scipy.signal"]
_NAMES = ("stdin", "stdout", "stderr")
_ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


class Copies:
    """Starts commands, one at a time, in copies of a process."""

    def __init__(self) -> None:
        root = Path(__file__).parents[1]
        environment = {**os.environ, **_ALONE, "ZEROEVIDENCE_HOME": "added"}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        command, pipe = [sys.executable, "-m", "tests.faults"], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=root, env=environment)

    def run(self, home: Path, arguments: Sequence[object], fault: str = "", at: Sequence[int] = (), **more: Any) -> Any:
        """Run a command in a folder and return its exit code, None where it was stopped, with what it printed.

        At some moments, counted from 0, it is killed ("kill"), stopped ("stop"), or nothing more can be written
        ("full"); `more` says which standard streams are no pipes, but "closed", "full" or "broken".
        """
        return self._ask(home=str(home), arguments=[str(each) for each in arguments], fault=fault, at=list(at), **more)

    def go_on(self, stopped: Any) -> Any:
        """Let a command that was stopped go on."""
        return self._ask(pid=stopped.pid)

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=600.0)

    def _ask(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return SimpleNamespace(**json.loads(self._process.stdout.readline()))


def _load(group: click.Group) -> None:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            _load(command)


def _answer_all() -> None:
    """Answer requests until there are no more; a copy leaves this function by the end of its command."""
    from zeroevidence.attack import encoders, onnx_runtime
    from zeroevidence.attack.extractors import families
    from zeroevidence.cli import cli
    from zeroevidence.report import page

    _load(cli)
    # Most of the time of an audit are figures, and another process that examines its encoder.
    page.draw_figures = lambda *_, **__: []  # type: ignore[assignment]
    examine = lambda card: onnx_runtime.examine(onnx_runtime.OnnxExtractor(card))  # noqa: E731
    families.examine_apart = encoders.examine_apart = examine
    for name in _USED:  # of which none has threads, which are not copied
        importlib.import_module(name)
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    pipes: dict[int, list[int]] = {}
    for line in requests:
        request = json.loads(line)
        pid = request.get("pid") or _copy(request, pipes)
        if "pid" in request:
            os.kill(pid, signal.SIGCONT)
        _, status = os.waitpid(pid, os.WUNTRACED)
        code = None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)
        out, err, moments = ("", "", "") if code is None else map(_drained, pipes.pop(pid))
        reply = {"pid": pid, "code": code, "out": out, "err": err, "moments": int(moments or 0)}
        print(json.dumps(reply), file=answers, flush=True)


def _drained(pipe: int) -> str:
    """Return what is in a pipe, which children of the command may still hold open."""
    os.set_blocking(pipe, False)
    content = b""
    with contextlib.suppress(BlockingIOError):
        while part := os.read(pipe, 1 << 20):
            content += part
    os.close(pipe)
    return content.decode(errors="replace")


def _copy(request: dict[str, Any], pipes: dict[int, list[int]]) -> int:
    made = [os.pipe() for _ in range(3)]
    pid = os.fork()
    if not pid:
        _run(request, [write for _, write in made])
    for _, write in made:
        os.close(write)
    pipes[pid] = [read for read, _ in made]
    return pid


def _run(request: dict[str, Any], pipes: list[int]) -> None:
    """Run the command of a request, which ends this process."""
    from zeroevidence.__main__ import main

    home, count = os.path.realpath(request["home"]), 0
    os.chdir(home)
    for number, name in enumerate(_NAMES):
        kind = request.get(name)
        if kind == "full":
            os.dup2(os.open("/dev/full", os.O_RDWR), number)
        elif kind == "broken":
            read, write = os.pipe()
            os.dup2(write, number)
            os.close(read)
        elif number:
            os.dup2(pipes[number - 1], number)
        setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for number, name in enumerate(_NAMES):  # last: what is opened takes the first number that is free
        if request.get(name) == "closed":
            os.close(number)
            setattr(sys, name, None)  # as Python begins then
    # no capability of root: what is read-only is so for everybody
    ctypes.CDLL(None).capset(struct.pack("Ii", 0x20080522, 0), bytes(24))

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open" and isinstance(arguments[2], int):
            changed = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        else:
            changed = event in _CHANGES
        if not changed or not isinstance(arguments[0], str | os.PathLike):
            return
        if not os.path.realpath(arguments[0]).startswith(home + os.sep):
            return
        if count in request["at"]:
            _happen(request["fault"])
        count += 1

    sys.addaudithook(watch)
    atexit.register(lambda: os.write(pipes[2], str(count).encode()))
    sys.argv[1:] = request["arguments"]
    main()


def _happen(fault: str) -> None:
    if fault == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    else:
        os.kill(os.getpid(), {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[fault])


if __name__ == "__main__":
    _answer_all()
