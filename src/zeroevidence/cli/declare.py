"""Options of commands, derived from the fields of the frozen dataclasses that they set.

`setting` makes a field with its help, default, range and choices. An option means the same in every command: the text
of its help up to the first semicolon is its meaning, which `SHARED` has for options of several commands, and what
follows are details of one command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import partial, wraps
from types import NoneType
from typing import Any, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

import click

from zeroevidence.cli.printing import echo, terminal_progress
from zeroevidence.run import Run, Step, setting

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

_NAME, _FILE, _FOLDER = {"metavar": "NAME"}, {"metavar": "FILE"}, {"metavar": "DIR"}
SHARED: dict[str, tuple[str, dict[str, Any]]] = {  # meanings, and what else the fields have
    "--output": ("Where to write the results", {"spelling": "-o --output"}),
    "--output-format": ("Format of the results; by the name of FILE unless given", {"spelling": "-f --output-format"}),
    "--overwrite": ("Replace existing output", {"default": False}),
    "--report": ("Where to write the HTML report", _FILE),
    "--signatures": ("Print the signature of each row below text tables", {"default": False}),
    "--verbose": ("Print more, and where the time went if that took long", {"default": False}),
    "--explain": ("Print what each measure means", {"default": False}),
    "--estimate": (
        "Show the values corrected for few people beside the values; JSON holds them anyway",
        {"default": False},
    ),
    "--hide-ids": ("Replace the names of people by numbers", {"default": False}),
    "--measure": ("Measure to report, may be repeated", _NAME),
    "--fail-if": ("Exit with code 1 if this condition holds", {"metavar": "CONDITION"}),
    "--key": ("File with the labels of the trials", {"metavar": "KEY"}),
    "--speakers": (
        "Speaker of each utterance, where the data do not name it: lines of `utterance speaker` (Kaldi utt2spk)",
        _FILE,
    ),
    "--system": ("Name of the system in the results", _NAME),
    "--corpus": ("Corpus of original speech", _FOLDER),
    "--anonymised": ("Folder with the same utterances as the original speech, anonymised", _FOLDER),
    "--extractor": ("Speaker encoder", _NAME),
    "--protector": ("Protector to fit", {}),
    "--keep": ("Further attribute that should survive", _NAME),
    "--seal": ("Ed25519 key of the seal of results, as PEM", {"metavar": "KEY"}),
    "--pitch": ("Compare the pitch of original and anonymised speech", {"default": False}),
    "--limit": ("Problems of each file to print, at most", {"least": 1, "default": 50}),
}


def shared(option: str, detail: str = "", **details: Any) -> Any:
    """Return a field that is set by an option of several commands.

    Parameters
    ----------
    option
        The option, one of `SHARED`.
    detail
        What the help says after the meaning.
    details
        Arguments of `setting`; the default is None unless given.
    """
    meaning, usual = SHARED[option]
    arguments = {"default": None, "spelling": option} | usual | details
    return setting(help=f"{meaning}; {detail}." if detail else f"{meaning}.", **arguments)


def shared_option(option: str, kind: type[Any], detail: str = "", **details: Any) -> Decorator:
    """Return a single option of several commands, whose values are of a kind; other arguments are as in `shared`."""
    return _option(shared(option, detail, **details), kind, "")


def option_group(name: str, make: Callable[..., Any], *options: Decorator) -> Decorator:
    """Return a decorator that adds options to a command and passes their values on as one.

    Parameters
    ----------
    name
        Parameter of the command that receives the value.
    make
        Makes the value from the options' values.
    options
        Decorators of single options.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*args: Any, **values: Any) -> Any:
            group_values = {option: values.pop(option) for option in option_names}
            return function(*args, **{name: make(**group_values)}, **values)

        count = len(_declared(command))
        for option in reversed(options):
            option(command)
        option_names = [str(parameter.name) for parameter in _declared(command)[count:]]
        return command

    return decorate


def _declared(function: Callable[..., Any]) -> list[click.Parameter]:
    """Return the parameters that click has recorded on a function so far."""
    parameters: list[click.Parameter] = getattr(function, "__click_params__", [])
    return parameters


def options_of(
    owner: type[Any], name: str, *names: str, fixed: Mapping[str, Any] | None = None, **changes: Any
) -> Decorator:
    """Return a decorator that adds an option for each field of a dataclass, and passes an instance on.

    Parameters
    ----------
    owner
        The dataclass; a field that is a dataclass, too, stands for its fields.
    name
        Parameter of the command that receives the instance.
    names
        Fields that have options; all that `setting` made unless given.
    fixed
        Values of other fields.
    changes
        By the name of a field what its help says after the meaning, or arguments of `click.option`.
    """
    settings = [(field, hint) for field, hint in _settings(owner) if not names or field.name in names]
    options = (_option(field, hint, changes.get(field.name, "")) for field, hint in settings)
    return option_group(name, lambda **values: _make(owner, values, fixed or {}), *options)


