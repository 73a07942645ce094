"""Workers of a cluster, of which one is killed: the same bytes, and only its piece is computed again."""

import os
import signal

import pytest

from tests.effort import slow
from tests.speech import write_noise
from zeroevidence.auditing import AuditOptions, audit_corpora, read_speech
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import to_json
from zeroevidence.parallel import compute_each
from zeroevidence.protect.anonymise import AnonymiseOptions, anonymise
from zeroevidence.run import Run

pytest.importorskip("soundfile")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process with one thread."""
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as connected:
        yield connected


@pytest.fixture
def speech(tmp_path):
    return write_noise(tmp_path / "speech", 6, 4, 12_000)


def killing_progress(client, killed):
    """Progress that kills a worker when something is done for the first time, and there is more to do."""

    def progress(title, units):
        def step(done, total):
            if not killed and done < total:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        return step

    return progress


def files_below(folder):
    """Return the content of every file below a folder."""
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_killed_worker_costs_its_piece(client, tmp_path):
    marker, log = tmp_path / "killed", tmp_path / "computed"

    def square(number):
        with log.open("a") as stream:
            stream.write(f"{number}\n")
        if number == 5 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number**2

    parts = range(40)
    assert list(compute_each(square, parts, Run(scheduler=client))) == [number**2 for number in parts]
    computed = log.read_text().split()
    assert marker.exists()
    assert computed.count("5") == 2
    assert len(computed) <= len(parts) + 3  # its piece, and results that nobody had fetched


def test_a_cluster_anonymises_the_same_bytes(client, speech, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    killed, options = [], AnonymiseOptions(seed=3)
    run = Run(scheduler=client, progress=killing_progress(client, killed))
    anonymise("speech", "far", "pitch:-3..3:utterance", options, run=run)
    anonymise(speech, tmp_path / "near", "pitch:-3..3:utterance", options, run=Run(cores=1))
    assert killed
    assert files_below(tmp_path / "far") == files_below(tmp_path / "near")


@slow
def test_a_cluster_audits_to_the_same_bytes(client, speech, tmp_path):
    pytest.importorskip("onnxruntime")
    killed, options = [], AuditOptions(effort="quick", splits=1, measuring=Options(intervals=0, null=0))
    run = Run(scheduler=client, cache=tmp_path / "far", progress=killing_progress(client, killed))
    far = audit_corpora(read_speech(speech, protector="pitch:2"), options, run)
    near = audit_corpora(read_speech(speech, protector="pitch:2"), options, Run(cores=1, cache=tmp_path / "near"))
    assert killed
    assert to_json(far.rows) == to_json(near.rows)
