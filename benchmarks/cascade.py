"""When does a recogniser of a cascade understand, and what do its parts cost?

    python benchmarks/cascade.py WORK --speech ../shared/data/speechocean --part development --recordings 8

For each pair of recogniser and voice: how many recordings are refused, and word errors of the original and of protected
speech in the others, by the recogniser that is no part of the pair. Then the front: the same with each least confidence
in steps of 0.05, and how many of the recordings are taken where they are played backwards. Development people are those
that `draws.py` trains and stops on, or every other one of other corpora; `--part evaluation` takes the others.

What is heard is kept in WORK, and an interrupted run continues. What an attacker learns from the words alone is in the
audits of `protectors.py`.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from draws import people as cut_people

from zeroevidence.auditing.speech_utility import CachedRecogniser
from zeroevidence.auditing.word_errors import closest_words
from zeroevidence.data.audio import load_audio
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import Store
from zeroevidence.evaluation.utility import word_errors
from zeroevidence.protect.voices.cascade import audible_seconds, spell_digits, unclear_reason
from zeroevidence.protect.voices.speech_models import RATE, RECOGNISERS, load_voice

PAIRS = ("moonshine/hibari", "moonshine/joe", "whisper/hibari", "whisper/joe")
GRID = np.round(np.arange(-1.5, -0.35, 0.05), 2)  # least confidences that are tried


def read_part(speech: Path, part: str, recordings: int, people: int | None) -> tuple[list[Utterance], dict[str, str]]:
    """Some recordings of each of some development people, or of others, and what is said in them."""
    with (speech / "utterances.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    names = np.array([row["speaker"] for row in rows])
    cut = cut_people(names) if speech.name == "speechocean" else (np.unique(names)[::2], [], np.unique(names)[1::2])
    wanted = {*cut[0], *cut[1]} if part == "development" else set(cut[2])
    chosen, said = [], {}
    for name in sorted(wanted)[:: max(1, len(wanted) // (people or len(wanted)))][:people]:
        for row in [row for row in rows if row["speaker"] == name][:recordings]:
            chosen.append(Utterance(row.get("utterance") or row["utt"], name, speech / row["path"]))
            said[chosen[-1].id] = row.get("text") or " ".join(row["digits"])
    return chosen, said


def error_rate(texts: dict[str, str], said: dict[str, str]) -> float:
    pairs = [closest_words(said[name], text) for name, text in texts.items()]
    counts = word_errors([pair[0] for pair in pairs], [pair[1] for pair in pairs]).sum(axis=0)
    return 100 * counts[:3].sum() / counts[3]


def variants(work: Path, chosen: list[Utterance], said: dict[str, str], only: list[str]) -> None:
    waves = {each.id: load_audio(each) for each in chosen}
    ears = {name: CachedRecogniser(name, Store(work, "heard")) for name in RECOGNISERS}
    title = "recogniser/voice | recordings | refused [%] | WER of text | of original | of protected | voice [s/s]"
    print(f"| {title} |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for pair in only or PAIRS:
        name, voice = pair.split("/")
        least, judge = RECOGNISERS[name].least_confidence, next(ear for other, ear in ears.items() if other != name)
        heard = {each: ears[name](wave) for each, wave in waves.items()}
        reasons = {each: unclear_reason(heard[each], audible_seconds(waves[each]), least) for each in waves}
        texts = {each: heard[each].text for each, reason in reasons.items() if not reason}
        start = time.perf_counter()
        spoken = {each: load_voice(voice)(spell_digits(text), RATE) for each, text in texts.items()}
        taken = (time.perf_counter() - start) / (sum(map(len, spoken.values())) / RATE)
        before, after = ({each: judge(side[each]).text for each in texts} for side in (waves, spoken))
        refused = f"{100 * (1 - len(texts) / len(waves)):.1f}"
        rates = (f"{error_rate(each, said):.1f}" for each in (texts, before, after))
        print(f"| {pair} | {len(waves)} | {refused} | {' | '.join(rates)} | {taken:.2f} |", flush=True)
    for name in {pair.partition("/")[0]: None for pair in only or PAIRS}:
        title = f"{name}, least confidence | refused [%] | WER of the text | backwards, taken [%]"
        print(f"\n| {title} |\n| ---: | ---: | ---: | ---: |")
        sides = waves, {each: wave[::-1].copy() for each, wave in waves.items()}
        heard, nonsense = ({each: ears[name](wave) for each, wave in side.items()} for side in sides)
        seconds = {each: audible_seconds(wave) for each, wave in waves.items()}
        for least in GRID:
            texts = {each: heard[each].text for each in waves if not unclear_reason(heard[each], seconds[each], least)}
            taken = np.mean([not unclear_reason(nonsense[each], seconds[each], least) for each in waves])
            refused, errors = 100 * (1 - len(texts) / len(waves)), error_rate(texts, said)
            print(f"| {least:g} | {refused:.1f} | {errors:.1f} | {100 * taken:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--people", type=int)
    parser.add_argument("--recordings", type=int, default=2)
    parser.add_argument("--part", choices=("development", "evaluation"), default="development")
    parser.add_argument("--only", action="append", default=[], help="a pair; may be repeated")
    given = parser.parse_args()
    variants(given.work, *read_part(given.speech, given.part, given.recordings, given.people), given.only)


if __name__ == "__main__":
    main()
