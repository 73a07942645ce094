"""Many processes, one answer, also when one of them dies."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from zeroevidence.errors import InputError, ZeroEvidenceError
from zeroevidence.linkage import link
from zeroevidence.linkage.engines import dask_blocks


@pytest.fixture(scope="module", autouse=True)
def patience(need):
    """A busy machine may take long, and dask gives up after 30 s; a killed worker is called in vain until then."""
    need("distributed")
    timeouts = {"distributed.comm.timeouts.connect": "60s", "distributed.comm.timeouts.tcp": "600s"}
    with need("dask").config.set(timeouts):
        yield


@pytest.fixture(scope="module")
def cluster(need):
    distributed = need("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ports in use, sockets of killed workers
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
            distributed.Client(local) as client,
        ):
            yield client


pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def same(arrays):
    def compare(found, expected):
        for name in arrays:
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)

    return compare


def test_same_numbers(cluster, same, draw):
    x, y, mated = draw(trials=400)
    expected = link(x, y, mated, weight=3.0, engine="numpy")
    same(link(x, y, mated, weight=3.0, engine="dask", scheduler=cluster, chunk=37), expected)


def test_addresses_are_opened_by_the_workers(cluster, same, tmp_path, draw):
    import polars as pl

    x, y, mated = draw(trials=400, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    frame = pl.DataFrame({"utterance_id": [str(i) for i in range(len(y))], "embedding": y.tolist()})
    frame.with_columns(pl.col("embedding").cast(pl.List(pl.Float32))).write_parquet(tmp_path / "y.parquet")
    expected = link(x, y, mated, weight=3.0, engine="numpy", chunk=90)
    found = link(
        f"file://{tmp_path / 'x.npy'}",
        tmp_path / "y.parquet",
        mated,
        weight=3.0,
        engine="dask",
        scheduler=cluster.scheduler.address,
        chunk=90,
    )
    same(found, expected)


def test_bad_input_is_the_same_error(cluster, draw):
    x, y, mated = draw(trials=40)
    x[31, 2] = np.nan
    with pytest.raises(InputError, match="trial 31: entry 2"):
        link(x, y, mated, weight=3.0, engine="dask", scheduler=cluster, chunk=10)


def test_a_killed_worker_changes_nothing(cluster, same, draw):
    x, y, mated = draw(trials=3000, identities=4000, dim=64)
    expected = link(x, y, mated, weight=3.0, engine="numpy")
    victim = next(iter(cluster.run(os.getpid).values()))
    seen = []

    def progress(done, total):
        if not seen:
            os.kill(victim, signal.SIGKILL)
        seen.append(done)
        time.sleep(0.01)

    threading.excepthook, hook = (lambda *_: None), threading.excepthook
    try:
        found = link(x, y, mated, weight=3.0, engine="dask", scheduler=cluster, chunk=60, progress=progress)
    finally:
        threading.excepthook = hook
    assert len(seen) == 50
    assert victim not in cluster.run(os.getpid).values()
    same(found, expected)


@pytest.fixture
def address(need, tmp_path):
    """A scheduler and two workers, each a program of its own, as on a cluster."""
    need("distributed")
    where, running = tmp_path / "scheduler.json", []

    def start(*arguments):
        command = [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(where), "--no-dashboard"]
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0")
        deadline = time.monotonic() + 600.0
        while not where.exists() or not where.read_text():
            assert time.monotonic() < deadline, "the scheduler does not start"
            time.sleep(0.1)
        for _ in range(2):
            start("worker", "--nthreads", "2", "--no-nanny", "--local-directory", str(tmp_path))
        yield json.loads(where.read_text())["address"]
    finally:
        for one in running:  # not asked to end: a worker may wait for its scheduler for minutes
            one.kill()
        for one in running:
            one.wait()


def test_separate_programs_give_the_same_numbers(address, same, tmp_path, draw, need):
    x, y, mated = draw(trials=400, dtype=np.float32)
    for name, vectors in (("x", x), ("y", y)):
        np.save(tmp_path / f"{name}.npy", vectors)
    files = tmp_path / "x.npy", tmp_path / "y.npy"
    with need("distributed").Client(address) as client:
        client.wait_for_workers(2, timeout=600)
        assert len(client.nthreads()) == 2
        found = link(*files, mated, weight=3.0, engine="dask", scheduler=client, chunk=40)
    same(found, link(x, y, mated, weight=3.0, engine="numpy", chunk=40))


def test_a_search_without_workers_ends(need, monkeypatch, draw):
    distributed = need("distributed")
    monkeypatch.setattr(dask_blocks, "_PATIENCE", 2.0)
    x, y, mated = draw(trials=3000, identities=4000, dim=64)
    threading.excepthook, hook = (lambda *_: None), threading.excepthook
    try:
        with (
            need("dask").config.set({"distributed.comm.timeouts.connect": "5s"}),
            distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local,
            distributed.Client(local) as client,
        ):

            def progress(done, total):
                local.scale(0)
                while client.nthreads():
                    time.sleep(0.02)

            with pytest.raises(ZeroEvidenceError, match=r"no worker of the cluster is left|cannot be given any work"):
                link(x, y, mated, weight=3.0, engine="dask", scheduler=client, chunk=60, progress=progress)
    finally:
        threading.excepthook = hook
