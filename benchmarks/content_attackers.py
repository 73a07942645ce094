"""What attackers of words, of durations and of the closest enrolled recording add to an audit.

    python benchmarks/content_attackers.py WORK --speech ../shared/data/speechocean/utterances.tsv --protect onevoice

The speech is protected, embedded and trained on once; then people are attacked with all attackers, without each of the
three, and without all of them. Printed is the strongest attacker of each audit, then words and durations by themselves.
WORK keeps what was computed, so that an interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import zeroevidence as ze
from zeroevidence.auditing import attack_plan, corpus_audit, read_speech, step_attack
from zeroevidence.auditing.embedding_audit import audit_folds
from zeroevidence.auditing.embedding_sets import EncodedSpeech
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run

WORDS, DURATIONS, CLOSEST = "cue:words", "cue:durations", "closest"
VARIANTS = {
    "all": (),
    "without words": (WORDS,),
    "without durations": (DURATIONS,),
    "without closest": (CLOSEST,),
    "without these": (WORDS, DURATIONS, CLOSEST),
}
MEASURES = ("alid", "top1", "eer")


def values(row: Any) -> dict[str, Any]:
    cells = {name: [row[name].value, row[name].low, row[name].high] for name in MEASURES}
    return {"labels": dict(row.labels), "development": row.about.development, **cells}


def compare_by(compared: tuple[str, ...], compute: Callable[[Any], Any], part: Any) -> Any:
    """Compute a part of the attacks with these comparisons alone, in whichever process it is."""
    step_attack.get_args = lambda _: compared
    return compute(part)


def compute_each_compared(
    compared: tuple[str, ...], compute: Callable[[Any], Any], parts: Iterable[Any], run: Run, **settings: Any
) -> Iterator[Any]:
    return compute_each(partial(compare_by, compared, compute), parts, run, **settings)


def audit_variants(
    encoded: Sequence[list[EncodedSpeech]], options: ze.AuditOptions, run: Run, *, kept: Path, **settings: Any
) -> Any:
    """Audit without each of the attackers, and print the strongest attacker that is left."""
    done = json.loads(kept.read_text()) if kept.exists() else {}
    result = None
    for title, left_out in VARIANTS.items():
        if title in done and result is not None:
            continue
        compared = ("mean",) if CLOSEST in left_out else ("mean", CLOSEST)
        attack_plan.compute_each = partial(compute_each_compared, compared)
        folds = [[speech for speech in fold if speech.name not in left_out] for fold in encoded]
        audited = audit_folds(folds, options, run, **settings)
        result = result or audited
        chosen = [audited.strongest]
        if not left_out:
            alone = [row for row in audited.rows if row.labels.get("encoder") in (WORDS, DURATIONS)]
            chosen += sorted(alone, key=lambda row: str(row.labels))
        done[title] = [values(row) for row in chosen]
        kept.write_text(json.dumps(done, indent=1))
        closest = sum(row.about.spent.draws.compared == CLOSEST for row in audited.rows if row.about.spent is not None)
        print(f"{title}: {closest} of {len(audited.rows)} rows count the closest recording", flush=True)
        for row in done[title]:
            cells = " | ".join("{:.3f} ({:.3f} to {:.3f})".format(*row[name]) for name in MEASURES)
            of = row["labels"]
            print(f"| {title} | {of.get('encoder')}, {of.get('backend')} | {cells} |", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean/utterances.tsv"))
    parser.add_argument("--protect", default="onevoice")
    parser.add_argument("--effort", default="full")
    parser.add_argument("--replicates", type=int, default=200, help="of intervals and of the null")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    kept = given.work / "variants.json"

    def attack(encoded: Sequence[list[EncodedSpeech]], options: ze.AuditOptions, run: Run, **settings: Any) -> Any:
        return audit_variants(encoded, options, run, kept=kept, **settings)

    corpus_audit.audit_folds = attack
    measuring = ze.Options(intervals=given.replicates, null=given.replicates)
    options = ze.AuditOptions(effort=given.effort, recogniser="none", measuring=measuring)
    print("| attackers | strongest | " + " | ".join(MEASURES) + " |\n| --- | --- | --- | --- | --- |", flush=True)
    speech = read_speech(given.speech, protector=given.protect)
    corpus_audit.audit_corpora(speech, options, run=Run(cache=given.work / "cache"))


if __name__ == "__main__":
    main()
