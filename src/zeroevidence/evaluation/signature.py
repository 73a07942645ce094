"""One line that makes a number reproducible: what was computed, how, on which data, by which version."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence._version import __version__
from zeroevidence.calibrate.pav import Ranked
from zeroevidence.evaluation.results import Evaluation, Options


def signature(
    ranked: Ranked,
    counts: Mapping[str, int],
    options: Options,
    *,
    search: str | None,
    dev: FloatArray | None,
    trust: Sequence[str],
    notes: Sequence[str],
) -> str:
    """Signature of one row."""
    parts = ["ZE", "one-to-one" if search is None else "one-to-one+one-to-n", "cal:pav", "ties:pooled"]
    parts += [f"link:{options.linkability}", f"dcf:{options.dcf_prior:g}"]
    if search is not None:
        parts += [f"rows:{search.replace(', ', '+').replace(' ', '-')}", f"ddof:{options.ddof}"]
        parts += [f"l2:{options.l2:g}"] * (options.l2 != 0.0) + ["balanced"] * options.balanced
        parts += [f"search:{counts['trials']}x{counts['identities']}"]
    if dev is not None:
        parts.append(f"dev:sha256:{digest([np.sort(dev, axis=None)])[:16]}")
    parts += [
        f"n:{counts['target']}+{counts['nontarget']}",
        f"spk:{counts.get('speakers', 'unknown')}",
        *trust,
        f"seed:{options.seed}",
        *notes,
        f"data:sha256:{digest([ranked.target, ranked.nontarget])[:16]}",
        f"v:{__version__}",
    ]
    return "|".join(parts)


def joint_signature(rows: Sequence[Evaluation]) -> str:
    """One line for several rows: the row's own when there is one, else a digest of all."""
    if len(rows) == 1:
        return rows[0].signature
    together = hashlib.sha256("\n".join(row.signature for row in rows).encode()).hexdigest()
    return f"ZE|rows:{len(rows)}|signatures:sha256:{together[:16]}|v:{__version__}"


def digest(arrays: Iterable[FloatArray]) -> str:
    """SHA-256 of values as little-endian doubles. Of sorted scores it is the same for any order of the trials."""
    hasher = hashlib.sha256()
    for values in arrays:
        hasher.update(len(values).to_bytes(8, "little"))
        for start in range(0, len(values), 1 << 16):
            part = values[start : start + (1 << 16)].astype("<f8") + 0.0  # -0.0 and 0.0 are one score
            hasher.update(part.data)
    return hasher.hexdigest()
