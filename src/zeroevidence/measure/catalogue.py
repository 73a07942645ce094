"""What each measure is called, what it means and where it comes from: one table for all outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroevidence.errors import UsageError

Direction = Literal["up", "down", "none"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One named measure. `discloses` is the direction in which the attacker learns more."""

    name: str
    title: str
    scope: str
    unit: str
    range: str
    discloses: Direction
    meaning: str
    references: tuple[str, ...]


_ONE_TO_ONE = (
    Measure(
        "eer",
        "EER",
        "one-to-one",
        "rate",
        "0 to 1",
        "down",
        "An attacker who accepts or rejects single comparisons is wrong this often; 50 % is guessing.",
        ("vanleeuwen2007",),
    ),
    Measure(
        "eer_rocch",
        "ROCCH-EER",
        "one-to-one",
        "rate",
        "0 to 0.5",
        "down",
        "The same error rate for an attacker who picks thresholds as well as possible.",
        ("brummer2006",),
    ),
    Measure(
        "cllr",
        "Cllr",
        "one-to-one",
        "bit",
        "0 to inf",
        "down",
        "Cost of taking the scores at face value as log-likelihood ratios; above 1 they mislead.",
        ("brummer2006",),
    ),
    Measure(
        "cllr_min",
        "min Cllr",
        "one-to-one",
        "bit",
        "0 to 1",
        "down",
        "The same cost after perfect calibration; 1 means that no score says anything.",
        ("brummer2006",),
    ),
    Measure(
        "dcf_act",
        "act DCF",
        "one-to-one",
        "relative cost",
        "0 to inf",
        "down",
        "Cost of the attacker's decisions at one prior, scores taken as log-likelihood ratios; 1 is deciding blindly.",
        ("vanleeuwen2007",),
    ),
    Measure(
        "dcf_min",
        "min DCF",
        "one-to-one",
        "relative cost",
        "0 to 1",
        "down",
        "The same cost with the best threshold; 1 means that the scores do not help.",
        ("vanleeuwen2007",),
    ),
    Measure(
        "tpr_at_fpr",
        "TPR at FPR",
        "one-to-one",
        "rate",
        "0 to 1",
        "up",
        "Share of mated pairs found by an attacker who tolerates at most this share of false alarms.",
        ("carlini2022",),
    ),
    Measure(
        "d_ece",
        "D_ECE",
        "one-to-one",
        "bit",
        "0 to 0.7213",
        "up",
        "Expected disclosure: what one comparison tells on average about same or other speaker; 0 is perfect privacy.",
        ("nautsch2020",),
    ),
    Measure(
        "worst_case",
        "worst case",
        "one-to-one",
        "log10 LR",
        "0 to inf",
        "up",
        "The strongest evidence that any one comparison gives, as a power of ten.",
        ("nautsch2020",),
    ),
    Measure(
        "tag",
        "tag",
        "one-to-one",
        "category",
        "0, A to F",
        "up",
        "Category of the worst case: 0 none, A below 10 to 1, B below 100, C below 10 000, ... F over a million to 1.",
        ("nautsch2020",),
    ),
    Measure(
        "tag_counts",
        "scores per tag",
        "one-to-one",
        "count",
        "0 to n",
        "none",
        "How many comparisons give evidence of each category.",
        ("noe2022",),
    ),
    Measure(
        "linkability",
        "linkability",
        "one-to-one",
        "fraction",
        "0 to 1",
        "up",
        "How surely a mated pair gives itself away; 0 means that mated pairs look like any other.",
        ("gomezbarrero2018", "maouche2020"),
    ),
    Measure(
        "deid",
        "DeID",
        "one-to-one",
        "fraction",
        "-inf to 1",
        "down",
        "De-identification: 1 when a protected voice no longer resembles the original, 0 when nothing changed.",
        ("noe2020",),
    ),
    Measure(
        "voice_distinctiveness_gain",
        "G_VD",
        "one-to-one",
        "dB",
        "-inf to inf",
        "none",
        "Whether protected voices can still be told from each other: 0 as before, negative less.",
        ("noe2020",),
    ),
)

_ONE_TO_N = (
    Measure(
        "alid",
        "ALID",
        "one-to-N",
        "bit",
        "-inf to log2 N",
        "up",
        "What one utterance tells a search about its speaker, on average over utterances; 0 is nothing.",
        ("sterns2026",),
    ),
    Measure(
        "pdr",
        "PDR",
        "one-to-N",
        "rate",
        "0 to 1",
        "up",
        "Share of utterances that make their speaker more likely than before.",
        ("sterns2026",),
    ),
    Measure(
        "ndr",
        "NDR",
        "one-to-N",
        "rate",
        "0 to 1",
        "down",
        "Share of utterances that tell nothing or point to somebody else.",
        ("sterns2026",),
    ),
    Measure(
        "lid_pos",
        "LID+",
        "one-to-N",
        "bit",
        "0 to log2 N",
        "up",
        "What an utterance that gives something away gives away, on average.",
        ("sterns2026",),
    ),
    Measure(
        "lid_neg",
        "LID-",
        "one-to-N",
        "bit",
        "-inf to 0",
        "none",
        "How far an utterance that misleads the attacker misleads, on average.",
        ("sterns2026",),
    ),
    Measure(
        "lid_max",
        "LID_max",
        "one-to-N",
        "bit",
        "-inf to log2 N",
        "up",
        "The worst case: each bit doubles the attacker's chance of naming the speaker of that one utterance.",
        ("sterns2026",),
    ),
    Measure(
        "top1",
        "top-1",
        "one-to-N",
        "rate",
        "0 to 1",
        "up",
        "Share of utterances whose speaker scores highest in the search, ties in equal parts.",
        ("sterns2026",),
    ),
    Measure(
        "mean_rank_disclosure",
        "mean rank disclosure",
        "one-to-N",
        "bit",
        "0 to log2 N",
        "up",
        "What the place of the speaker in the sorted list tells, on average.",
        ("backstrom2026",),
    ),
    Measure(
        "max_rank_disclosure",
        "max rank disclosure",
        "one-to-N",
        "bit",
        "0 to log2 N",
        "up",
        "What the most telling place in the sorted list tells.",
        ("backstrom2026",),
    ),
    Measure(
        "identification_rate",
        "identification rate",
        "one-to-N",
        "rate",
        "0 to 1",
        "up",
        "Probability that the speaker stands first in the sorted list.",
        ("backstrom2026",),
    ),
    Measure(
        "link_probability",
        "link probability",
        "one-to-N",
        "rate",
        "0 to 1",
        "up",
        "Linkability in the legal sense: the speaker scores strictly above everybody else; by chance once in N.",
        ("vauquier2025",),
    ),
    Measure(
        "singling_out",
        "singling out",
        "one-to-N",
        "rate",
        "0 to 1",
        "up",
        "How often a threshold picks exactly one person, right or not; by chance in 37 % of the searches.",
        ("vauquier2025",),
    ),
)

CATALOGUE: dict[str, Measure] = {measure.name: measure for measure in (*_ONE_TO_ONE, *_ONE_TO_N)}


def measure(name: str) -> Measure:
    """The entry of that name."""
    try:
        return CATALOGUE[name]
    except KeyError:
        raise UsageError(f"unknown measure {name!r}; `zeroevidence metrics` lists them") from None
