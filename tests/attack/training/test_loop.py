"""The training loop on a toy encoder: it learns, stops by development people, resumes to the same weights."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.effort import slow, spread  # noqa: E402
from zeroevidence.attack.training import SCOPES, TrainingSettings, compute, crops  # noqa: E402
from zeroevidence.attack.training.features import FrameSet, TrainingFrames  # noqa: E402
from zeroevidence.attack.training.loop import AngularMargin, TrainingRun, estimate_seconds, train  # noqa: E402
from zeroevidence.errors import InputError, UsageError  # noqa: E402
from zeroevidence.run import Run  # noqa: E402

BANDS = 12
QUICK = TrainingSettings(epochs=4, batch=16, crop=20, learning_rate=3e-3, look=1, seed=3)
CPU = Run(device="cpu")


class Toy(torch.nn.Module):
    """A trunk, a mean over time, a last layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.trunk = torch.nn.Linear(BANDS, 24)
        self.norm = torch.nn.BatchNorm1d(24)
        self.out = torch.nn.Linear(48, 8)

    def frame_lengths(self, lengths):
        return lengths

    def frames(self, x, lengths=None):
        return torch.relu(self.norm(self.trunk(x).transpose(1, 2)).transpose(1, 2))

    def pooled(self, frames, lengths=None):
        return self.out(torch.cat((frames.mean(dim=1), frames.std(dim=1)), dim=1))

    def forward(self, x, lengths=None):
        return self.pooled(self.frames(x))


def speech(people, per_person=6, seed=0, prefix="p"):
    """People differ in how much two bands vary; protection moves all bands together by a random amount."""
    rng = np.random.default_rng(seed)
    utterances, speakers = [], []
    for k in range(people):
        profile = np.exp(0.6 * np.random.default_rng(1000 * seed + k).normal(size=BANDS))
        for _ in range(per_person):
            length = int(rng.integers(15, 60))
            utterances.append((rng.normal(size=(length, BANDS)) * profile).astype(np.float32))
            speakers.append(f"{prefix}{k}")
    return FrameSet.join(utterances, speakers)


@pytest.fixture(scope="module")
def data():
    return TrainingFrames(speech(20, seed=1), speech(10, seed=2, prefix="d"))


def weights(network):
    return np.concatenate([value.detach().numpy().ravel() for value in network.state_dict().values()])


def test_it_learns_and_keeps_the_best(data):
    epochs = []
    found = train(Toy(), data, QUICK, on_epoch=epochs.append, run=CPU)
    looked = [one.development.bits for one in found.epochs if one.development is not None]
    assert found.best_score.bits == max(looked)
    assert found.best_score.bits > looked[0]
    assert [one.number for one in epochs] == [1, 2, 3, 4]
    assert epochs[-1].loss < epochs[0].loss


def test_only_the_last_layers_learn_when_asked(data):
    toy = Toy()
    before = toy.trunk.weight.detach().clone()
    last = toy.out.weight.detach().clone()
    found = train(toy, data, replace(QUICK, scope="last"), run=CPU)
    assert torch.equal(toy.trunk.weight, before)
    assert found.best == 0 or not torch.equal(toy.out.weight, last)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("stop_after", [1, pytest.param(3, marks=slow)])
def test_a_training_that_was_cut_off_goes_on_to_the_same_weights(data, tmp_path, scope, stop_after):
    settings, kept = replace(QUICK, scope=scope), replace(CPU, cache=tmp_path)
    whole = train(Toy(), data, settings, run=CPU)

    class Cut(Exception):
        pass

    def cut(epoch):
        if epoch.number == stop_after:
            raise Cut

    with pytest.raises(Cut):
        train(Toy(), data, settings, on_epoch=cut, run=kept)
    resumed = train(Toy(), data, settings, run=kept)
    np.testing.assert_array_equal(weights(resumed.network), weights(whole.network))
    assert resumed.best == whole.best
    assert [one.loss for one in resumed.epochs[1:]] == [one.loss for one in whole.epochs[1:]]


