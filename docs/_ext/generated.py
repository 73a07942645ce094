"""Parts of pages that are made from the package when the pages are built, so that no page repeats what the code says.

``<!-- generated: NAME -->`` on a page becomes what `GENERATORS` has by that name. On the pages of `measures`, a heading
that is the name of a measure is followed by what the registry knows about it; `measure_pages` says which page that is.
"""

from __future__ import annotations

import ast
import csv
import fnmatch
import importlib
import inspect
import re
import signal
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zeroevidence
from zeroevidence import errors
from zeroevidence.attack.attackers import ATTACKERS
from zeroevidence.attack.backends import BACKENDS
from zeroevidence.cli import cli
from zeroevidence.cli.commands.metrics import direction
from zeroevidence.measure.measures import MEASURES, Measure
from zeroevidence.plot import KINDS
from zeroevidence.report.bibliography import bibtex_entries, sentence

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
EXAMPLES = DOCS.parent / "examples"
PACKAGES = ("zeroevidence", "zeroevidence.plot", "zeroevidence.protect", "zeroevidence.scorers")
TRAINING_METRICS = "zeroevidence.contrib.torchmetrics"  # read as a file, since it needs an optional part
_ESTIMATE = "; `--estimate` adds the value corrected for few people"
_MEASURE = re.compile(r"^## `(\w+)`$", re.MULTILINE)
_EVALUATE = "zeroevidence evaluate SCORES --key KEY"
_TANDEM = "zeroevidence tandem evaluate --cm SCORES --key KEY --asv SCORES --asv-key KEY"
_UTILITY = "zeroevidence utility"
_COMMANDS = {
    "one-to-one": _EVALUATE,
    "search": f"{_EVALUATE} --dev SCORES --dev-key KEY",
    "speakers": f"{_EVALUATE} --per-speaker people.csv",
    "tandem": _TANDEM,
    "attribute": "zeroevidence protect evaluate EMBEDDINGS --attribute NAME",
    "similarity": "zeroevidence evaluate FOLDER",
}
_COMMANDS_OF_MEASURES = {  # names of measures, as patterns, whose command is not that of their family
    "d_ece_*": f"{_EVALUATE} --dev SCORES --dev-key KEY",
    "cm_*": "zeroevidence tandem evaluate --cm SCORES --key KEY",
    "tdcf_act": f"{_TANDEM} --cm-threshold T",
    "tdcf_errors": f"{_TANDEM} --cm-threshold T",
    "adcf_min": "zeroevidence tandem evaluate --sasv SCORES --preset adcf",
    "s*_eer": "zeroevidence tandem evaluate --sasv SCORES --preset adcf",
    "[wc]er*": f"{_UTILITY} --transcripts text --hypotheses hyp --speakers utt2spk",
    "uar": f"{_UTILITY} --emotions utt2emo --recognised hyp_emo --speakers utt2spk",
    "recall": f"{_UTILITY} --emotions utt2emo --recognised hyp_emo --speakers utt2spk",
    "length_difference": f"{_UTILITY} --corpus original/ --anonymised anonymised/",
    "pitch_correlation": f"{_UTILITY} --corpus original/ --anonymised anonymised/ --pitch",
    "mos*": "zeroevidence audit original/ --anonymised anonymised/",
}
_CALLS_OF_MEASURES = {
    "eer_rocch": 'ze.eer(target, nontarget, method="rocch")',
    "elub_*": "ze.elub(target, nontarget)",
    "invariance_*": "ze.invariance_bounds(target, nontarget)",
    "misleading_*": "ze.misleading_evidence(target, nontarget)",
}
_RESULTS = {
    "one-to-one": "ze.evaluate(...)",
    "search": "ze.evaluate(...)",
    "tandem": "ze.evaluate_tandem(...)[0]",
    "attribute": "ze.protect.assess(...)[0]",
}


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


@cache
def measure_pages() -> dict[str, str]:
    """The page of each measure: the one with its heading."""
    pages = sorted((DOCS / "measures").glob("*.md"))
    return {name: page.name for page in pages for name in _MEASURE.findall(page.read_text(encoding="utf-8"))}


