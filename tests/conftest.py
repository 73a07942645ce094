"""Where the tests find reference data, and what a machine may lack."""

import fcntl
import gc
import hashlib
import json
import os
import pickle
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests.effort import CHOSEN, FULL, SKIPPED
from zeroevidence.run import Run

settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)
settings.register_profile("full", deadline=None, derandomize=True, max_examples=30)
settings.load_profile(CHOSEN)

# Whoever starts the tests in the background may have these ignored, and programs that the tests start would inherit it.
if threading.current_thread() is threading.main_thread():
    for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(_number) is signal.SIG_IGN:
            signal.signal(_number, _handler)

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the project; absent on most machines."""
    if not SHARED.is_dir():
        pytest.skip("reference data (../shared/data) is not on this machine")
    return SHARED


@pytest.fixture(scope="session")
def vectors(shared: Path) -> dict[str, tuple[np.ndarray, np.ndarray, dict]]:
    """Score sets with exact values: name -> (target, nontarget, values)."""
    values = json.loads((shared / "reference" / "vectors.json").read_text())["two_class"]
    arrays = np.load(shared / "reference" / "vectors.npz")
    return {name: (arrays[f"{name}_tar"], arrays[f"{name}_non"], v) for name, v in values.items()}


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Without a sandbox of its own, which containers do not allow, and without any request of the browser itself.
CHROMIUM_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
CHROMIUM_ARGUMENTS += ["--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium; the machine may lack it, unless everything must be there."""
    if CHROMIUM is None:
        if os.environ.get("ZEROEVIDENCE_REQUIRE_ALL"):
            pytest.fail("chromium is not on the path")
        pytest.skip("chromium is not on the path")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        chromium = engine.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session", autouse=True)
def _one_process() -> Iterator[None]:
    """Where each core has a process of tests, workers cost more than they save; tests of them say how many."""
    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr("zeroevidence.run.available_cores", lambda: 1)
        yield


class Commands:
    """Run commands in this process: exit code, stdout, stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        from zeroevidence.cli import main

        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return (stop.value.code, *self._capsys.readouterr())

    def well(self, *arguments: object) -> tuple[str, str]:
        """Return stdout and stderr of a command that must end well."""
        code, out, err = self(*arguments)
        assert code == 0, (arguments, err)
        return out, err

    def rows(self, *arguments: object) -> list[dict[str, Any]]:
        """Return the rows of results that a command prints as JSON."""
        rows: list[dict[str, Any]] = json.loads(self.well(*arguments, "-f", "json")[0])["rows"]
        return rows

    def fails(self, code: int, words: str, *arguments: object) -> str:
        """Return stderr of a command that must end with this code and say these words there."""
        found, _, err = self(*arguments)
        assert (found, words in err) == (code, True), (arguments, err)
        return err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(capsys)


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their figures, which take most of the time; for tests of what stands beside them."""
    monkeypatch.setattr("zeroevidence.report.page.draw_figures", lambda *_, **__: [])


@pytest.fixture
def few_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals and nulls of a few replicates, for tests of what stands beside them."""
    from zeroevidence.evaluation import Options, resampling

    def capped(function: Callable[..., Any]) -> Callable[..., Any]:
        def with_few(*arguments: Any, **more: Any) -> Any:
            few = (
                replace(each, intervals=min(each.intervals, 10), null=min(each.null, 10))
                if isinstance(each, Options)
                else each
                for each in arguments
            )
            return function(*few, **more)

        return with_few

    monkeypatch.setattr(resampling, "_HALVES", 2)
    for name in ("replicate", "begin_null", "with_nulls"):
        monkeypatch.setattr(resampling, name, capped(getattr(resampling, name)))


@pytest.fixture
def shared_demo(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits of the bundled data are computed by the first test, in whichever process, that asks for them."""
    from zeroevidence import sample

    home = tmp_path_factory.getbasetemp()
    home = home.parent if "PYTEST_XDIST_WORKER" in os.environ else home

    def computed_once(make: Callable[..., Any]) -> Callable[..., Any]:
        def audit(*arguments: Any, run: Run = Run(), **options: Any) -> Any:
            asked = hashlib.sha256(repr((make.__name__, arguments, options, run.seed, run.level)).encode()).hexdigest()
            path = home / f"audit-{asked}"
            with open(f"{path}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not path.exists():
                    path.write_bytes(pickle.dumps(make(*arguments, run=run, **options)))
            return pickle.loads(path.read_bytes())

        return audit

    if not FULL:
        monkeypatch.setattr(sample, "DEMO_OPTIONS", replace(sample.DEMO_OPTIONS, intervals=5, null=5))
    for make in (sample.sample_audit, sample.trained_audit, sample.cascade_audit):
        monkeypatch.setattr(sample, make.__name__, computed_once(make))


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is marked as slow, unless everything is asked for."""
    if not FULL:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason=SKIPPED))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Give each process one thread: where there is one for each core, threads of libraries wait for each other."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(name, "1")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each process takes a row of tests, so that what they share is made once, and idle ones take from the rest."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None


# What pip cannot bring everywhere: a GPU compiler, a package that needs a C compiler, one that fetches its weights.
NOT_INSTALLABLE = ("triton", "resemblyzer", "speechbrain")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where everything must be there (CI), a test skipped for want of an installable part is a failure."""
    if not os.environ.get("ZEROEVIDENCE_REQUIRE_ALL") or hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    missing = set()
    for report in reporter.stats.get("skipped", []) if reporter else []:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if "could not import" in reason and not any(name in reason for name in NOT_INSTALLABLE):
            missing.add(reason)
    if missing:
        reporter.write_line("skipped, but must run here: " + "; ".join(sorted(missing)), red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
