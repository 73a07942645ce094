"""``zeroevidence protect``: take an attribute out of embeddings, and see what is left of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.output import emit, output_options, progress_of, refuse_existing, write_whole
from zeroevidence.errors import InputError, UsageError

if TYPE_CHECKING:
    from zeroevidence.data.embeddings import Embeddings

_KINDS = ("linear", "adversarial", "flow")
_SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
_ATTRIBUTE = click.option("--attribute", required=True, metavar="NAME", help="What to conceal: sex, accent, ...")
_LABELS = click.option(
    "--labels", metavar="FILE", help="Lines `utterance label` or `speaker label`, if the embeddings do not say."
)
_PEOPLE = click.option("--speakers", metavar="FILE", help="Lines `utterance speaker`, if the embeddings do not say.")
_SETTING = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the protector: epochs=50."
)


@click.group("protect", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Take an attribute's evidence out of embeddings: fit a protector, apply it, evaluate what is left.

    Embeddings are read from npz, Parquet, Kaldi ark, torch or npy files; npz and Parquet may hold the attribute as a
    column of words. Everything else about the vectors should survive: speakers are still told apart.

    \b
    zeroevidence protect evaluate embeddings.npz --attribute sex
    zeroevidence protect fit train.npz --attribute sex -o model/
    zeroevidence protect apply model/ embeddings.npz -o protected.npz
    """  # noqa: D301


@command.command("fit")
@click.argument("embeddings")
@_ATTRIBUTE
@click.option("--keep", metavar="NAME", help="A second attribute that must survive (flow only).")
@click.option("--protector", type=click.Choice(_KINDS), default="flow", show_default=True, help="What to fit.")
@click.option("--paper", is_flag=True, help="The flow as published: all dimensions, Adam 1e-4, batches of 64.")
@_SETTING
@_LABELS
@_PEOPLE
@_SEED
@click.option("-o", "--output", required=True, metavar="FOLDER", help="A new folder for the model.")
def fit(
    embeddings: str,
    attribute: str,
    keep: str | None,
    protector: str,
    paper: bool,
    settings: tuple[str, ...],
    labels: str | None,
    speakers: str | None,
    seed: int,
    output: str,
) -> None:
    """Fit a protector to EMBEDDINGS and write it to a folder (safetensors and JSON)."""
    from zeroevidence.protect.assessment import labels_of, point_mass_flags
    from zeroevidence.protect.models import new_model, save_model

    folder = Path(output)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{output}: exists; expected a new folder for the model")
    if keep is not None and protector != "flow":
        raise UsageError("--keep: only the flow can keep a second attribute")
    if paper and protector != "flow":
        raise UsageError("--paper is a configuration of the flow")
    made = _made(protector, settings, seed, paper=paper)
    data = _read(embeddings, attribute, labels, speakers)
    more: dict[str, Any] = {} if data.speakers is None else {"speakers": data.speakers}
    if keep is not None:
        more["keep"] = labels_of(data, keep)
    if protector != "linear":
        more["progress"] = progress_of("training", "epochs")
    made.fit(data.vectors, labels_of(data, attribute), **more)
    save_model(new_model(made, attribute, keep=keep, speakers=data.speakers), output)
    click.echo(f"wrote {output}", err=True)
    if data.speakers is None:
        click.echo("speakers are not known: early stopping saw vectors of people it was trained on", err=True)
    for flag in point_mass_flags(data.vectors):
        click.echo(flag, err=True)
    if protector == "flow":
        history = made.history_
        click.echo(
            f"flow: best after {history.best} of {max(len(history.losses) - 1, history.best)} epochs, inversion error "
            f"{made.inversion_error_:.1g} standard deviations",
            err=True,
        )


@command.command("apply")
@click.argument("model")
@click.argument("embeddings")
@click.option("--llr", type=float, help="Evidence to set instead of none (flow, two classes), natural logarithm.")
@click.option("-o", "--output", required=True, metavar="FILE.npz", help="Where to write the protected embeddings.")
@click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")
def apply(model: str, embeddings: str, llr: float | None, output: str, overwrite: bool) -> None:
    """Protect EMBEDDINGS with a fitted MODEL; identifiers, speakers and other columns stay, the attribute goes."""
    import numpy as np

    from zeroevidence.data.formats.vectors import read_embeddings
    from zeroevidence.protect.models import load_model

    if not output.endswith(".npz"):
        raise UsageError(f"{output}: protected embeddings are written as NumPy npz; expected a name that ends in .npz")
    refuse_existing(output, overwrite)
    loaded = load_model(model)
    data = read_embeddings(embeddings)
    _check_dimension(loaded, data, model, embeddings)
    vectors = np.asarray(data.vectors, dtype=np.float64)
    if llr is None:
        protected = loaded.protector.transform(vectors)
    elif hasattr(loaded.protector, "set_evidence") and len(loaded.protector.classes_) == 2:
        protected = loaded.protector.set_evidence(vectors, llr)
    else:
        raise UsageError("--llr: only a flow over two classes sets evidence to a value")
    arrays = {"vectors": protected.astype(np.promote_types(data.vectors.dtype, np.float32)), "utterance": data.ids}
    if data.speakers is not None:
        arrays["speaker"] = data.speakers
    # the label itself would tell what was taken out of the vectors
    arrays |= {name: values for name, values in data.attributes.items() if name != loaded.attribute}

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    write_whole(Path(output), write)


