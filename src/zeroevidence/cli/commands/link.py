"""Search for trials among many enrolled people, without storing the scores."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import click

from zeroevidence.cli.options.declare import derived_option
from zeroevidence.cli.options.devices import device_option, threads_option
from zeroevidence.errors import UsageError
from zeroevidence.linkage.registry import engine_names
from zeroevidence.linkage.resumable import LinkSettings, Precision, link_resumable
from zeroevidence.linkage.scoring import ScoringName

if TYPE_CHECKING:
    from zeroevidence.linkage.linked import Linked
    from zeroevidence.linkage.pairing import Pairing

TableFormat: TypeAlias = Literal["parquet", "csv"]
_TABLES: tuple[TableFormat, ...] = get_args(TableFormat)
