"""A new measure or classifier is one module, one page and one test: done here as docs/extending.md says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"This is a whole module, `src/zeroevidence/measure/youden.py`:\n\n```python\n(.*?)```", re.S)
DRILL = """
import json, sys
import numpy as np
import zeroevidence.measure
zeroevidence.measure.__path__.append(sys.argv[1])  # as if the file lay beside the others
import zeroevidence as ze
from zeroevidence.evaluation.reading.results import to_json
from zeroevidence.report import render
mated = np.repeat(range(12), 5)
scores = np.random.default_rng(0).normal(size=(60, 12)) + 2.0 * np.eye(12)[mated]
rows = [
    ze.evaluate(ze.ScoreMatrix(scores + k, mated), intervals=50, null=20, labels={"system": str(k)}) for k in (0, 1)
]
one = rows[0]["youden"]
(difference,) = ze.compare(rows, ["youden"])
print(json.dumps({
    "value": one.value, "low": one.low, "high": one.high, "null": one.null.mean, "p": one.p_value,
    "json": '"youden"' in to_json(rows[:1]),
    "csv": "youden" in render(rows, "csv"),
    "text": "Youden" in render(rows[:1], "text"),
    "compared": difference.ranking[0].value,
    "range": ze.evaluate([1.0], [0.0], intervals=0, null=0)["youden"].value,
}))
"""


def test_a_new_measure_is_one_module(tmp_path):
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (tmp_path / "youden.py").write_text(BLOCK.search(text)[1], encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", DRILL, str(tmp_path)], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert 0.0 < found["low"] <= found["high"] <= 1.0
    assert found["null"] < found["value"]
    assert found["p"] < 0.06
    assert found["json"]
    assert found["csv"]
    assert found["text"]
    assert found["compared"] == found["value"]
    assert found["range"] == 1.0


def test_the_command_line_knows_it(tmp_path):
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (tmp_path / "youden.py").write_text(BLOCK.search(text)[1], encoding="utf-8")
    start = (
        "import sys, zeroevidence.measure as m; m.__path__.append(sys.argv.pop(1)); "
        "from zeroevidence.cli import main; main(sys.argv[1:])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", start, str(tmp_path), "metrics", "youden"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Youden's index" in ran.stdout
    assert "0 to 1; higher discloses more" in ran.stdout


CLASSIFIER = re.compile(r"assessment/classifiers/length.py`:\n\n```python\n(.*?)```", re.S)
ATTACK = """
import importlib, json, sys
import numpy as np
import zeroevidence.protect.assessment.classifiers as package
package.__path__.append(sys.argv[1])  # as if the file lay beside the others
importlib.import_module(f"{package.__name__}.length")
from zeroevidence import Embeddings, Options
from zeroevidence.cli.commands.protect.evaluate import command
from zeroevidence.protect import Roles, assess
rng = np.random.default_rng(0)
who = np.repeat(np.arange(60), 8)
sex = np.array(["f", "m"])[who % 2]
x = rng.normal(size=(480, 20)) * np.where(sex == "m", 2.0, 1.0)[:, None]
roles = Roles.split(Embeddings(x, np.arange(480).astype(str), who.astype(str), {"sex": sex}), "sex")
how = {"verification": False, "mapped": "none", "options": Options(intervals=0, null=0)}
rows = assess({}, roles, "sex", classifiers=["logistic", "length", "fusion"], **how)
(choice,) = [one.type.choices for one in command.params if one.name == "classifiers"]
print(json.dumps({
    "d_ece": {row.labels["attacker"]: row["d_ece"].value for row in rows if row.about.role != "training"},
    "choices": list(choice),
}))
"""


def test_a_new_classifier_is_one_module(tmp_path):
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (tmp_path / "length.py").write_text(CLASSIFIER.search(text)[1], encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", ATTACK, str(tmp_path)], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert "length" in found["choices"]
    assert found["d_ece"]["logistic"] < 0.1  # classes of one direction
    assert found["d_ece"]["length"] > 0.6
    assert found["d_ece"]["fusion"] > 0.6
