"""When does the recogniser of a cascade understand, and what do words and lengths alone give away?

    python benchmarks/cascade.py confidence WORK --speech ../shared/data/speechocean --recordings 2
    python benchmarks/cascade.py words WORK --speech ../shared/data/speechocean --people 24

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
from pathlib import Path

import numpy as np

from zeroevidence.auditing import AuditOptions, EncodedSpeech
from zeroevidence.auditing.embedding_audit import audit_folds
from zeroevidence.auditing.embedding_sets import sets_of, split_people
from zeroevidence.auditing.speech_utility import CachedRecogniser, transcribe
from zeroevidence.auditing.word_errors import spoken_words
from zeroevidence.data.audio import load_audio, load_speech
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.store import Store
from zeroevidence.protect.voices.cascade import audible_seconds, unclear_reason
from zeroevidence.protect.voices.speech_models import RATE, RECOGNISERS

RECOGNISER = "moonshine"
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
    parser.add_argument("step", choices=("confidence", "words"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    parser.add_argument("--people", type=int)
    parser.add_argument("--recordings", type=int, default=2)
    given = parser.parse_args()
    if given.step == "confidence":
        confidence(given.work, given.speech, given.recordings)
    else:
        words(given.work, given.speech, given.people)


if __name__ == "__main__":
    main()
