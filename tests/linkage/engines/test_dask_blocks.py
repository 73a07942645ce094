"""Many processes, one answer, also when one of them dies."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

from tests.effort import slow
from tests.linkage.searches import draw, linked, same
from zeroevidence.errors import InputError, ZeroEvidenceError
from zeroevidence.linkage.engines import dask_blocks
from zeroevidence.run import Run

dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def patience():
    """A busy machine may take long, and dask gives up after 30 s; a killed worker is called in vain until then."""
    timeouts = {"distributed.comm.timeouts.connect": "60s", "distributed.comm.timeouts.tcp": "600s"}
    with dask.config.set(timeouts):
        yield


@pytest.fixture(scope="module")
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ports in use, sockets of killed workers
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
            distributed.Client(local) as client,
        ):
            yield client


@pytest.fixture
def quiet_threads(monkeypatch):
    """Threads of dask that end with a worker say nothing."""
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)


def test_same_numbers(cluster):
    x, y, mated = draw(trials=400)
    expected = linked(x, y, mated, weight=3.0, engine="numpy")
    same(linked(x, y, mated, run=Run(scheduler=cluster), weight=3.0, engine="dask", block=37), expected)


def test_addresses_are_opened_by_the_workers(cluster, tmp_path):
    import polars as pl

    x, y, mated = draw(trials=400, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    frame = pl.DataFrame({"utterance_id": [str(i) for i in range(len(y))], "embedding": y.tolist()})
    frame.with_columns(pl.col("embedding").cast(pl.List(pl.Float32))).write_parquet(tmp_path / "y.parquet")
    expected = linked(x, y, mated, weight=3.0, engine="numpy", block=90)
    addresses, run = (f"file://{tmp_path / 'x.npy'}", tmp_path / "y.parquet"), Run(scheduler=cluster.scheduler.address)
    found = linked(*addresses, mated, run=run, weight=3.0, engine="dask", block=90)
    same(found, expected)


def test_bad_input_is_the_same_error(cluster):
    x, y, mated = draw(trials=40)
    x[31, 2] = np.nan
    with pytest.raises(InputError, match="trial 31: entry 2"):
        linked(x, y, mated, run=Run(scheduler=cluster), weight=3.0, engine="dask", block=10)


@pytest.mark.usefixtures("quiet_threads")
def test_a_killed_worker_changes_nothing(cluster):
    x, y, mated = draw(trials=3000, identities=4000, dim=64)
    expected = linked(x, y, mated, weight=3.0, engine="numpy")
    victim = next(iter(cluster.run(os.getpid).values()))
    seen = []

    def progress(done, total):
        if not seen:
            os.kill(victim, signal.SIGKILL)
        seen.append(done)
        time.sleep(0.01)

    run = Run(scheduler=cluster, progress=lambda *_: progress)
    found = linked(x, y, mated, run=run, weight=3.0, engine="dask", block=60)
    assert len(seen) == 50
    assert victim not in cluster.run(os.getpid).values()
    same(found, expected)


@slow
@pytest.mark.usefixtures("quiet_threads")
def test_a_search_without_workers_ends(monkeypatch):
    monkeypatch.setattr(dask_blocks, "_PATIENCE", 2.0)
    x, y, mated = draw(trials=3000, identities=4000, dim=64)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):

        def progress(done, total):
            local.scale(0)
            while client.nthreads():
                time.sleep(0.02)

        run = Run(scheduler=client, progress=lambda *_: progress)
        with pytest.raises(ZeroEvidenceError, match=r"no worker of the cluster is left|cannot be given any work"):
            linked(x, y, mated, run=run, weight=3.0, engine="dask", block=60)
