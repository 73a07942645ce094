"""Each extension that docs/extending.md describes is one new file: the drills add it, and use it like the others.

The package is copied by links, the modules of the page are put beside the others, and one process uses all of them.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import zeroevidence

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
MODULES = dict(re.findall(r"`src/zeroevidence/([\w/]+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL))
[(EXAMPLE, PRINTED)] = re.findall(r"```python\n([^`]*)```\n\n```text\n([^`]*)```", PAGE)

USE = """
import contextlib, io, json, sys
from pathlib import Path
import numpy as np
import zeroevidence as ze
from zeroevidence.cli import main
from zeroevidence.measure.youden import youden

def printed(*words):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), contextlib.suppress(SystemExit):
        main(list(words))
    return " ".join(text.getvalue().split())

results, quick, audit_help = {}, ze.Options(intervals=0, null=0), printed("audit", "--help")

text = io.StringIO()
with contextlib.redirect_stdout(text):
    exec(sys.argv[1])
from zeroevidence.evaluation.results import to_json
from zeroevidence.report import render
mated = np.repeat(range(12), 5)
scores = np.random.default_rng(0).normal(size=(60, 12)) + 2.0 * np.eye(12)[mated]
rows = [
    ze.evaluate(ze.ScoreMatrix(scores + k, mated), options=ze.Options(intervals=50, null=20), labels={"system": str(k)})
    for k in (0, 1)
]
row = rows[0]["youden"]
(difference,) = ze.compare(rows, ["youden"])
results["measure"] = {
    "example": text.getvalue(), "value": row.value, "null": row.null.mean, "p": row.p_value,
    "shown": ["youden" in to_json(rows[:1]), "youden" in render(rows, "csv"),
              "Youden" in render(rows[:1], "text", verbose=True)],
    "compared": difference.ranking[0].value, "printed": printed("metrics", "youden"),
}

Path("scores.txt").write_text("target 2.5 u1 ada\\nnontarget 0.5 u1 bob\\n")
read = ze.read_scores("scores.txt")
results["format"] = [read.format, read.data.target.tolist(), read.data.trials.tolist()]

from zeroevidence.sample import sample_sets
audit = ze.audit(
    sample_sets("original"), sample_sets("pitch"),
    ze.AuditOptions(attackers=("swapped",), backends=("euclidean",), measuring=quick),
)
swapped = audit.rows[-1]
results["attacker"] = [swapped.about.threat.enrolment, swapped.labels["backend"], swapped["top1"].value > 0.9]

from zeroevidence.attack.extractors import load_extractor
extractor = load_extractor("loudness:4")
results["extractor"] = [extractor.name, extractor.embed([np.ones(100), np.zeros(80)]).shape]

from zeroevidence.protect import AttackOptions, Roles, assess, load_protector, make_protector
wave = np.linspace(0.0, 1.0, 100, dtype=np.float32)
results["protector of voices"] = bool((load_protector("backwards")(wave, 16_000, None) == wave[::-1]).all())

rng = np.random.default_rng(0)
who = np.repeat(np.arange(60), 8)
sex = np.array(["f", "m"])[who % 2]
x = rng.normal(size=(480, 20)) * np.where(sex == "m", 2.0, 1.0)[:, None]
shifted = x + np.where(sex == "m", 3.0, 0.0)[:, None]
means = make_protector("means").fit(shifted, sex, speakers=who.astype(str))
results["protector of embeddings"] = float(np.abs(means.llr(means.transform(shifted))).max())

roles = Roles.split(ze.Embeddings(x, np.arange(480).astype(str), who.astype(str), {"sex": sex}), "sex")
rows = assess(
    {}, roles, "sex", AttackOptions(["logistic", "length"], verification=False, map_method="none"), quick
)
results["classifier"] = {row.labels["attacker"]: row["d_ece"].value for row in rows if row.about.role != "training"}

ax = ze.plot.roc_curve([0.9, 0.7, 0.5], [0.8, 0.2, 0.1], logarithmic=True)
results["figure"] = [ax.get_ylabel(), ax.get_xscale()]

try:
    load_extractor("nobody")
except ze.InputError as error:
    message = str(error)
results["listed"] = {
    "euclidean": audit_help, "swapped": audit_help, "backwards": audit_help, "loudness:PARTS": message,
    "means": printed("protect", "fit", "--help"), "length": printed("protect", "evaluate", "--help"),
    "roc-curve": printed("plot", "--list"),
}
print(json.dumps(results))
"""


def link_package(source, copy, additions):
    """Copy a package by links, so that files can be put into the folders that are to have some."""
    copy.mkdir()
    for path in source.iterdir():
        inner = {place[1:]: text for place, text in additions.items() if place[0] == path.name}
        if inner:
            link_package(path, copy / path.name, inner)
        else:
            (copy / path.name).symlink_to(path)
    for place, text in additions.items():
        if len(place) == 1:
            (copy / place[0]).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """What each extension does, in one process for all of them."""
    pytest.importorskip("matplotlib")
    home = tmp_path_factory.mktemp("extended")
    additions = {tuple(path.split("/")): text for path, text in MODULES.items()}
    link_package(Path(zeroevidence.__file__).parent, home / "zeroevidence", additions)
    environment = {"PYTHONPATH": os.pathsep.join([str(home), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"}
    variables = {**os.environ, **environment, "COLUMNS": "200"}
    command, work = [sys.executable, "-c", USE, EXAMPLE], tmp_path_factory.mktemp("work")
    ran = subprocess.run(command, cwd=work, capture_output=True, text=True, env=variables, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_new_measure_is_one_file(used):
    result = used["measure"]
    assert result["example"] == PRINTED
    assert result["null"] < result["value"] == result["compared"]
    assert result["p"] < 0.06
    assert all(result["shown"])
    assert "0 to 1; higher discloses more" in result["printed"]


def test_a_new_classifier_is_one_file(used):
    assert used["classifier"]["logistic"] < 0.1  # classes of one direction
    assert used["classifier"]["length"] > 0.6


@pytest.mark.parametrize(
    ("extension", "result"),
    [
        ("format", ["turned", [2.5], ["u1"]]),
        ("attacker", ["anonymised", "euclidean", True]),
        ("extractor", ["loudness:4", [2, 4]]),
        ("protector of voices", True),
        ("protector of embeddings", pytest.approx(0.0, abs=1e-8)),
        ("figure", ["hit rate", "log"]),
    ],
)
def test_a_new_extension_is_one_file(used, extension, result):
    assert used[extension] == result


def test_help_and_messages_list_the_new_names(used):
    assert [name for name, text in used["listed"].items() if name not in text] == []
