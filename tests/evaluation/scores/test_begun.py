"""A null that begins while intervals are computed is the one that is computed after them."""

import warnings

import numpy as np

from zeroevidence import Options, evaluate
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.evaluation import scores as measuring
from zeroevidence.evaluation.results import to_json


def test_results_do_not_depend_on_what_runs_abreast(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = []
    for heard in range(40):
        for utterance in range(5):
            for claimed in {heard, *rng.integers(40, size=6).tolist()}:  # each trial with some people: a list
                own = heard == claimed
                score = rng.normal() + own
                lines.append(f"s{claimed} s{heard}-u{utterance} {score:.5f} {'target' if own else 'nontarget'}")
    path = tmp_path / "list.scores"
    path.write_text("\n".join(lines) + "\n")
    loaded = read_scores(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # another thread has settings of its own for what is no number
        abreast = evaluate(loaded, options=Options(intervals=20, null=20))
    monkeypatch.setattr(measuring, "_ABREAST", 0)
    after = evaluate(loaded, options=Options(intervals=20, null=20))
    assert "null:list" in abreast.signature
    assert to_json([abreast]) == to_json([after])