def describe_measure(name: str) -> str:
    """Meaning, unit, range, direction, how to get it and references of a measure."""
    measure = MEASURES[name]
    lines = [("command", f"`{_command(measure)}`" + (_ESTIMATE if measure.estimated else ""))]
    if calls := _python(measure):
        lines.append(("Python", ", ".join(f"`{call}`" for call in calls)))
    references = " ".join(sentence(bibtex_entries()[key]) for key in measure.references)
    lines.append(("reference", f"{references} (`zeroevidence cite {name}`)"))
    head = (measure.title, f"{measure.unit}, {measure.range}; {direction(measure)}")
    lines += [(f"`{category}`", description) for category, description in (measure.categories or {}).items()]
    return f"{measure.meaning}\n\n{table(head, lines)}"


def _command(measure: Measure) -> str:
    if measure.unit == "log10 LR" and measure.discloses == "none":  # of calibrated LLRs only
        return f"{_EVALUATE} --calibrate DEV --calibrate-key KEY"
    patterns = (pattern for pattern in _COMMANDS_OF_MEASURES if fnmatch.fnmatch(measure.name, pattern))
    pattern = next(patterns, None)
    return _COMMANDS[measure.family] if pattern is None else _COMMANDS_OF_MEASURES[pattern]


def _python(measure: Measure) -> list[str]:
    """Calls that give the measure: of arrays where there is a public function, and of a result."""
    calls = [call for pattern, call in _CALLS_OF_MEASURES.items() if fnmatch.fnmatch(measure.name, pattern)]
    if measure.name in zeroevidence.__all__:
        parameters = inspect.signature(getattr(zeroevidence, measure.name)).parameters.values()
        needed = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
        calls.append(f"ze.{measure.name}({', '.join(needed)})")
    if measure.family in _RESULTS:
        calls.append(f'{_RESULTS[measure.family]}["{measure.name}"]')
    return calls


def list_measures() -> str:
    """A table of measures for each page, below the page's title and its question."""
    pages, tables = measure_pages(), []
    for page in dict.fromkeys(pages[name] for name in MEASURES if name in pages):
        title, _, question, *_ = (DOCS / "measures" / page).read_text(encoding="utf-8").splitlines()
        lines = [
            (f"[{measure.title}]({page}#{name})", f"`{name}`", measure.unit, measure.range, direction(measure))
            for name, measure in MEASURES.items()
            if pages.get(name) == page
        ]
        head = ("measure", "name", "unit", "range", "direction")
        heading = f"## [{title.removeprefix('# ')}]({page})"
        tables.append(f"{heading}\n\n{question}\n\n{table(head, lines)}")
    return "\n\n".join(tables)


def public_names() -> dict[str, dict[str, str]]:
    """Public names of each package, with the first line of their documentation."""
    names = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        names[package] = {name: _first_line(getattr(module, name)) for name in module.__all__}
    tree = ast.parse(_source(TRAINING_METRICS).read_text(encoding="utf-8"))
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    names[TRAINING_METRICS] = {node.name: (ast.get_docstring(node) or "").partition("\n")[0] for node in classes}
    return names


