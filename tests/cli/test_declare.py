"""Options derived from fields: help, choices, defaults and checks are those of the fields, and each has one meaning."""

from collections import defaultdict
from dataclasses import MISSING, dataclass, fields
from inspect import signature
from typing import Literal, get_args

import click
import pytest

from tests.effort import slow
from tests.programs import printed_by
from zeroevidence.attack.attackers import ATTACKERS, usual_attackers
from zeroevidence.attack.extractors import EXTRACTORS
from zeroevidence.attack.ladder import EFFORTS
from zeroevidence.calibrate.rows import CalibrationMethod
from zeroevidence.cli import cli
from zeroevidence.cli.declare import SHARED, options_of, run_options, shared
from zeroevidence.cli.printing import terminal_progress
from zeroevidence.data.formats.scores.score_format import format_names
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.tandem import evaluate_tandem
from zeroevidence.measure.tandem.cost import PRESETS
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.report.inputs import DOCUMENT_FORMATS
from zeroevidence.run import Run, setting


def found(*path):
    """The command behind some words."""
    command = cli
    for word in path:
        command = command.get_command(click.Context(command), word)
    return command


MEASURING = [("evaluate",), ("compare",), ("report",), ("audit",), ("protect", "evaluate")]
CHOICES = [
    (("evaluate",), "--input-format", format_names()),
    (("evaluate",), "--calibration", get_args(CalibrationMethod)),
    (("report",), "--output-format", DOCUMENT_FORMATS),
    (("audit",), "--attacker", ATTACKERS),
    (("audit",), "--effort", EFFORTS),
    (("tandem", "evaluate"), "--preset", PRESETS),
    (("tandem", "check"), "--input-format", format_names("cm", "asv")),
    (("protect", "fit"), "--protector", ATTRIBUTE_PROTECTORS),
]


def loaded_by_help(*path):
    """The modules that are loaded after a command's help; one whose code has not run is not loaded."""
    code = (
        "import sys\nfrom zeroevidence.cli import lazy, main\n"
        f"try:\n    main({[*path, '--help']!r})\nexcept SystemExit:\n"
        "    deferred = [name for name, module in sys.modules.items() if type(module) is lazy._DeferredModule]\n"
        "    print('\\nloaded:', *(set(sys.modules) - set(deferred)))"
    )
    return set(printed_by(code).rpartition("loaded:")[2].split())


def option(command, name):
    return next(one for one in command.params if name in one.opts)


@pytest.mark.parametrize(("path", "name", "choices"), CHOICES, ids=lambda one: one if isinstance(one, str) else None)
def test_choices_are_those_of_the_package(path, name, choices):
    assert tuple(option(found(*path), name).type.choices) == tuple(choices)


def test_extractors_are_named_in_the_help_of_an_audit(run):
    shown = " ".join(run("audit", "--help")[1].split())
    for family in EXTRACTORS.values():
        for form in family.forms:
            assert form in shown


@pytest.mark.parametrize("path", MEASURING, ids=" ".join)
def test_defaults_are_those_of_options(path):
    usual = {field.name: getattr(owner, field.name) for owner in (Options(), Run()) for field in fields(owner)}
    defaults = {option.name: option.default for option in found(*path).params if usual.get(option.name) is not None}
    assert {"intervals", "seed"} <= set(defaults)
    assert defaults == {name: usual[name] for name in defaults}


def test_other_defaults_are_those_of_their_functions():
    tandem = found("tandem", "evaluate")
    for name, parameter in (("--intervals", "intervals"), ("--preset", "model")):
        assert option(tandem, name).default == signature(evaluate_tandem).parameters[parameter].default
    assert list(option(found("audit"), "--attacker").default) == usual_attackers()
    for path in (("link",), ("plan",), ("utility",), ("tandem", "evaluate")):
        assert option(found(*path), "--level").default == Run().level


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("--dcf-prior", "1"), ("--ddof", "2"), ("--l2", "-1"), ("--null", "-5"), ("--calibration", "magic")),
        *(("--workers", "0"), ("--intervals", "many"), ("--level", "95"), ("--seed", "-1")),
    ],
)
def test_bad_ways_to_measure_are_wrong_usage(run, name, value):
    code, out, err = run("evaluate", "nothing", name, value)
    assert (code, out) == (2, "")
    assert value in err


HEAVY = {"numpy", "scipy", "sklearn", "polars", "torch", "matplotlib", "rich"}