def test_only_the_checkpoint_of_the_same_training_is_continued(data, tmp_path):
    run, epochs = replace(CPU, cache=tmp_path), []
    whole = train(Toy(), data, QUICK, run=run)
    again = train(Toy(), data, QUICK, on_epoch=epochs.append, run=run)
    np.testing.assert_array_equal(weights(again.network), weights(whole.network))
    assert epochs == []
    other = Toy()
    with torch.no_grad():
        other.out.weight += 1.0
    short, others = replace(QUICK, epochs=1), replace(data, training=speech(20, seed=7))
    for number, (network, frames, settings) in enumerate(
        ((Toy(), data, short), (Toy(), others, short), (other, data, short)), 1
    ):
        train(network, frames, settings, on_epoch=epochs.append, run=run)
        assert [epoch.number for epoch in epochs] == [1] * number
    entries = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(entries) == 4
    for path in entries:
        path.write_bytes(path.read_bytes()[:-1])  # cut off: trained anew
    again = train(Toy(), data, QUICK, on_epoch=epochs.append, run=run)
    np.testing.assert_array_equal(weights(again.network), weights(whole.network))
    assert len(epochs) == 3 + QUICK.epochs


class Small(Toy):
    """An encoder that does not fit into memory with so many utterances at once."""

    most = 3

    def pooled(self, frames, lengths=None):
        if len(frames) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().pooled(frames, lengths)


def in_parts(self, pieces, labels):
    """Gradients as a GPU computes them that does not take a whole batch."""
    self.optimiser.zero_grad(set_to_none=True)
    return self._in_parts(pieces, labels)


@pytest.mark.parametrize(("scope", "gradients"), [("all", TrainingRun._on_cores), ("last", in_parts)])
def test_what_does_not_fit_into_memory_is_taken_in_halves_to_the_same_end(data, scope, gradients, monkeypatch):
    monkeypatch.setattr(TrainingRun, "_on_cores", gradients)
    said = []
    settings = replace(QUICK, scope=scope, epochs=2)
    whole = train(Toy(), data, settings, run=CPU)
    parts = train(Small(), data, settings, run=replace(CPU, say=said.append))
    np.testing.assert_allclose(weights(parts.network), weights(whole.network), atol=2e-5)
    assert [one.loss for one in parts.epochs[1:]] == pytest.approx([one.loss for one in whole.epochs[1:]], rel=1e-4)
    words = "the memory of the device is too small: {} utterances at a time from here on"
    assert said == [words.format(size) for size in (8, 4, 2)]


@pytest.mark.parametrize("scope", spread([*SCOPES], quick=1))
def test_speech_that_is_read_from_disk_in_each_step_gives_the_same_weights(data, scope, tmp_path, monkeypatch):
    settings = replace(QUICK, scope=scope, epochs=2)
    held = train(Toy(), data, settings, run=CPU)
    monkeypatch.setattr(crops.UtteranceFrames.__init__, "__defaults__", (0,))
    read = train(Toy(), data, settings, run=replace(CPU, cache=tmp_path))
    np.testing.assert_array_equal(weights(read.network), weights(held.network))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoints"]


def test_a_schedule_whose_first_part_is_one_step(data):
    settings = replace(QUICK, epochs=1, batch=12)  # ten steps, of which a tenth rises
    assert len(train(Toy(), data, settings, run=CPU).epochs) == 2


def test_the_number_of_cores_changes_nothing(data, monkeypatch):
    found = []
    for number in (1, 3):
        monkeypatch.setattr(compute, "available_cores", lambda number=number: number)
        compute._pool.cache_clear()
        found.append(weights(train(Toy(), data, replace(QUICK, epochs=2), run=CPU).network))
    compute._pool.cache_clear()
    np.testing.assert_array_equal(*found)


def test_one_utterance_that_does_not_fit_is_the_end(data):
    network = Small()
    network.most = 0
    with pytest.raises(UsageError, match="too small for one utterance; a shorter crop needs less"):
        train(network, data, QUICK, run=CPU)


