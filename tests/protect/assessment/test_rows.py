"""Bits about several classes: what is known in closed form, and intervals over people."""

import numpy as np
import pytest

from zeroevidence import Embeddings, Options
from zeroevidence.measure.attribute import ClassView, attribute_bits
from zeroevidence.protect import AttackOptions, Leace, LinearNuller, Roles, assess

CORNERS = 2.0 / np.sqrt(3.0) * np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])


def three_classes(count, tag):
    """One vector of each person; the classes are the corners of a triangle."""
    rng = np.random.default_rng([2, *tag.encode()])
    y = np.arange(count) % 3
    x = rng.normal(size=(count, 4))
    x[:, :2] += CORNERS[y]
    return Embeddings(x, None, [f"{tag}{i}" for i in range(count)], {"y": np.array(["x", "y", "z"])[y]})


def attacked(protectors, roles, options=None):
    options = options or Options(intervals=0, null=0)
    rows = assess(protectors, roles, "y", AttackOptions(["lda"], verification=False, map_method="none"), options)
    return [row for row in rows if row.about.role != "training"]


def test_three_classes_give_the_bits_that_are_known():
    grid = np.linspace(-7.0, 7.0, 401)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    logs = -0.5 * ((points[:, None] - CORNERS) ** 2).sum(axis=2)
    share = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    mass = np.exp(logs).mean(axis=1)
    mass /= mass.sum()
    exact = np.log2(3.0) + float(mass @ (share * np.log2(np.maximum(share, 1e-300))).sum(axis=1))
    roles = Roles(three_classes(1200, "f"), three_classes(2400, "a"), three_classes(12_000, "t"))
    train = roles.train
    fitted = [each.fit(train.vectors, train.attributes["y"]) for each in (LinearNuller(), Leace())]
    protectors = {protector.kind: protector for protector in fitted}
    rows = attacked(protectors, roles)
    bits = {row.labels["system"]: float(row["attribute_bits"]) for row in rows}
    assert bits["unprotected"] == pytest.approx(exact, abs=0.02)
    for name in protectors:
        assert abs(bits[name]) < 0.02
        left = {row.about.of_class: float(row["d_ece"]) for row in rows if row.labels["system"] == name}
        assert set(left) == {"x", "y", "z"}
        assert max(left.values()) < 0.02


def test_intervals_hold_the_value_and_two_classes_have_no_bits():
    data = three_classes(300, "a")
    row = attacked({}, Roles.split(data, "y"), Options(intervals=30, null=0))[0]
    bits = row["attribute_bits"]
    assert bits.low < float(bits) < bits.high
    two = data.take(data.attributes["y"] != "z")
    assert all("attribute_bits" not in row for row in attacked({}, Roles.split(two, "y")))
    sure = ClassView(np.log(np.array([[0.8, 0.1, 0.1]])), np.array([0]), np.ones(1))
    assert attribute_bits(sure) == pytest.approx(np.log2(2.4))