def _source(module: str) -> Path:
    return Path(zeroevidence.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")


def _first_line(value: Any) -> str:
    documented = inspect.ismodule(value) or callable(value)
    return (inspect.getdoc(value) or "").partition("\n")[0] if documented else "A constant."


def public_interface() -> list[str]:
    """Everything that is public, a line each: names, commands, exit codes, schemas of files."""
    names = [f"{package}.{name}" for package, names in public_names().items() for name in names]
    commands = [f"zeroevidence {name}" for name in command_summaries()]
    return sorted([*names, *commands, *(f"exit code {code}" for code in exit_codes()), *file_schemas()])


def list_public_names() -> str:
    """A table for each package."""
    return "\n\n".join(
        f"## `{package}`\n\n{table(('name', 'is'), ((f'`{name}`', line) for name, line in names.items()))}"
        for package, names in public_names().items()
    )


def command_summaries() -> dict[str, str]:
    """Commands with their summaries."""
    context = cli.make_context("zeroevidence", [], resilient_parsing=True)
    summaries = {}
    for name in cli.list_commands(context):
        module = importlib.import_module(f"{cli.package}.{name.replace('-', '_')}")
        summaries[name] = (module.__doc__ or "").partition("\n")[0]
    return summaries


def exit_codes() -> dict[int, str]:
    """Exit codes, each with what it says."""
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    kinds = [kind for kind in classes if isinstance(vars(kind).get("exit_code"), int)]
    raised = {kind.exit_code: (inspect.getdoc(kind) or "").partition("\n")[0] for kind in kinds}
    signals = {128 + number: f"Ended by {number.name}." for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    return {0: "Done.", 1: "A condition of `--fail-if` holds.", **dict(sorted(raised.items())), **signals}


def file_schemas() -> dict[str, str]:
    """Schemas of files, each with the docstring of the module that writes it."""
    home = Path(zeroevidence.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(home.rglob("*.py"))}
    schemas = ((path, re.search(r'^SCHEMA = "(.+)"', text, re.MULTILINE)) for path, text in texts.items())
    return {match[1]: ast.get_docstring(ast.parse(texts[path])) or "" for path, match in schemas if match}


def list_commands() -> str:
    """Tables of commands, exit codes and schemas."""
    commands = ((f"`{name}`", summary) for name, summary in command_summaries().items())
    codes = ((str(code), words) for code, words in exit_codes().items())
    files = ((f"`{schema}`", text.partition("\n")[0]) for schema, text in file_schemas().items())
    tables = (table(("command", "does"), commands), table(("exit code", "says"), codes))
    return "\n\n".join((*tables, table(("schema of a file", "is of"), files)))


def list_terms() -> str:
    """Threat models, back-ends and measures as entries of a glossary."""
    attackers = {f"{entry.name} (attacker)": f"An attacker who {entry.title}." for entry in ATTACKERS.values()}
    backends = {f"{entry.name} (back-end)": f"{entry.title}." for entry in BACKENDS.values()}
    measures = {
        MEASURES[name].title: f"[`{name}`](measures/{page}#{name}): {MEASURES[name].meaning}"
        for name, page in measure_pages().items()
    }
    entries = sorted((attackers | backends | measures).items(), key=lambda entry: entry[0].lower())
    terms = "\n\n".join(f"{term}\n  {meaning}" for term, meaning in entries)
    return f"```{{glossary}}\n{terms}\n```"


def show_gallery() -> str:
    """A section for each example: its docstring, and the figures and tables that it writes, in its order."""
    return "\n\n".join(_show_example(path) for path in sorted(EXAMPLES.glob("[!_]*.py")))


def _show_example(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    summary, _, words = (ast.get_docstring(tree) or path.stem).partition("\n\n")
    title, _, content = summary.partition(": ")
    parts = [f"## {title}", f"{content[:1].upper()}{content[1:]}", words]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    for call in sorted(calls, key=lambda call: call.lineno):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("figure", "table"):
            parts += _show_files(call)
    return "\n\n".join(part for part in parts if part)


def _show_files(call: ast.Call) -> list[str]:
    """The files that a call of `Sheet.figure` or `Sheet.table` writes, below their names."""
    name, second, *_ = call.args
    pieces = name.values if isinstance(name, ast.JoinedStr) else [name]
    pattern = "".join(str(piece.value) if isinstance(piece, ast.Constant) else "*" for piece in pieces)
    figures, tables = (sorted((DOCS / "gallery").glob(f"{pattern}.{ending}")) for ending in ("svg", "md"))
    names = ", ".join(f"`{path.stem}`" for path in figures + tables)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "table":
        return [f"{names}:", *(f"```{{include}} gallery/{path.name}\n```" for path in tables)]
    kind = KINDS[ast.literal_eval(second)]
    images = (f"![{kind.title}](gallery/{path.name})" for path in figures)
    return [f"{names} (kind `{kind.name}`): {kind.caption}", *images]


def validity_results() -> list[dict[str, str]]:
    """The lines of the table that `benchmarks/validity.py` wrote."""
    with (DOCS / "validity-results.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _shares(
    statistic: str, *, part: str = "", designs: Sequence[str] = (), measure: str = "", more: str = ""
) -> list[float]:
    """Numbers of the table of validity, in per cent, of cells that nothing was chosen on."""
    asked = {"part": part, "measure": measure, "more": more, "statistic": statistic, "held_out": "True"}
    return [
        100.0 * float(line["value"])
        for line in validity_results()
        if all(line[name] == value for name, value in asked.items() if value)
        and (line["design"] in designs or not designs)
    ]


def answer_validity() -> str:
    """What the table of validity says about each question."""
    seen, talkative = ("graded", "reluctant", "half"), ("talkative",)
    held = [*_shares("coverage", part="intervals", designs=seen), *_shares("coverage", part="lists", designs=seen)]
    share_limits = [value for name in ("low_safe", "high_safe", "safe") for value in _shares(name, part="named")]
    found, possible = (_shares(name, part="list_tests", measure="little") for name in ("rejected", "possible"))
    told, tellable = (_shares(name, part="compared", more="1.35") for name in ("pairs", "possible"))
    equal = [*_shares("pairs", part="compared", more="1.0"), *_shares("tables", part="compared", more="6")]
    bounds, unseen = (min(_shares(name, designs=talkative)) for name in ("safe", "safe_unseen"))
    adjusted, plain, named = (max(_shares(name)) for name in ("any adjusted", "any plain", "leak or named"))
    listed = max(_shares("rejected", part="list_tests", measure="nothing"))
    lists = ", ".join(f"{share:.0f} (possible {most:.0f})" for share, most in zip(found, possible, strict=True))
    middle = sorted(held)[len(held) // 2]
    lines = {
        "intervals hold where every kind of person was seen": f"at least {min(held):.0f}, mostly {middle:.0f}",
        "bounds hold where people who speak more are more exposed": f"at least {bounds:.0f}",
        "the same in samples without a talkative person": f"at least {unseen:.0f}",
        "limits of shares of people hold, with 2 to 10 recordings each": f"at least {min(share_limits):.0f}",
        "nothing leaks, some p-value of a table is at most 0.05": f"at most {adjusted:.1f} (not adjusted: {plain:.0f})",
        "nothing leaks, the verdict says that something does, or names people": f"at most {named:.1f}",
        "nothing leaks, a list is called a leak": f"at most {listed:.1f}",
        "a list of 12, 30, 100 people that tells a little is found": lists,
        "two systems are told apart": f"{min(told):.0f} to {max(told):.0f} (possible {min(tellable):.0f} to "
        f"{max(tellable):.0f})",
        "systems of equal truth are called different": f"at most {max(equal):.1f}",
    }
    return table(("of 100 simulations", "times"), lines.items())


def summarise_validity() -> str:
    """How often intervals and bounds of each measure hold in designs that nothing was chosen on, and their length."""
    values: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for line in validity_results():
        if line["held_out"] == "True" and line["part"] != "compared":
            design = f"{line['design']} {line['people']} x {line['recordings']}"
            numbers = values.setdefault(line["measure"], {}).setdefault(line["statistic"], [])
            numbers.append((float(line["value"]), design))

    def lowest(measured: dict[str, list[tuple[float, str]]], statistic: str) -> str:
        value, design = min(measured.get(statistic, [(float("nan"), "")]))
        return f"{100 * value:.0f} ({design})" if design else ""

    lines = []
    for name, measured in values.items():
        if "coverage" in measured or "safe" in measured:
            title = MEASURES[name].title if name in MEASURES else name
            held = sorted(value for value, _ in measured.get("coverage", []))
            lengths = sorted(value for value, _ in measured.get("relative_length", []))
            length = f"{lengths[len(lengths) // 2]:.1f}" if lengths else ""
            middle = f"{100 * held[len(held) // 2]:.0f}" if held else ""
            lines.append((title, middle, lowest(measured, "coverage"), length, lowest(measured, "safe")))
    return table(("measure", "interval holds [%]", "lowest", "length", "bound holds [%], lowest"), lines)


GENERATORS: dict[str, Callable[[], str]] = {
    "measures": list_measures,
    "public names": list_public_names,
    "commands": list_commands,
    "terms": list_terms,
    "gallery": show_gallery,
    "validity": summarise_validity,
    "answers": answer_validity,
}


def fill_page(docname: str, text: str) -> str:
    """The text of a page with its generated parts."""
    if docname.startswith("measures/"):
        text = _MEASURE.sub(lambda heading: f"{heading[0]}\n\n{describe_measure(heading[1])}", text)
    return re.sub(r"<!-- generated: (.+?) -->", lambda place: GENERATORS[place[1]](), text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill pages when they are read."""

    def fill(_app: Sphinx, docname: str, source: list[str]) -> None:
        source[0] = fill_page(docname, source[0])

    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
