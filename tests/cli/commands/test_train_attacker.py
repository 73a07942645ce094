"""``zeroevidence train-attacker``: what it hands over and what it prints."""

from pathlib import Path

import pytest

from zeroevidence.attack.training import TrainingSettings
from zeroevidence.attack.training.attacker import AttackerOptions, TrainedAttacker
from zeroevidence.attack.training.history import DevelopmentScore, Epoch


@pytest.fixture
def called(monkeypatch):
    """What the command asks for; it is told of two epochs instead of a training."""
    found = {}

    def train(corpus, folder, options, *, on_epoch, run):
        found.update(corpus=corpus, folder=folder, options=options, run=run)
        run.say("9 people to learn from")
        on_epoch(Epoch(1, 4.5, None))
        on_epoch(Epoch(2, 3.25, DevelopmentScore(2.5, 0.123)))
        return TrainedAttacker(Path("out/card.json"), 9, 3, 36, 1.25, 2.5)

    monkeypatch.setattr("zeroevidence.cli.commands.train_attacker.train_attacker", train)
    return found


def test_loss_and_development_eer_are_shown(called, run):
    out, err = run.well("train-attacker", "speech", "-o", "out")
    assert err.splitlines() == [
        "training an attacker",
        "9 people to learn from",
        "epoch 1: loss 4.500",
        "epoch 2: loss 3.250, development EER 12.3 %, 2.50 bits",
    ]
    assert out.startswith("out/card.json: trained on 9 people and stopped on 3, 36 recordings in all; development")
    assert "2.50 bits to it, and 1.25 bits to the encoder that it started from" in out
    assert called["options"] == AttackerOptions()


def test_options_reach_the_training(called, run):
    words = "--extractor ecapa --evaluation original --device cpu --workers 2 --scope all --epochs 3 --band-mask 0.3"
    words += " --scheduler tcp://host:8786"
    run.well("train-attacker", "speech", *words.split(), "--seed", "5", "-o", "out")
    settings = TrainingSettings(scope="all", epochs=3, band_mask=0.3, seed=5)
    assert (called["corpus"], called["folder"]) == ("speech", "out")
    assert called["options"] == AttackerOptions("ecapa", "original", settings)
    carried_out = called["run"]
    assert (carried_out.seed, carried_out.cores, carried_out.device) == (5, 2, "cpu")
    assert carried_out.scheduler == "tcp://host:8786"


@pytest.mark.parametrize(("option", "value"), [("--epochs", "0"), ("--band-mask", "1"), ("--scope", "first")])
def test_values_out_of_range_are_refused(called, run, option, value):
    run.fails(2, option, "train-attacker", "speech", option, value, "-o", "out")
