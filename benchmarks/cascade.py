"""When does a recogniser of a cascade understand, what do its parts cost, and what do words and lengths give away?

    python benchmarks/cascade.py variants WORK --speech ../shared/data/speechocean --part development --recordings 4
    python benchmarks/cascade.py confidence WORK --speech ../shared/data/speechocean --recordings 2
    python benchmarks/cascade.py words WORK --speech ../shared/data/speechocean --people 24

`variants`: for each pair of recogniser and voice, how many recordings are refused, and word errors of the original and
of protected speech in the others, by the recogniser that is no part of the pair; then the front, with each least
confidence, and how many of the recordings are taken where they are played backwards. Development people are those that
`draws.py` trains and stops on, or every other one of other corpora; `--part evaluation` takes the others.

`confidence`: recordings as they are must be understood, and the same ones played backwards must not. Every other person
chooses the least confidence that makes the fewest errors of both kinds together, in steps of 0.1; the others report it.

`words`: an attacker who sees nothing of protected speech but the text that the cascade reads, and one who sees nothing
but the length of that text. Both search through the known people as an audit does, in folds; what they find is the most
that a voice encoder can owe to words and to length. It also counts sentences that are both enrolled and tried.

What is heard is kept in WORK, and an interrupted run continues.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from draws import people as cut_people

from zeroevidence.auditing import AuditOptions, EncodedSpeech
from zeroevidence.auditing.embedding_audit import audit_folds
from zeroevidence.auditing.embedding_sets import sets_of, split_people
from zeroevidence.auditing.speech_utility import CachedRecogniser, transcribe
from zeroevidence.auditing.word_errors import closest_words, spoken_words
from zeroevidence.data.audio import load_audio, load_speech
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.store import Store
from zeroevidence.evaluation.utility import word_errors
from zeroevidence.protect.voices.cascade import audible_seconds, spell_digits, unclear_reason
from zeroevidence.protect.voices.speech_models import RATE, RECOGNISERS, load_voice

RECOGNISER = "moonshine"
PAIRS = ("moonshine/hibari", "moonshine/joe", "whisper/hibari", "whisper/joe")
GRID = np.round(np.arange(-2.0, -0.25, 0.1), 1)  # confidences among which the first half of the people chooses


def read_people(speech: Path, people: int | None, recordings: int | None) -> list[Utterance]:
    """Some recordings of each of some people, evenly over their names."""
    with (speech / "utterances.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    names = sorted({row["speaker"] for row in rows})
    names = names[:: max(1, len(names) // (people or len(names)))][:people]
    chosen = []
    for name in names:
        own = [row for row in rows if row["speaker"] == name][:recordings]
        chosen += [Utterance(row["utterance"], name, speech / row["path"]) for row in own]
    return chosen


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
        for least in sorted({*GRID[::2], RECOGNISERS[name].least_confidence}):
            texts = {each: heard[each].text for each in waves if not unclear_reason(heard[each], seconds[each], least)}
            taken = np.mean([not unclear_reason(nonsense[each], seconds[each], least) for each in waves])
            refused, errors = 100 * (1 - len(texts) / len(waves)), error_rate(texts, said)
            print(f"| {least:g} | {refused:.1f} | {errors:.1f} | {100 * taken:.0f} |")


def confidence(work: Path, speech: Path, recordings: int) -> None:
    utterances, recogniser = read_people(speech, None, recordings), CachedRecogniser(RECOGNISER, Store(work, "heard"))
    sides = [lambda each: load_speech(each, RATE).wave, lambda each: load_speech(each, RATE).wave[::-1].copy()]
    values = []
    for load in sides:
        transcripts = transcribe(utterances, load, recogniser)
        values.append(np.array([transcripts[each.id].confidence for each in utterances]))
    people = sorted({each.speaker for each in utterances})
    choosing = np.isin([each.speaker for each in utterances], people[::2])
    refused, accepted = (
        np.array([[(side[half] < least).mean() for least in GRID] for half in (choosing, ~choosing)]) for side in values
    )
    accepted = 1.0 - accepted
    best = int(np.argmin(refused[0] + accepted[0]))
    print(f"least confidence {GRID[best]:g}, chosen on {choosing.sum()} recordings of {len(people[::2])} people")
    print("| least confidence | choosing: refused | backwards, taken | reporting: refused | backwards, taken |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for at, least in enumerate(GRID):
        if abs(at - best) <= 2:
            cells = (refused[0, at], accepted[0, at], refused[1, at], accepted[1, at])
            print(f"| {least:g} | {' | '.join(f'{100 * cell:.0f} %' for cell in cells)} |")


def words(work: Path, speech: Path, people: int | None) -> None:
    utterances, recogniser = read_people(speech, people, None), CachedRecogniser(RECOGNISER, Store(work, "heard"))
    transcripts = transcribe(utterances, lambda each: load_speech(each, RATE).wave, recogniser)
    least = RECOGNISERS[RECOGNISER].least_confidence
    understood = [
        each
        for each in utterances
        if not unclear_reason(transcripts[each.id], audible_seconds(load_audio(each)), least)
    ]
    texts = [spoken_words(transcripts[each.id].text) for each in understood]
    folds = split_people(Corpus(tuple(understood)), 3, 0, 1)
    tried = {each.id for fold in folds for each in fold.select("trial", "eval")}
    enrolled = {text for text, each in zip(texts, understood, strict=True) if each.id not in tried}
    said = [text for text, each in zip(texts, understood, strict=True) if each.id in tried]
    print(
        f"{len(understood)} of {len(utterances)} recordings are read, {len(tried)} of them tried; "
        f"{sum(text in enrolled for text in said)} texts of these are also among the others"
    )
    lengths = np.log([[len(text)] for text in texts])
    vectors = {"words": text_vectors(texts), "length": np.hstack([np.cos(lengths), np.sin(lengths)])}
    names = np.array([each.id for each in understood])
    speakers = np.array([each.speaker for each in understood])
    options = AuditOptions(
        attackers=("lazy-informed",), effort="quick", backends=("cosine",), system="text", dataset="speechocean762"
    )
    print("| what is seen | top-1 | guessing | ALID [bit] | p | named in 80 % of their recordings |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for title, array in vectors.items():
        embedded = Embeddings(array.astype(np.float32), names, speakers)
        encoded = [[EncodedSpeech(title, *(sets_of(embedded, fold),) * 2)] for fold in folds]
        result = audit_folds(encoded, options)
        row = result.strongest
        top, bits = row["top1"], row["alid"]
        chance, people_seen = result.finding.chance[result.finding.strongest].p_value, row.people
        named = [name for name, counts in zip(people_seen.speaker, people_seen.named, strict=True) if counts]
        cells = (
            f"{100 * float(top):.0f} % ({100 * top.low:.0f} to {100 * top.high:.0f})",
            f"{100 / row.counts['identities']:.1f} %",
            f"{float(bits):.2f} ({bits.low:.2f} to {bits.high:.2f})",
            f"{chance:.3f}",
            ", ".join(named) or "nobody",
        )
        print(f"| {title} | {' | '.join(cells)} |")


def text_vectors(texts: list[str]) -> np.ndarray:
    """Words and groups of two to four letters of each text, weighed by how rare they are."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    kinds = (
        TfidfVectorizer(analyzer="word", token_pattern=r"\S+"),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)),
    )
    return np.hstack([kind.fit_transform(texts).toarray() for kind in kinds])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("variants", "confidence", "words"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--people", type=int)
    parser.add_argument("--recordings", type=int, default=2)
    parser.add_argument("--part", choices=("development", "evaluation"), default="development")
    parser.add_argument("--only", action="append", default=[], help="a pair; may be repeated")
    given = parser.parse_args()
    if given.step == "variants":
        part = read_part(given.speech, given.part, given.recordings, given.people)
        variants(given.work, *part, given.only)
    elif given.step == "confidence":
        confidence(given.work, given.speech, given.recordings)
    else:
        words(given.work, given.speech, given.people)


if __name__ == "__main__":
    main()
