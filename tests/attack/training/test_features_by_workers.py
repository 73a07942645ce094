"""Features that the workers of a cluster read are those that this machine reads."""

import pytest

from zeroevidence.attack.encoders import find_card
from zeroevidence.attack.training.features import read_features
from zeroevidence.data.corpus import Utterance
from zeroevidence.errors import InputError, ZeroEvidenceError
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run

pytest.importorskip("soundfile")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.Client(**options) as connected:
        yield connected


@pytest.fixture
def utterances(recordings):
    return recordings([6000 + 100 * number for number in range(6)])


def test_a_cluster_reads_what_this_machine_does(client, utterances, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    near = [Utterance(each.id, each.speaker, each.path.relative_to(tmp_path)) for each in utterances]
    card = find_card("campplus")
    far, _ = read_features(near, card, run=Run(cache=tmp_path / "store", scheduler=client))
    assert far.digest == read_features(utterances, card)[0].digest
    broken = [*near, Utterance("none", "s", tmp_path / "none.wav")]
    with pytest.raises(InputError, match=r"none\.wav: no such file"):
        read_features(broken, card, run=Run(cache=tmp_path / "store", scheduler=client))


def test_a_cluster_without_workers_says_so():
    class Empty:
        submit = None

        def nthreads(self):
            return {}

    pytest.importorskip("distributed")
    with pytest.raises(ZeroEvidenceError, match="the cluster has no workers"):
        list(compute_each(abs, [1], Run(scheduler=Empty())))
