"""Options as values: help, choices and defaults come from the types and registries, and bad values are refused."""

import subprocess
import sys
from dataclasses import fields
from typing import get_args

import click
import pytest

from tests.effort import slow
from zeroevidence.attack.attackers import ATTACKERS, usual_attackers
from zeroevidence.attack.extractors import EXTRACTORS
from zeroevidence.attack.ladder import EFFORTS
from zeroevidence.calibrate.rows import CalibrationMethod
from zeroevidence.cli import cli
from zeroevidence.cli.options.declare import derived_option, field_default, option_group
from zeroevidence.data.formats.scores.score_format import format_names
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.tandem import evaluate_tandem
from zeroevidence.measure.tandem.cost import PRESETS
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.report.inputs import DOCUMENT_FORMATS
from zeroevidence.run import Run


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
    listing = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(listing.rpartition("loaded:")[2].split())


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
        assert option(tandem, name).default == field_default(evaluate_tandem, parameter)
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


def test_a_group_of_options_becomes_one_value():
    options = option_group(
        "options", Options, derived_option(Options, "intervals"), derived_option(Options, "balanced")
    )

    @click.command()
    @click.argument("first")
    @options
    @click.option("--last", is_flag=True)
    def command(first, options, last):
        return first, options, last

    assert [one.name for one in command.params] == ["first", "intervals", "balanced", "last"]
    assert command.main(["x"], standalone_mode=False) == ("x", Options(), False)
    given = command.main(["x", "--intervals", "7", "--balanced", "--last"], standalone_mode=False)
    assert given == ("x", Options(intervals=7, balanced=True), True)
    with pytest.raises(UsageError, match="intervals"):
        command.main(["x", "--intervals", "-7"], standalone_mode=False)
