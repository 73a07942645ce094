"""Quick attackers with several vectors of a person: what each of them sees, and what it does not."""

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.protect.quick_attackers import ATTACKERS, held_out_attacks, quick_attacks


def spoken(seed, noise=0.0, offset=0.0, spread=1.0, shift=0.0, people=60, each=12):
    """Vectors of people who differ by sex in their means (shift) or in how much their vectors differ (spread)."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), each)
    male = who % 2 == 1
    x = rng.normal(size=(people, 6))[who] + np.where(male, spread, 1.0)[:, None] * rng.normal(size=(len(who), 6))
    x[:, 0] += shift * male
    x += noise * rng.normal(size=x.shape) + offset * rng.normal(size=(people, 6))[who]
    return Embeddings(x, None, [f"{seed}-{i}" for i in who], {"sex": np.where(male, "m", "f")})


def attacks(pooled, **how):
    return quick_attacks(spoken(1, **how), spoken(2, **how), "sex", pooled=pooled)


def test_attackers_of_people_held_out_are_those_who_learned_from_the_others(monkeypatch):
    data = spoken(3, shift=2.0, noise=1.0)
    learned = held_out_attacks(data, "sex")
    assert learned.people == 45  # of 60, in four groups
    # with people in one group each, everybody else is learned from, as by two sets of people
    odd = np.isin(data.speakers, [f"3-{i}" for i in range(1, 60, 4)] + [f"3-{i}" for i in range(0, 60, 4)])
    monkeypatch.setattr("zeroevidence.protect.quick_attackers.stratified_parts", lambda *_: odd.astype(int))
    both = [quick_attacks(data.take(side), data.take(~side), "sex", ["logistic"])["logistic"] for side in (odd, ~odd)]
    halves = held_out_attacks(data, "sex", ["logistic"])
    assert halves.people == 30
    assert abs(halves.d_ece - np.mean(both)) < 0.05
    fewer = held_out_attacks(data, "sex", ["logistic"], share=0.2)
    assert fewer.people == 6
    assert fewer.d_ece < halves.d_ece


def test_quadratic_attackers_see_second_moments():
    d_eces = attacks(False, spread=4.0, each=1, people=400)
    assert set(d_eces) == set(ATTACKERS)
    assert d_eces["logistic"] < 0.1
    assert min(d_eces["qda"], d_eces["kernel"]) > 0.3


def test_noise_for_each_vector_averages_out_and_offsets_do_not():
    single, of_person = (max(attacks(pooled, shift=2.0, noise=4.0).values()) for pooled in (False, True))
    assert single < of_person
    assert max(attacks(True, shift=2.0, offset=4.0).values()) < of_person - 0.1


def test_differences_between_vectors_of_a_person_tell_what_offsets_hide():
    d_eces = attacks(True, spread=2.0, offset=20.0)
    assert d_eces["qda of differences"] > 0.6
    assert d_eces["qda"] < 0.2
