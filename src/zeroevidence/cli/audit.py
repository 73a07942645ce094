"""``zeroevidence audit``: how private is this speech?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.inputs import trust_options
from zeroevidence.cli.output import emit, emit_table, progress_of
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from zeroevidence.audit import Audit, EmbeddingSets
    from zeroevidence.data.embeddings import Embeddings
    from zeroevidence.data.speech import Corpus


@click.command("audit")
@click.argument("corpus")
@click.option("--anonymised", metavar="DIR", help="Folder with the same utterances as your anonymiser wrote them.")
@click.option(
    "--protect", metavar="NAME", help="Protect the speech here instead: mcadams, mcadams-random, pitch:4, ..."
)
@click.option(
    "--extractor",
    default="resemblyzer",
    show_default=True,
    help="Speaker encoder: resemblyzer, an ONNX file with its card, or a SpeechBrain name.",
)
@click.option(
    "--attacker",
    "attackers",
    multiple=True,
    type=click.Choice(["ignorant", "lazy-informed", "semi-informed", "semi-informed-adapter"]),
    help="Attackers to try [default: the first three].",
)
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(["cosine", "plda", "cosine-snorm", "plda-snorm"]),
    help="How embeddings are compared [default: cosine and plda].",
)
@click.option("--segments", metavar="FILE", help="Table of pieces (utt, start, end) to cut trials by.")
@click.option(
    "--pieces", type=click.IntRange(1), default=1, show_default=True, help="Pieces per trial, with --segments."
)
@click.option("--cache", metavar="DIR", help="Where embeddings are kept between runs [default: OUT/cache].")
@trust_options
@click.option(
    "--null", type=click.IntRange(0), default=200, show_default=True, help="Permutations of the null; 0 for none."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@click.option("-o", "--output", required=True, metavar="OUT", help="Folder for the results.")
@click.option("--overwrite", is_flag=True, help="Replace results that are there already.")
def command(
    corpus: str,
    anonymised: str | None,
    protect: str | None,
    extractor: str,
    attackers: tuple[str, ...],
    backends: tuple[str, ...],
    segments: str | None,
    pieces: int,
    cache: str | None,
    intervals: int,
    interval_method: str,
    workers: int,
    null: int,
    seed: int,
    output: str,
    overwrite: bool,
) -> None:
    """Attack anonymised speech with attackers of growing knowledge and say what they learn.

    CORPUS is a folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance, speaker and path; roles
    and a speaker-disjoint split are drawn where it names none. Embeddings are kept, so an interrupted audit goes on
    where it stopped.

    \b
    zeroevidence audit original/ --anonymised anonymised/ -o out/
    zeroevidence audit original/ --protect mcadams -o out/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.attack.extractors import load_extractor
    from zeroevidence.audit import DEFAULT_ATTACKERS, DEFAULT_BACKENDS, audit_embeddings
    from zeroevidence.data.formats.corpus import read_corpus, read_segments
    from zeroevidence.evaluation import Options
    from zeroevidence.protect import load_protector

    if (anonymised is None) == (protect is None):
        raise UsageError("expected either --anonymised DIR or --protect NAME")
    home = prepared(output, overwrite)
    transform = None if protect is None else load_protector(protect, seed=seed)
    original = read_corpus(corpus, seed=seed)
    if segments is not None:
        original = original.cut(read_segments(segments), pieces)
    protected = original if anonymised is None else original.replaced(anonymised)
    encoder = load_extractor(extractor)
    store = Path(cache) if cache is not None else home / "cache"

    def sets(which: Corpus, change: object, words: str) -> EmbeddingSets:
        return _embedded(which, encoder, store, change, words, workers)

    audit = audit_embeddings(
        sets(original, None, "original speech"),
        sets(protected, transform, "protected speech"),
        attackers=attackers or DEFAULT_ATTACKERS,
        backends=backends or DEFAULT_BACKENDS,
        options=Options(intervals=intervals, interval_method=interval_method, null=null, seed=seed),  # type: ignore[arg-type]
        seed=seed,
        system=protect or Path(str(anonymised)).name or "protected",
        dataset=Path(corpus).stem,
        extractor=encoder.name,
        workers=workers,
        progress=progress_of("attackers", "rows"),
    )
    save(audit, home)
    show(audit)


def _embedded(
    corpus: Corpus, encoder: object, store: Path, transform: object, words: str, workers: int
) -> EmbeddingSets:
    import numpy as np

    from zeroevidence.attack.extract import extract
    from zeroevidence.audit import EmbeddingSets

    utterances = list(corpus)
    found: Embeddings = extract(
        utterances,
        encoder,  # type: ignore[arg-type]
        cache=store,
        transform=transform,  # type: ignore[arg-type]
        progress=progress_of(words, "utterances"),
        workers=workers,
    )
    split = np.array(["train" if one.role == "train" else str(one.split) for one in utterances])
    return EmbeddingSets.from_roles(found, split, np.array([str(one.role) for one in utterances]))


def prepared(output: str, overwrite: bool) -> Path:
    """The results folder, made where it is missing; results that are there are not replaced unasked."""
    home = Path(output)
    if home.exists() and not home.is_dir():
        raise UsageError(f"{output}: is a file; expected a folder")
    if (home / "result.json").exists() and not overwrite:
        raise UsageError(f"{output}: holds results; --overwrite replaces them")
    home.mkdir(parents=True, exist_ok=True)
    return home


def save(audit: Audit, home: Path) -> None:
    """Write the results: rows, attackers' cards, the finding, and what each trial and each speaker disclosed."""
    from zeroevidence.report.jsonfile import to_json
    from zeroevidence.report.trialtable import speaker_table, trial_table

    cards = json.dumps([card.to_dict() for card in audit.cards], indent=1, ensure_ascii=False) + "\n"
    texts = {"attackers.json": cards, "summary.txt": audit.summary + "\n", "result.json": to_json(audit.rows)}
    emit_table(trial_table(audit.rows), str(home / "trials.csv"))
    emit_table(speaker_table(audit.rows), str(home / "speakers.csv"))
    for name, text in texts.items():
        emit(text, str(home / name))


def show(audit: Audit) -> None:
    """Print the finding, the strongest attacker's card and a table of all."""
    from zeroevidence.report import render

    click.echo(audit.summary)
    click.echo()
    click.echo(audit.cards[audit.headline].to_text())
    click.echo(render(audit.rows, "text"), nl=False)
