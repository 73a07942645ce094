"""Quick attackers with several vectors of a person: what each of them sees, and what it does not."""

from __future__ import annotations

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.protect.quick_attackers import ATTACKERS, attacks_by_count, quick_attacks


def spoken(seed, noise=0.0, offset=0.0, spread=1.0, shift=0.0, people=60, each=12):
    """Vectors of people who differ by sex in their means (shift) or in how much their vectors differ (spread)."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), each)
    male = who % 2 == 1
    x = rng.normal(size=(people, 6))[who] + np.where(male, spread, 1.0)[:, None] * rng.normal(size=(len(who), 6))
    x[:, 0] += shift * male
    x += noise * rng.normal(size=x.shape) + offset * rng.normal(size=(people, 6))[who]
    return Embeddings(x, None, [f"{seed}-{i}" for i in who], {"sex": np.where(male, "m", "f")})


def test_counts_together_are_counts_one_by_one():
    sides = spoken(1, spread=1.5, each=6), spoken(2, spread=1.5, each=6)
    together = attacks_by_count(*sides, "sex", ["qda", "logistic"], [1, 3, None])
    assert together == {
        count: quick_attacks(*sides, "sex", ["qda", "logistic"], vectors=count) for count in (1, 3, None)
    }


def attacks(vectors, **how):
    return quick_attacks(spoken(1, **how), spoken(2, **how), "sex", vectors=vectors)


def test_quadratic_attackers_see_second_moments():
    d_eces = attacks(1, spread=4.0, each=1, people=400)
    assert set(d_eces) == set(ATTACKERS)
    assert d_eces["logistic"] < 0.1
    assert min(d_eces["qda"], d_eces["kernel"]) > 0.3


def test_noise_for_each_vector_averages_out_and_offsets_do_not():
    one, three, all_of_them = (max(attacks(count, shift=2.0, noise=4.0).values()) for count in (1, 3, None))
    assert one < three < all_of_them
    assert max(attacks(None, shift=2.0, offset=4.0).values()) < all_of_them - 0.1


def test_differences_between_vectors_of_a_person_tell_what_offsets_hide():
    d_eces = attacks(None, spread=2.0, offset=20.0)
    assert d_eces["qda of differences"] > 0.6
    assert d_eces["qda"] < 0.2
