"""Seeds of repeated runs of a protector."""

from zeroevidence.protect.voices import draw_seed, seeded_protectors


def test_every_draw_has_a_seed_of_its_own():
    seeds = [draw_seed(seed, draw) for seed in range(20) for draw in range(10)]
    assert len(set(seeds)) == len(seeds)
    assert [draw_seed(seed, 0) for seed in range(20)] == list(range(20))
    first, second = seeded_protectors("pitch:-4..4", 3, 2)
    assert first.seed == 3
    assert second.seed == draw_seed(3, 1)
    assert seeded_protectors("pitch:-4..4", 3, 2) == (first, second)
