"""Options that belong together: a command gets one checked value for them instead of a parameter for each.

Choices and defaults are read from the function or dataclass that an option is for, so that both say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from functools import wraps
from inspect import signature
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import click

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def grouped(name: str, make: Callable[..., Any], *options: Decorator) -> Decorator:
    """A decorator that adds options to a command, and hands over what `make` makes of them as the parameter `name`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*args: Any, **given: Any) -> Any:
            own = {one: given.pop(one) for one in names}
            return function(*args, **{name: make(**own)}, **given)

        before = len(_parameters(command))
        for option in reversed(options):
            option(command)
        names = [str(parameter.name) for parameter in _parameters(command)[before:]]
        return command

    return decorate


def _parameters(function: Callable[..., Any]) -> list[click.Parameter]:
    """What click has noted on a function so far."""
    found: list[click.Parameter] = getattr(function, "__click_params__", [])
    return found


def field_default(owner: Callable[..., Any], name: str) -> Any:
    """The default of a parameter of a function, or of a field of a dataclass."""
    return signature(owner).parameters[name].default


def setting(
    owner: Callable[..., Any], name: str, *declarations: str, choices: Sequence[str] | None = None, **words: Any
) -> Decorator:
    """The option of one parameter or field: its default and, where its type says so, its choices.

    Parameters
    ----------
    owner, name
        The function or dataclass, and which of its parameters or fields.
    declarations
        Names of the option; made of `name` unless given.
    choices
        What a registry lists, for a field that is any text to its type.
    words
        Further arguments of `click.option`.
    """
    default = field_default(owner, name)
    if default is False:
        words |= {"is_flag": True, "default": False}
    else:
        words |= {"default": default, "show_default": True}
        if "type" not in words:
            found = choices or (_choices(owner, name) if isinstance(default, str) else ())
            words["type"] = click.Choice(found) if found else type(default)
    return click.option(*(declarations or (f"--{name.replace('_', '-')}", name)), **words)


def settings_options(name: str, owner: type[Any]) -> Decorator:
    """Return a decorator that adds an option for each field of a dataclass, and passes an instance as `name`.

    The metadata of each field are its `help`, `choices`, range (`least`, `above`, `below`) and `default_text`.
    """
    return grouped(
        name,
        owner,
        *(
            click.option(
                f"--{field.name.replace('_', '-')}",
                type=_field_type(owner, field),
                default=field.default,
                show_default=field.metadata["default_text"] or True,
                help=field.metadata["help"],
            )
            for field in fields(owner)
        ),
    )


def assignments_option(name: str, owner: type[Any], *, leave_out: Sequence[str] = (), text: str) -> Decorator:
    """Return a decorator that adds one option NAME=VALUE for the fields of a dataclass, and passes an instance.

    Parameters
    ----------
    name
        Name of the option and of the parameter.
    owner
        The dataclass, with metadata as in `settings_options`.
    leave_out
        Fields that cannot be set by it.
    text
        Help of the option; the names of the fields follow.
    """
    kinds = {field.name: _field_type(owner, field) for field in fields(owner) if field.name not in leave_out}

    def convert(context: click.Context, parameter: click.Parameter, assignments: tuple[str, ...]) -> Any:
        values = {}
        for assignment in assignments:
            setting_name, _, value = assignment.partition("=")
            if setting_name not in kinds:
                raise click.BadParameter(f"{assignment!r}: expected NAME=VALUE with NAME one of {', '.join(kinds)}.")
            values[setting_name] = kinds[setting_name].convert(value, parameter, context)
        return owner(**values)

    return click.option(
        f"--{name}", multiple=True, metavar="NAME=VALUE", callback=convert, help=f"{text}: {', '.join(kinds)}."
    )


def _field_type(owner: type[Any], field: Field[Any]) -> click.ParamType:
    """Return the type of a field as click checks it."""
    choices, least, above, below = (field.metadata[key] for key in ("choices", "least", "above", "below"))
    if choices:
        return click.Choice(choices)
    ranged = click.IntRange if get_type_hints(owner)[field.name] is int else click.FloatRange
    lowest = above if least is None else least
    return ranged(min=lowest, min_open=above is not None, max=below, max_open=below is not None)


def _choices(owner: Callable[..., Any], name: str) -> tuple[str, ...]:
    """The values of a type that is a choice between words."""
    kind = get_type_hints(owner)[name]
    return get_args(kind) if get_origin(kind) is Literal else ()
