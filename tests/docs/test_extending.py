"""Each extension that docs/extending.md describes is one new file: the drills add it, and use it like the others.

The package is copied by links, each file is put beside the others, and one process uses all of them.
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
HEAD = "from dataclasses import dataclass\n\nimport numpy as np\n\nimport zeroevidence as ze\n\n"


def module(name):
    """The module of the page that is introduced by its path."""
    return re.search(rf"This is a whole module, `src/zeroevidence/{name}`:\n\n```python\n(.*?)```", PAGE, re.S)[1]


def excerpt(first, last):
    """The lines of the page from the one that begins with `first` to the one that begins with `last`."""
    begin = PAGE.index(f"\n{first}") + 1
    return PAGE[begin : PAGE.index("\n", PAGE.index(f"\n{last}", begin) + 1) + 1]


# The package that a file is put into, and its text, as on the page where the page shows it.
FILES = {
    "measure": ("measure", module("measure/youden.py")),
    "classifier": (
        "protect.assessment.classifiers",
        module("protect/assessment/classifiers/length.py"),
    ),
    "format": (
        "data.formats.scores",
        """
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat

SCORE_FORMATS.add(
    ScoreFormat(
        name="label-first",
        description="label first, `label score trial enrol` on each line",
        text=Columns(scores=("label", "score", "trial", "enrol"), key=("label", "trial", "enrol")),
    )
)
""",
    ),
    "back-end": (
        "attack.backends",
        HEAD
        + "from typing import Self\n\nfrom zeroevidence.attack.backends.backend import BACKENDS, BackendKind\n"
        + "from zeroevidence.attack.backends.vectors import VectorEstimator\n\n\n"
        + excerpt("class Euclidean(", "        return -np.linalg.norm(")
        + '\n\nBACKENDS.add(BackendKind("euclidean", "Minus the distance", ("deviations",), Euclidean))\n',
    ),
    "attacker": (
        "attack.attackers",
        """
from zeroevidence.attack.attackers.attacker import ATTACKERS, Attacker
from zeroevidence.data.threat import ThreatModel

SWAPPED = ThreatModel("swapped", enrolment="anonymised", trial="original")
ATTACKERS.add(Attacker("swapped", "Enrolment is anonymised, trials are not", SWAPPED))
""",
    ),
    "extractor": (
        "attack.extractors.families",
        HEAD
        + "from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily\n\n\n"
        + excerpt("class Loudness:", ")\nprint(load_extractor("),
    ),
    "protector of voices": (
        "protect.voices",
        HEAD
        + "from zeroevidence.protect.voices import Spelling, register_voice\n\n\n"
        + excerpt("@dataclass(frozen=True)\nclass Backwards", "    return Backwards()"),
    ),
    "protector of embeddings": (
        "protect.attributes",
        HEAD
        + "from typing import ClassVar\n\n"
        + "from zeroevidence.protect.attributes import register_protector\n"
        + "from zeroevidence.protect.attributes.shared.labelled import LabelledVectors\n"
        + "from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector\n\n\n"
        + excerpt("@register_protector(", "        return (x - self.middle_) @ self.side_ / self.variance_"),
    ),
    "figure": (
        "plot.kinds",
        HEAD + excerpt("from collections.abc import Sequence\nfrom typing import Annotated", "    legend(ax)"),
    ),
}

USE = """
import contextlib, io, json
import numpy as np
import zeroevidence as ze
from zeroevidence.cli import main

def printed(*words):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), contextlib.suppress(SystemExit):
        main(list(words))
    return " ".join(text.getvalue().split())

results = {}

from zeroevidence.evaluation.reading.results import to_json
from zeroevidence.report import render
mated = np.repeat(range(12), 5)
scores = np.random.default_rng(0).normal(size=(60, 12)) + 2.0 * np.eye(12)[mated]
rows = [
    ze.evaluate(ze.ScoreMatrix(scores + k, mated), intervals=50, null=20, labels={"system": str(k)}) for k in (0, 1)
]
row = rows[0]["youden"]
(difference,) = ze.compare(rows, ["youden"])
results["measure"] = {
    "value": row.value, "low": row.low, "high": row.high, "null": row.null.mean, "p": row.p_value,
    "json": '"youden"' in to_json(rows[:1]),
    "csv": "youden" in render(rows, "csv"),
    "text": "Youden" in render(rows[:1], "text"),
    "compared": difference.ranking[0].value,
    "range": ze.evaluate([1.0], [0.0], intervals=0, null=0)["youden"].value,
    "printed": printed("metrics", "youden"),
}

from pathlib import Path
Path("scores.txt").write_text("target 2.5 u1 ada\\nnontarget 0.5 u1 bob\\n")
read = ze.read_scores("scores.txt")
results["format"] = {"name": read.format, "target": read.data.target.tolist(), "trials": read.data.trials.tolist()}

from zeroevidence.sample import sample_sets
audit = ze.audit(
    sample_sets("original"), sample_sets("pitch"), attackers=["swapped"], backends=["euclidean"],
    options=ze.Options(intervals=0, null=0),
)
help_text = printed("audit", "--help")
swapped, threat = audit.rows[-1], audit.rows[-1].about.threat
results["back-end"] = {"backend": swapped.labels["backend"], "top1": swapped["top1"].value, "help": help_text}
results["attacker"] = {"attacker": threat.name, "enrolment": threat.enrolment, "help": help_text}

