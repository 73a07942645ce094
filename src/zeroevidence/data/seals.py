"""Seals of what JSON files hold, in files beside them: Ed25519, by the library `cryptography`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zeroevidence.data.files import naming_file
from zeroevidence.data.json_values import load_json, read_json, typed
from zeroevidence.data.writing import refuse_existing, write_file
from zeroevidence.errors import InputError
from zeroevidence.optional import LazyModule

SUFFIX = ".seal"  # after the name of the sealed file
PRIVATE, PUBLIC = "private.pem", "public.pem"
_SCHEMA = "zeroevidence/seal/1"
_ed25519, _serialization, _exceptions = (
    LazyModule(f"cryptography.{name}", "seal", "a seal")
    for name in ("hazmat.primitives.asymmetric.ed25519", "hazmat.primitives.serialization", "exceptions")
)


@dataclass(frozen=True, slots=True)
class Seal:
    """What stands beside a sealed file: hexadecimal digits of the public key, and of the seal itself."""

    schema: str
    public_key: str
    seal: str


def make_keys(folder: Path) -> tuple[Path, Path]:
    """Write a new pair of keys, ``private.pem`` for its owner alone and ``public.pem``; existing ones are refused.

    Both are there at last, or none.
    """
    private, public = folder / PRIVATE, folder / PUBLIC
    refuse_existing(private, False)
    refuse_existing(public, False)
    key, pem = _ed25519.Ed25519PrivateKey.generate(), _serialization.Encoding.PEM
    form, plain = _serialization.PrivateFormat.PKCS8, _serialization.NoEncryption()
    write_file(private, key.private_bytes(pem, form, plain), overwrite=False, mode=0o600)
    shown = key.public_key().public_bytes(pem, _serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        write_file(public, shown, overwrite=False)
    except BaseException:
        private.unlink()
        raise
    return private, public


def read_key(path: str | Path, *, private: bool) -> Any:
    """Return the Ed25519 key of a PEM file.

    Raises
    ------
    InputError
        Naming the file, when it cannot be read, holds another kind of key, or is encrypted.
    MissingExtra
        Without the library `cryptography`.
    """
    kind = "private" if private else "public"
    wanted = _ed25519.Ed25519PrivateKey if private else _ed25519.Ed25519PublicKey
    try:
        pem = Path(path).read_bytes()
        key = _serialization.load_pem_private_key(pem, None) if private else _serialization.load_pem_public_key(pem)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None
    except (ValueError, TypeError, _exceptions.UnsupportedAlgorithm):  # TypeError: it is encrypted
        key = None
    if not isinstance(key, wanted):
        reason = f"expected a {kind} Ed25519 key as PEM, without a password, as doctor --new-key makes it"
        raise InputError(reason, path=path)
    return key


def write_seal(file: Path, text: str, key: Any) -> Path:
    """Seal the text of a JSON file with a private key, and return the file of the seal, which replaces another.

    It may be written before the file, which completes what it belongs to.
    """
    seal = Seal(_SCHEMA, _digits(key.public_key()), key.sign(_canonical(text, file)).hex())
    place = file.with_name(file.name + SUFFIX)
    write_file(place, json.dumps(asdict(seal), indent=1) + "\n")
    return place


def check_seal(file: str | Path, text: str, key: Any) -> None:
    """Refuse a JSON file, of which this is the text, unless the seal beside it is by the owner of a public key.

    Raises
    ------
    InputError
        Naming the seal when it is missing, damaged or by another key, the file when it was changed.
    """
    place = Path(f"{file}{SUFFIX}")
    with naming_file(place):
        seal = typed(Seal, load_json(place), "seal")
        if seal.schema != _SCHEMA:
            raise InputError(f"schema: expected {_SCHEMA!r}, got {seal.schema!r}")
        if seal.public_key != _digits(key):
            raise InputError("is by the owner of another key")
    try:
        key.verify(bytes.fromhex(seal.seal), _canonical(text, file))
    except (_exceptions.InvalidSignature, ValueError):
        raise InputError("is not what was sealed: the file or its seal was changed afterwards", path=file) from None


def _canonical(text: str, file: str | Path) -> bytes:
    """What is sealed: JSON with sorted names and without blanks, in ASCII, however the file is indented."""
    return json.dumps(read_json(text, file), sort_keys=True, separators=(",", ":")).encode()


def _digits(key: Any) -> str:
    raw: bytes = key.public_bytes(_serialization.Encoding.Raw, _serialization.PublicFormat.Raw)
    return raw.hex()