@command.command("evaluate")
@click.argument("embeddings")
@_ATTRIBUTE
@click.option(
    "--keep", multiple=True, metavar="NAME", help="A further attribute to report; the flow leaves the first one alone."
)
@click.option(
    "--protector",
    "protectors",
    type=click.Choice(_KINDS),
    multiple=True,
    help="Fit this on a third of the speakers; all three unless given.",
)
@click.option("--model", "models", multiple=True, metavar="FOLDER", help="Instead: a fitted model; may be repeated.")
@_SETTING
@click.option(
    "--attacker",
    "classifiers",
    type=click.Choice(["logistic", "perceptron", "boosting"]),
    multiple=True,
    help="Classifiers to attack with; all three unless given.",
)
@click.option(
    "--map",
    "mapped",
    type=click.Choice(["pca", "umap", "none"]),
    default="pca",
    show_default=True,
    help="How to draw the vectors; `zeroevidence plot map` shows it.",
)
@click.option("--no-verification", is_flag=True, help="Leave out speaker verification.")
@_LABELS
@_PEOPLE
@_SEED
@click.option("--intervals", type=click.IntRange(0), default=1000, show_default=True, help="Bootstrap replicates.")
@click.option("--null", type=click.IntRange(0), default=200, show_default=True, help="Permutations for the null.")
@output_options
def evaluate(
    embeddings: str,
    attribute: str,
    keep: tuple[str, ...],
    protectors: tuple[str, ...],
    models: tuple[str, ...],
    settings: tuple[str, ...],
    classifiers: tuple[str, ...],
    mapped: Any,
    no_verification: bool,
    labels: str | None,
    speakers: str | None,
    seed: int,
    intervals: int,
    null: int,
    output_format: str,
    output: str | None,
    overwrite: bool,
) -> None:
    """How much of the attribute is left after protection, and how well speakers are still told apart.

    The speakers of EMBEDDINGS are cut into thirds: one to fit protectors, one to train attackers on protected vectors,
    one to test. With --model the first third trains the PLDA of the verification alone; the model must not have been
    trained on anybody in the other two.
    """
    from zeroevidence.evaluation import Options
    from zeroevidence.protect.assessment import CLASSIFIERS, Roles, assess, labels_of
    from zeroevidence.protect.models import load_model
    from zeroevidence.report.protection import render_protection

    refuse_existing(output, overwrite)
    if models and (protectors or settings):
        raise UsageError("--model evaluates fitted models; --protector and --set fit new ones")
    data = _read(embeddings, attribute, labels, speakers)
    roles = Roles.split(data, attribute, seed=seed)
    fitted: dict[str, Any] = {}
    for folder in models:
        loaded = load_model(folder)
        _check_dimension(loaded, data, folder, embeddings)
        if loaded.attribute != attribute:
            raise InputError(f"conceals {loaded.attribute!r}, not {attribute!r}", path=folder)
        for part in (roles.attack, roles.test):
            assert part.speakers is not None
            seen = loaded.seen(sorted(set(part.speakers.tolist())))
            if seen:
                raise InputError(f"was trained on {len(seen)} of these speakers, among them {seen[0]!r}", path=folder)
        name = Path(folder).name
        if name in fitted:
            raise UsageError(f"two models are called {name!r}; expected different folder names")
        fitted[name] = loaded.protector
    for kind in () if models else protectors or _KINDS:
        made = _made(kind, settings if len(protectors) == 1 else (), seed)
        more: dict[str, Any] = {} if kind == "linear" else {"progress": progress_of(f"training {kind}", "epochs")}
        train = roles.train
        if kind == "flow" and keep:
            more["keep"] = labels_of(train, keep[0])
        fitted[kind] = made.fit(train.vectors, labels_of(train, attribute), speakers=train.speakers, **more)
    if settings and len(protectors) != 1:
        raise UsageError("--set: name the one --protector that it is for")
    rows = assess(
        fitted,
        roles,
        attribute,
        keep=keep,
        classifiers=classifiers or CLASSIFIERS,
        verification=not no_verification,
        mapped=mapped,
        options=Options(intervals=intervals, null=null, seed=seed),
        seed=seed,
        dataset=Path(embeddings).stem,
        progress=progress_of("attacking", "attacks"),
    )
    emit(render_protection(rows, output_format), output)


def _made(kind: str, settings: tuple[str, ...], seed: int, *, paper: bool = False) -> Any:
    from zeroevidence.protect.models import make_protector

    values: dict[str, Any] = {}
    for text in settings:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageError(f"--set {text}: expected NAME=VALUE")
        values[name] = _value(value)
    if kind != "linear":
        values.setdefault("random_state", seed)
    if paper:
        from zeroevidence.protect.flow import ZeroEvidenceFlow

        preset = ZeroEvidenceFlow.paper().get_params()
        values = {name: value for name, value in preset.items() if name != "random_state"} | values
    return make_protector(kind, values)


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _check_dimension(model: Any, data: Embeddings, folder: str, path: str) -> None:
    dimension = model.protector.n_features_in_
    if data.vectors.shape[1] != dimension:
        raise InputError(f"is for vectors of {dimension} entries; {path} has {data.vectors.shape[1]}", path=folder)


def _read(path: str, attribute: str, labels: str | None, speakers: str | None) -> Embeddings:
    """Embeddings with the attribute among their columns."""
    import numpy as np

    from zeroevidence.data.embeddings import Embeddings
    from zeroevidence.data.formats.vectors import read_embeddings, read_words

    data = read_embeddings(path, ids=speakers)
    if labels is None:
        return data
    words = read_words(labels)
    found = []
    for number, one in enumerate(data.ids):
        who = None if data.speakers is None else str(data.speakers[number])
        label = words.get(str(one), None if who is None else words.get(who))
        if label is None:
            raise InputError(f"no label for {str(one)!r}; expected its name or its speaker's", path=labels)
        found.append(label)
    return Embeddings(data.vectors, data.ids, data.speakers, {**data.attributes, attribute: np.array(found)})