from zeroevidence.attack.extractors.extractor import load_extractor
extractor = load_extractor("loudness:4")
try:
    load_extractor("nobody")
except ze.InputError as error:
    message = str(error)
results["extractor"] = {
    "name": extractor.name, "shape": extractor.embed([np.ones(100), np.zeros(80)]).shape,
    "message": message,
}

from zeroevidence.protect import load_protector
wave = np.linspace(0.0, 1.0, 100, dtype=np.float32)
protected = load_protector("backwards")(wave, 16_000, None)
results["protector of voices"] = {"same": bool((protected == wave[::-1]).all()), "help": help_text}

from zeroevidence import Embeddings, Options
from zeroevidence.protect import Roles, assess, make_protector
rng = np.random.default_rng(0)
who = np.repeat(np.arange(60), 8)
sex = np.array(["f", "m"])[who % 2]
x = rng.normal(size=(480, 20)) * np.where(sex == "m", 2.0, 1.0)[:, None]
shifted = x + np.where(sex == "m", 3.0, 0.0)[:, None]
means = make_protector("means").fit(shifted, sex, speakers=who.astype(str))
results["protector of embeddings"] = {
    "llr": float(np.abs(means.llr(means.transform(shifted))).max()), "help": printed("protect", "fit", "--help"),
}

roles = Roles.split(Embeddings(x, np.arange(480).astype(str), who.astype(str), {"sex": sex}), "sex")
rows = assess(
    {}, roles, "sex", classifiers=["logistic", "length", "fusion"], verification=False, map_method="none",
    options=Options(intervals=0, null=0),
)
results["classifier"] = {
    "d_ece": {row.labels["attacker"]: row["d_ece"].value for row in rows if row.about.role != "training"},
    "help": printed("protect", "evaluate", "--help"),
}

ax = ze.plot.roc_curve([0.9, 0.7, 0.5], [0.8, 0.2, 0.1], logarithmic=True)
results["figure"] = {"label": ax.get_ylabel(), "scale": ax.get_xscale(), "list": printed("plot", "--list")}
print(json.dumps(results))
"""


def link_package(source, copy, additions):
    """Copy a package by links, so that files can be put into the folders that are to have some."""
    copy.mkdir()
    for path in source.iterdir():
        inner = {place: text for place, text in additions.items() if place[:1] == (path.name,)}
        if inner:
            link_package(path, copy / path.name, {place[1:]: text for place, text in inner.items()})
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
    additions = {
        (*package.split("."), f"extension_{number}.py"): text for number, (package, text) in enumerate(FILES.values())
    }
    link_package(Path(zeroevidence.__file__).parent, home / "zeroevidence", additions)
    new = [path for path in (home / "zeroevidence").rglob("*.py") if not path.is_symlink()]
    assert len(new) == len(FILES)
    environment = {"PYTHONPATH": os.pathsep.join([str(home), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path_factory.mktemp("work"),
        capture_output=True,
        text=True,
        env={**os.environ, **environment, "COLUMNS": "200"},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_new_measure_is_one_file(used):
    result = used["measure"]
    assert 0.0 < result["low"] <= result["high"] <= 1.0
    assert result["null"] < result["value"]
    assert result["p"] < 0.06
    assert result["json"]
    assert result["csv"]
    assert result["text"]
    assert result["compared"] == result["value"]
    assert result["range"] == 1.0
    assert "Youden's index" in result["printed"]
    assert "0 to 1; higher discloses more" in result["printed"]


def test_a_new_format_is_one_file(used):
    assert used["format"] == {"name": "label-first", "target": [2.5], "trials": ["u1"]}


def test_a_new_backend_is_one_file(used):
    assert used["back-end"]["backend"] == "euclidean"
    assert used["back-end"]["top1"] > 0.9
    assert "euclidean" in used["back-end"]["help"]


def test_a_new_attacker_is_one_file(used):
    assert (used["attacker"]["attacker"], used["attacker"]["enrolment"]) == ("swapped", "anonymised")
    assert "swapped" in used["attacker"]["help"]


def test_a_new_extractor_is_one_file(used):
    assert (used["extractor"]["name"], used["extractor"]["shape"]) == ("loudness:4", [2, 4])
    assert "loudness:PARTS" in used["extractor"]["message"]


def test_a_new_protector_of_voices_is_one_file(used):
    assert used["protector of voices"]["same"]
    assert "backwards" in used["protector of voices"]["help"]


def test_a_new_protector_of_embeddings_is_one_file(used):
    assert used["protector of embeddings"]["llr"] < 1e-8
    assert "means" in used["protector of embeddings"]["help"]


def test_a_new_classifier_is_one_file(used):
    result = used["classifier"]
    assert "length" in result["help"]
    assert result["d_ece"]["logistic"] < 0.1  # classes of one direction
    assert result["d_ece"]["length"] > 0.6
    assert result["d_ece"]["fusion"] > 0.6


def test_a_new_figure_is_one_file(used):
    assert (used["figure"]["label"], used["figure"]["scale"]) == ("hit rate", "log")
    assert "roc-curve" in used["figure"]["list"]