def run_options(*names: str, **changes: Any) -> Decorator:
    """Return the options of fields of `Run`, passed on as `run` with progress and messages of the terminal.

    Parameters
    ----------
    names
        The fields; ``verbose`` adds the option of commands that have nothing else to say more about.
    changes
        As in `options_of`.
    """
    chosen = ((field, hint) for field, hint in _settings(Run) if field.name in names)
    options = [_option(field, hint, changes.get(field.name, "")) for field, hint in chosen]
    options += [shared_option("--verbose", bool)] if "verbose" in names else []

    def make(**values: Any) -> Run:
        progress: Callable[[str, str], Step] = terminal_progress
        if click.get_current_context().params.get("verbose"):
            from zeroevidence.cli.stages import timed_progress  # imports what small commands do without

            progress = timed_progress()
        return cast(Run, _make(Run, values, {"progress": progress, "say": partial(echo, err=True)}))

    return option_group("run", make, *options)


def assignments(name: str, owner: type[Any], text: str, leave_out: Sequence[str] = ()) -> Decorator:
    """Return a decorator that adds one option NAME=VALUE for the fields of a dataclass, and passes an instance on.

    Parameters
    ----------
    name
        Name of the option and of the parameter.
    owner
        The dataclass.
    text
        Help of the option; the names of the fields follow.
    leave_out
        Fields that cannot be set by it.
    """
    kinds = {field.name: _value_type(field, hint) for field, hint in _settings(owner) if field.name not in leave_out}

    def convert(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> Any:
        values = {}
        for assignment in texts:
            setting_name, _, value = assignment.partition("=")
            if setting_name not in kinds:
                raise click.BadParameter(f"{assignment!r}: expected NAME=VALUE with NAME one of {', '.join(kinds)}.")
            values[setting_name] = kinds[setting_name].convert(value, parameter, context)
        return owner(**values)

    return click.option(
        f"--{name}", multiple=True, metavar="NAME=VALUE", callback=convert, help=f"{text}: {', '.join(kinds)}."
    )


def _settings(owner: type[Any]) -> Iterator[tuple[Field[Any], Any]]:
    """Yield the fields that `setting` made with their types, those of fields that are dataclasses among them."""
    hints = get_type_hints(owner)
    for field in fields(owner):
        if "help" in field.metadata:
            yield field, hints[field.name]
        elif is_dataclass(hints[field.name]):
            yield from _settings(hints[field.name])


def _make(owner: type[Any], values: Mapping[str, Any], fixed: Mapping[str, Any]) -> Any:
    """Return an instance of a dataclass from the values of options, some of which are of its fields."""
    hints, arguments = get_type_hints(owner), dict(fixed)
    for field in fields(owner):
        if "help" not in field.metadata and is_dataclass(hints[field.name]):
            arguments[field.name] = _make(hints[field.name], values, {})
        elif "help" in field.metadata and _value_name(field) in values:
            value, parse = values[_value_name(field)], field.metadata.get("parse")
            arguments[field.name] = value if parse is None or value is None else parse(value)
    return owner(**arguments)


def _spellings(field: Field[Any]) -> list[str]:
    return (field.metadata.get("spelling") or f"--{field.name.replace('_', '-')}").split()


def _value_name(field: Field[Any]) -> str:
    """Return what click calls the value, made of the option: fields of several dataclasses may have the same name."""
    return _spellings(field)[-1].lstrip("-").replace("-", "_")


def _option(field: Field[Any], hint: Any, change: str | dict[str, Any]) -> Decorator:
    """Return the option, or the argument, that sets a field."""
    details, default = field.metadata, field.default
    several = isinstance(default, tuple) or get_origin(_some(hint)) is tuple
    required = default is MISSING
    if details.get("argument"):
        count = -1 if several else 1
        return click.argument(_value_name(field), metavar=details["metavar"], nargs=count, required=required)
    meaning = details["help"].partition(";")[0].removesuffix(".")
    changes = {"help": f"{meaning}; {change}."} if isinstance(change, str) else change
    settings: dict[str, Any] = {"help": details["help"]} | ({} if default in (None, MISSING) else {"default": default})
    if _some(hint) is bool:
        settings["is_flag"] = True
    else:
        shown = details.get("default_text") or default not in (None, MISSING, ())
        settings |= {"type": _value_type(field, hint), "metavar": details.get("metavar"), "show_default": shown}
        settings |= {"multiple": several, "required": required}
        if "optional" in details:
            settings |= {"is_flag": False, "flag_value": details["optional"]}
    return click.option(*_spellings(field), _value_name(field), **(settings | (changes if change else {})))


def _some(hint: Any) -> Any:
    """Return a type without None."""
    return next(kind for kind in get_args(hint) if kind is not NoneType) if NoneType in get_args(hint) else hint


def _value_type(field: Field[Any], hint: Any) -> click.ParamType[Any]:
    """Return the type of a field, or of each of its values, as click checks it."""
    kind = _some(hint)
    if get_origin(kind) is tuple:
        kind = get_args(kind)[0]
    choices = field.metadata.get("choices") or (get_args(kind) if get_origin(kind) is Literal else ())
    if choices:
        return click.Choice(list(map(str, choices() if callable(choices) else choices)))
    least, above, most, below = (field.metadata.get(key) for key in ("least", "above", "most", "below"))
    if (least, above, most, below) == (None,) * 4:
        return click.types.convert_type(kind if kind in (int, float) else str)
    ranged = click.IntRange if kind is int else click.FloatRange
    lowest, highest = above if least is None else least, below if most is None else most
    return ranged(min=lowest, max=highest, min_open=above is not None, max_open=below is not None)