@pytest.mark.parametrize(
    ("path", "avoided"),
    [
        ((), HEAVY),
        pytest.param(("serve",), HEAVY, marks=slow),
        (("protect", "evaluate"), {"torch", "matplotlib", "jinja2", "starlette"}),
    ],
)
def test_help_imports_nothing_heavy_that_it_does_not_need(path, avoided):
    loaded = loaded_by_help(*path)
    assert "zeroevidence.cli" in loaded
    assert not avoided & loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    names: tuple[str, ...] = setting((), "Names, may be repeated.", spelling="--name")
    number: int | None = setting(None, "A number.", least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    first: str = setting(MISSING, "", argument=True, metavar="FIRST")
    nested: Nested
    kind: Literal["a", "b"] = setting("a", "A kind.")
    share: float = setting(0.5, "A share.", above=0, below=1)
    squared: int = setting(2, "A square.", parse=lambda number: number**2)
    output: str = shared("--output", "a folder", default=MISSING, metavar="OUT")


@pytest.fixture
def made():
    @click.command()
    @options_of(Own, "own", "first", "names", "number", "kind", "squared", "output", number="of people")
    @options_of(Options, "options", "intervals", "balanced", fixed={"null": 0})
    @run_options("level", "cores")
    def body(own, options, run):
        return own, options, run

    return body


def test_fields_become_options_and_one_value(made):
    own, options, run = made.main(["x", "-o", "out", "--name", "n", "--name", "m"], standalone_mode=False)
    assert own == Own(first="x", nested=Nested(names=("n", "m")), squared=4, output="out")
    assert options == Options(null=0)
    assert run.cores is None
    assert run.progress is terminal_progress
    given = ["x", "-o", "out", "--number", "3", "--kind", "b", "--balanced", "--workers", "2", "--level", "0.9"]
    own, options, run = made.main(given, standalone_mode=False)
    assert (own.nested.number, own.kind, options.balanced) == (3, "b", True)
    assert (run.cores, run.level) == (2, 0.9)


def test_a_run_without_options():
    @click.command()
    @run_options()
    def body(run):
        return run

    assert not body.params
    assert body.main([], standalone_mode=False).progress is terminal_progress


def test_help_is_that_of_the_fields(made):
    texts = {option.opts[-1]: option.help for option in made.params if isinstance(option, click.Option)}
    assert texts["--number"] == "A number; of people."
    assert texts["--output"] == "Where to write the results; a folder."
    assert "--share" not in texts
    assert option(made, "--kind").type.choices == ("a", "b")


def test_what_an_object_refuses_is_refused(made):
    with pytest.raises(UsageError, match="intervals"):
        made.main(["x", "-o", "out", "--intervals", "-7"], standalone_mode=False)
    with pytest.raises(click.MissingParameter):
        made.main(["x"], standalone_mode=False)


def commands(command=cli, path=()):
    """Every command with its path, groups included."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands(command.get_command(click.Context(command), name), (*path, name))


COMMANDS = dict(commands())
OPTIONS = defaultdict(dict)  # spelling: {path: option}
for path, command in COMMANDS.items():
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            for spelling in parameter.opts:
                OPTIONS[spelling][path] = parameter


def meaning(option):
    """The help up to the first semicolon, without defaults."""
    return option.help.partition(";")[0].partition(" [default")[0].rstrip(".")


def test_an_option_has_one_meaning_and_takes_values_in_one_way():
    for spelling, options in OPTIONS.items():
        assert len({meaning(option) for option in options.values()}) == 1, spelling
        assert len({(option.is_flag, *option.opts) for option in options.values()}) == 1, spelling


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_what_each_option_means(run, path):
    code, out, err = run(*path, "--help")
    text = "".join(out.split())
    assert (code, err) == (0, "")
    assert out.startswith("Usage: zeroevidence")
    for parameter in COMMANDS[path].params:
        if isinstance(parameter, click.Option):
            assert "".join(parameter.help.split()) in text


def test_shared_options_are_used_by_several_commands_and_with_their_meaning():
    for spelling, (text, _) in SHARED.items():
        assert len(OPTIONS[spelling]) > 1, spelling
        assert {meaning(use) for use in OPTIONS[spelling].values()} == {text.partition(";")[0]}


def test_what_writes_files_has_overwrite():
    writing = {path for spelling in ("-o", "--report", "--per-trial", "--files") for path in OPTIONS[spelling]}
    assert set(OPTIONS["--overwrite"]) == {*writing, ("models", "add")}
