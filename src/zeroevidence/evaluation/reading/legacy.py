"""Files of results in format 1: rows told in labels and sentences what format 2 holds as values.

Attackers are recognised by the whole label, as it was written then; nothing is cut out of it. How a row was computed
is not taken apart again: its signature is kept as it was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from zeroevidence.data.threat import RANDOM, UNPROTECTED, ThreatModel, threat_from_sides
from zeroevidence.data.typed import mapping, typed
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.flags import FLAGS

SCHEMA = "zeroevidence/evaluation/1"
_SIDES = ("original", "anonymised")
# What the system without protection, and noise in its place, were called.
_SYSTEMS = {"none": UNPROTECTED, "original": UNPROTECTED, "noise": RANDOM}
_VERIFIED = ("enrolment", "trial", "backend")  # labels of verification as utility, which had no attacker


def _known_attackers() -> dict[tuple[str, str | None], ThreatModel]:
    """Threat models by the label of the attacker and of the trial speech."""
    models = [
        threat_from_sides(enrolment, trial, trained)  # type: ignore[arg-type]
        for enrolment in _SIDES
        for trial in _SIDES
        for trained in _SIDES
    ]
    models.append(ThreatModel(RANDOM, "noise", "noise"))
    models.append(ThreatModel("semi-informed", "anonymised", "anonymised", "anonymised", "anonymised", adapter=True))
    return {(str(model), model.trial): model for model in models}


_ATTACKERS = _known_attackers()


def upgraded(row: Any, place: int) -> dict[str, Any]:
    """A row of format 1 as one of format 2; `place` counts from 1."""
    where = f"row {place}"
    row = mapping(Any, row, where)
    lacking = [name for name in ("signature", "labels", "flags", "metrics") if name not in row]
    if lacking:
        raise InputError(f"{where} is not complete: it has no {lacking[0]!r}")
    typed(str, row["signature"], f"{where}.signature")
    mapping(Any, row["metrics"], f"{where}.metrics")
    labels = mapping(str, row["labels"], f"{where}.labels")
    threat = _ATTACKERS.get((labels.get("attacker", ""), labels.get("trial")))
    about = _about(labels, threat, row)
    if about.get("role", "attack") != "attack" and labels.get("system") in _SYSTEMS:
        labels["system"] = _SYSTEMS[labels["system"]]
    if about.get("role") == "utility":
        labels = {name: value for name, value in labels.items() if name not in ("enrolment", "trial")}
    return {
        **row,
        "labels": labels,
        "about": about,
        "setup": {"recorded": row["signature"], "version": "before format 2"},
        "flags": [_flag(text) for text in typed(tuple[str, ...], row["flags"], f"{where}.flags")],
    }


def _about(labels: Mapping[str, str], threat: ThreatModel | None, row: Mapping[str, Any]) -> dict[str, Any]:
    if "attribute" in labels:
        unprotected = labels.get("system") == "none"
        role = "training" if labels.get("split") == "train" else "control" if unprotected else "attack"
        about = {"question": "attribute", "role": role, "attribute": labels["attribute"]}
        return about | ({"of_class": labels["class"]} if "class" in labels else {})
    if "attack" in labels or "cm_eer" in row["metrics"]:
        return {"question": "spoofing", "attack": labels.get("attack", "all")}
    if threat is None:
        utility = "attacker" not in labels and all(name in labels for name in _VERIFIED)
        return {"role": "utility"} if utility else {}
    role = {UNPROTECTED: "control", RANDOM: "floor"}.get(threat.name, "attack")
    return {"role": role, "threat": asdict(threat)}


def _flag(text: str) -> dict[str, str]:
    """A warning of format 1, which began with its code."""
    code = next((code for code in FLAGS if text.startswith(f"{code}: ")), "note")
    return {
        "code": code,
        "severity": FLAGS[code][0] if code in FLAGS else "note",
        "sentence": text.removeprefix(f"{code}: "),
    }
