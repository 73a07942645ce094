"""``zeroevidence compare``: several systems on the same trials."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.inputs import (
    Reading,
    distinct_names,
    input_options,
    paired,
    resolve,
    system_options,
    trust_options,
)
from zeroevidence.cli.output import emit, output_options, progress_of, refuse_existing

if TYPE_CHECKING:
    from zeroevidence.evaluation import Options


@click.command("compare")
@input_options
@system_options
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure to compare by, several times for several [default: eer, d_ece, linkability, and alid for a search].",
)
@trust_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@output_options
def command(
    scores: tuple[str, ...],
    keys: tuple[str, ...],
    speakers: str | None,
    file_format: str,
    duplicates: str,
    allow_missing: bool,
    names: tuple[str, ...],
    measures: tuple[str, ...],
    dev_scores: tuple[str, ...],
    dev_keys: tuple[str, ...],
    intervals: int,
    interval_method: str,
    workers: int,
    seed: int,
    output_format: str,
    output: str | None,
    overwrite: bool,
) -> None:
    """Rank systems that were scored on the same trials, and say which differences are more than chance.

    All systems are resampled with the same speakers, so what the trials have in common cancels. Systems with other
    trials are refused. SCORES may also be folders that `link` wrote.

    \b
    zeroevidence compare a.scores b.scores c.scores --key trials
    zeroevidence compare a_f b_f --key trials_f --dev a_m --dev b_m --dev-key trials_m --measure alid
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.data.formats.linked import is_result
    from zeroevidence.errors import UsageError
    from zeroevidence.evaluation import Options, evaluate_with_replicates
    from zeroevidence.evaluation.comparison import check_same_trials, compare
    from zeroevidence.measure.catalogue import measure
    from zeroevidence.report.comparisons import render_comparisons

    refuse_existing(output, overwrite)
    if intervals < 1:
        raise UsageError("a comparison needs replicates: --intervals of at least 1")
    for name in measures:
        measure(name)
    options = Options(intervals=intervals, interval_method=interval_method, null=0, seed=seed)  # type: ignore[arg-type]
    if all(is_result(path) for path in scores):
        emit(_linked(scores, names, measures, options, output_format), output)
        return
    sources = resolve(scores, keys, speakers, names)
    if len(sources) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(sources)}")
    dev_sources = paired(resolve(dev_scores, dev_keys, None), sources, "--dev") if dev_scores else None

    read = Reading(file_format, duplicates, allow_missing).read

    loaded = [read(source) for source in sources]
    check_same_trials([(source.scores, one.data) for source, one in zip(sources, loaded, strict=True)])
    rows = [
        evaluate_with_replicates(
            one.data,
            dev=None if dev_sources is None else read(dev_sources[index]).data,
            labels=sources[index].labels,
            options=options,
            notes=one.loosened,
            workers=workers,
            progress=progress_of(f"{index + 1}/{len(sources)}"),
        )
        for index, one in enumerate(loaded)
    ]
    if not measures:
        usual = ("eer", "d_ece", "linkability", "alid")
        measures = tuple(name for name in usual if all(name in row.metrics for row, _ in rows))
    emit(render_comparisons(compare(rows, measures), output_format), output)


def _linked(
    folders: tuple[str, ...], names: tuple[str, ...], measures: tuple[str, ...], options: Options, output_format: str
) -> str:
    """Compare searches that `link` wrote."""
    from zeroevidence.data.formats.linked import read_linked, result_text
    from zeroevidence.errors import UsageError
    from zeroevidence.evaluation.comparison import compare
    from zeroevidence.evaluation.linked import check_same_linked, linked_replicates
    from zeroevidence.report.comparisons import render_comparisons
    from zeroevidence.report.jsonfile import from_json

    if len(folders) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(folders)}")
    trials = [read_linked(folder) for folder in folders]
    check_same_linked(trials)
    titles = names or distinct_names(folders)
    rows = []
    for folder, found, title in zip(folders, trials, titles, strict=True):
        name, text = result_text(folder)
        row = replace(from_json(text, path=name)[0], labels={"system": title})
        rows.append((row, linked_replicates(found, options)))
    return render_comparisons(compare(rows, measures or ("alid", "top1", "link_probability")), output_format)
