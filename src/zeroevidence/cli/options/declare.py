"""Declaring options: groups that become one checked value, and options derived from a parameter or a field.

Choices and defaults are read from the function or dataclass that an option sets, so that both stay the same. An option
means the same in every command: the text of its help up to the first semicolon is its meaning, and what follows are
details of one command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from functools import wraps
from inspect import signature
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import click

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


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


def field_default(owner: Callable[..., Any], name: str) -> Any:
    """Return the default of a parameter of a function, or of a field of a dataclass."""
    return signature(owner).parameters[name].default


def derived_option(
    owner: Callable[..., Any], name: str, *declarations: str, choices: Sequence[str] | None = None, **settings: Any
) -> Decorator:
    """Return the option that sets a parameter or field, with its default and, where its type lists them, its choices.

    Parameters
    ----------
    owner
        The function or dataclass.
    name
        Which of its parameters or fields.
    declarations
        Names of the option; made from `name` unless given.
    choices
        The choices, for a parameter whose type is any text.
    settings
        Further arguments of `click.option`.
    """
    default = field_default(owner, name)
    if default is False:
        settings |= {"is_flag": True, "default": False}
    else:
        settings |= {"default": default, "show_default": True}
        if "type" not in settings:
            listed = choices or (_literals(owner, name) if isinstance(default, str) else ())
            settings["type"] = click.Choice(listed) if listed else type(default)
    return click.option(*(declarations or (f"--{name.replace('_', '-')}", name)), **settings)


def settings_options(name: str, owner: type[Any]) -> Decorator:
    """Return a decorator that adds an option for each field of a dataclass, and passes an instance as `name`.

    The metadata of each field are its `help`, `choices`, range (`least`, `above`, `below`) and `default_text`.
    """
    return option_group(
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


def _field_type(owner: type[Any], field: Field[Any]) -> click.ParamType[Any]:
    """Return the type of a field as click checks it."""
    choices, least, above, below = (field.metadata[key] for key in ("choices", "least", "above", "below"))
    if choices:
        return click.Choice(choices)
    ranged = click.IntRange if get_type_hints(owner)[field.name] is int else click.FloatRange
    lowest = above if least is None else least
    return ranged(min=lowest, min_open=above is not None, max=below, max_open=below is not None)


def _literals(owner: Callable[..., Any], name: str) -> tuple[str, ...]:
    """Return the values of a parameter whose type is a `Literal`."""
    annotation = get_type_hints(owner)[name]
    return get_args(annotation) if get_origin(annotation) is Literal else ()
