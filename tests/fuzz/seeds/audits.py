"""Undamaged folders of audits, and the commands that read them: results, cards, and the scores of every attacker."""

import json
from pathlib import Path

import numpy as np

from tests.fuzz.seeds.target import Target, read_files
from zeroevidence.data.formats.attack_scores import AttackScores, write_attack_scores
from zeroevidence.data.matrix import FoldedScores, ScoreMatrix
from zeroevidence.evaluation import Options
from zeroevidence.report.document import save_audit
from zeroevidence.sample import sample_audit

_PEOPLE = "abcdef"


def audit_targets(home: Path) -> list[Target]:
    """Reports of an audit, and comparisons of two by the scores that they keep, of one split or of folds."""
    audit = sample_audit(options=Options(intervals=0, null=0))
    save_audit(audit, home / "A")
    short = _without_curves((home / "A/result.json").read_bytes())
    made = []
    cards = {"A/result.json": short, **read_files(home, "A/attackers.json", "A/protector.json")}
    for card in ("A/attackers.json", "A/protector.json"):
        made += [Target("report", ("A", "-f", "md", "-o", "page"), cards, (card,))] * 5
    for names, attacker in ((("S1", "S2"), _split_scores), (("F1", "F2"), _folded_scores)):
        files = {}
        for seed, name in enumerate(names):
            scores = [attacker(100 * seed + number) for number in range(len(audit.rows))]
            (home / name).mkdir()
            write_attack_scores(scores, home / name)
            files |= {f"{name}/result.json": short, **read_files(home, f"{name}/scores.npz")}
        arguments = (*names, "--intervals", "5", "--measure", "eer")
        made.append(Target("compare", arguments, files, (f"{names[0]}/scores.npz", f"{names[1]}/result.json")))
    return made


def _without_curves(data: bytes) -> bytes:
    """A result without curves and people, which take longer to read than everything else."""
    document = json.loads(data)
    for row in document["rows"]:
        for part in ("curves", "surfaces", "people", "recordings"):
            row.pop(part, None)
    return json.dumps(document).encode()


def _search(people: str, seed: int) -> ScoreMatrix:
    """Two trials of each person against all of them."""
    names, mated = list(people), np.repeat(np.arange(len(people)), 2)
    scores = np.random.default_rng(seed).normal(size=(len(mated), len(names)))
    whose = [people[person] for person in mated]
    trials = [f"{person}{number}" for number, person in enumerate(whose)]
    return ScoreMatrix(scores.round(3), mated, trials, names, whose, names)


def _split_scores(seed: int) -> AttackScores:
    return AttackScores(_search(_PEOPLE, seed), _search(_PEOPLE.upper(), seed + 50))


def _folded_scores(seed: int) -> AttackScores:
    halves = _PEOPLE[:3], _PEOPLE[3:]
    evaluated, development = (
        [_search(change(half), seed + place) for place, half in enumerate(halves)] for change in (str.lower, str.upper)
    )
    return AttackScores(FoldedScores.from_folds(evaluated, development))