@pytest.mark.parametrize("scope", SCOPES)
def test_the_time_is_estimated_and_nothing_is_learned_meanwhile(data, scope, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("zeroevidence.attack.training.loop.time", SimpleNamespace(perf_counter=lambda: clock[0]))

    class Slow(Toy):
        def pooled(self, frames, lengths=None):
            clock[0] += 2e-4 * len(frames)
            return super().pooled(frames, lengths)

    slow = Slow()
    before = weights(slow)
    settings = replace(QUICK, scope=scope, epochs=40, look=4)
    found = estimate_seconds(slow, data, settings, run=CPU)
    np.testing.assert_array_equal(weights(slow), before)
    # each utterance once in every epoch, the training ones once before, the development ones at 11 looks
    asleep = 2e-4 * (40 * 120 + 120 + 11 * 60)
    assert found == pytest.approx(asleep, rel=0.1)


def test_people_and_rates_that_are_refused(data):
    with pytest.raises(InputError, match="7 training people; an encoder that learns from fewer than 8"):
        train(Toy(), replace(data, training=speech(7)), QUICK, run=CPU)
    with pytest.raises(InputError, match="share 10 speaker"):
        train(Toy(), replace(data, development=speech(10, seed=5)), QUICK, run=CPU)
    with pytest.raises(UsageError, match="training diverged"):
        train(Toy(), data, TrainingSettings(epochs=5, learning_rate=1e30, batch=16, crop=20), run=CPU)


def test_the_margin_makes_the_true_class_harder():
    vectors = torch.eye(3)
    labels = torch.arange(3)
    easy, hard = (AngularMargin(torch.eye(3), margin, 10.0)(vectors, labels) for margin in (0.0, 0.5))
    assert hard > easy
    # against the definition
    cosine = torch.tensor(1.0 - 1e-6)
    expected = 10.0 * torch.cos(torch.arccos(cosine) + 0.5)
    logits = torch.tensor([float(expected), 0.0, 0.0])
    assert float(hard.detach()) == pytest.approx(float(-torch.log_softmax(logits, 0)[0]), abs=1e-3)


class _Outputs:
    """What a toy made of features, and how often that was asked for."""

    def __init__(self, toy, *sets):
        self.asked = []
        self.known = {}
        with torch.no_grad():
            toy.frames(torch.from_numpy(sets[0].utterance(0))[None])  # as training does first, which moves its norm
            for data in sets:
                for row, digest in enumerate(data.digests):
                    frames = toy.eval().frames(torch.from_numpy(data.utterance(row))[None]).half().float()
                    self.known[digest.tobytes()] = frames[0].numpy(), toy.pooled(frames)[0].numpy()

    def frames(self, digest):
        self.asked.append("frames")
        return self.known[digest.tobytes()][0] if digest.tobytes() in self.known else None

    def vector(self, digest):
        self.asked.append("vector")
        return self.known[digest.tobytes()][1] if digest.tobytes() in self.known else None


@pytest.mark.parametrize("known", ["some", pytest.param("all", marks=slow)])
def test_outputs_that_are_known_are_not_computed_again(data, known, monkeypatch):
    settings = replace(QUICK, scope="last", epochs=2)
    expected = train(Toy(), data, settings, run=CPU)
    outputs = _Outputs(Toy(), *([data.training, data.development] if known == "all" else [data.training]))
    computed = []
    frames = Toy.frames
    monkeypatch.setattr(Toy, "frames", lambda self, x, lengths=None: (computed.append(len(x)), frames(self, x))[1])
    found = train(Toy(), replace(data, outputs=outputs), settings, run=CPU)
    np.testing.assert_allclose(weights(found.network), weights(expected.network), rtol=1e-4, atol=1e-6)
    missing = 0 if known == "all" else len(data.development)
    assert sum(computed) == missing + 1  # one shows which weights belong to the trunk
    assert outputs.asked.count("frames") == len(data.training) + len(data.development)
