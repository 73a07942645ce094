"""Trainings one after the other: which come next, when they end, and what is left of an interruption."""

import json
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from zeroevidence.attack.training import TrainingSettings
from zeroevidence.attack.training.history import CHECKPOINTS, train_within
from zeroevidence.data.store import Store, digest
from zeroevidence.run import Run

BASE = TrainingSettings(scope="all", epochs=4, batch=8, crop=20, learning_rate=0.3)


KEY = digest("a training")


class Trainer:
    """Pretends to train, one hour an epoch; bits grow with epochs up to some number of them, at the rate 0.9."""

    def __init__(self, level):
        self.level, self.now, self.trained, self.said = level, 0.0, [], []
        self.state = {}

    def __call__(self, settings, stop):
        done = self.state.get(settings, 0)
        while done < settings.epochs and not stop():
            done += 1
            self.now += 3600.0
        self.state[settings] = done
        self.trained.append((settings.epochs, round(settings.learning_rate, 3), done))
        bits = 0.2 * min(done, self.level) + (settings.learning_rate == 3 * 0.3)
        return SimpleNamespace(best_score=SimpleNamespace(bits=bits), done=done)

    def within(self, hours, folder, train_round=None):
        with patch("zeroevidence.attack.training.history.time", SimpleNamespace(monotonic=lambda: self.now)):
            return train_within(hours, BASE, KEY, train_round or self, run=Run(cache=folder, say=self.said.append))


def test_it_ends_where_twice_the_epochs_add_nothing(tmp_path):
    trainer = Trainer(level=8)
    result, chosen = trainer.within(1000, tmp_path)
    assert trainer.trained == [(4, 0.3, 4), (4, 0.9, 4), (4, 0.1, 4), (8, 0.9, 8), (16, 0.9, 16)]
    assert (chosen.epochs, chosen.learning_rate, result.done) == (8, pytest.approx(0.9), 8)
    assert trainer.said[-1] == "twice the epochs add less than 0.05 bits: the curve over epochs has levelled off"
    assert trainer.within(1000, tmp_path) == (result, chosen)
    assert trainer.trained[5:] == [(8, 0.9, 8)]  # from its checkpoint, and nothing is trained


def test_it_ends_where_the_time_is_too_short_for_the_next(tmp_path):
    trainer = Trainer(level=1000)
    _, chosen = trainer.within(21, tmp_path)
    assert (chosen.epochs, trainer.now) == (8, 20 * 3600.0)
    assert trainer.said[-1] == "no time for 16 more epochs: 20 h of 21 h are spent"


def test_what_was_interrupted_goes_on_and_its_time_counts(tmp_path):
    class Killed(Exception):
        pass

    trainer = Trainer(level=1000)
    plain = trainer.__call__

    def killed(settings, stop):
        def stopping():
            if trainer.now >= 6 * 3600.0:
                raise Killed
            return stop()

        return plain(settings, stopping)

    with pytest.raises(Killed):
        trainer.within(12, tmp_path, train_round=killed)
    assert len(json.loads(Store(tmp_path, CHECKPOINTS).load(KEY))["rounds"]) == 1
    result, _ = trainer.within(12, tmp_path)
    assert result.done == 4
    assert trainer.trained == [(4, 0.3, 4), (4, 0.9, 4)]
    # the killed one had taken an hour when it last looked at the clock
    assert trainer.said[-1] == "no time for 4 more epochs: 9 h of 12 h are spent"
