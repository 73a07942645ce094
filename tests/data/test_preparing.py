"""Scores in the order of their names, against sorting tuples; recordings on both sides, against comparing all."""

import numpy as np
import pytest

from tests.effort import repetitions
from zeroevidence import ScoreMatrix, evaluate
from zeroevidence.data import preparing as order
from zeroevidence.data.audio import write_audio
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.corpus_files import read_files
from zeroevidence.data.formats.lists import read_classes, read_sessions, read_transcripts
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.formats.vectors.read import read_embeddings, read_labelled
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.data.preparing import find_same, sort_by_name
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.flags import relaxed_flags
from zeroevidence.linkage.inputs import pair


@pytest.mark.parametrize("seed", range(repetitions(3, 50)))
def test_recordings_on_both_sides_are_found_by_name_and_by_vector(seed):
    rng = np.random.default_rng(seed)

    def drawn(count, kind):
        ids, speakers = rng.permutation([f"u{i}" for i in range(20)])[:count], rng.choice(["ada", "bob", "cy"], count)
        return Embeddings(rng.integers(0, 2, (count, 3)).astype(kind), ids, speakers)

    trial, enrol = drawn(8, np.float32), drawn(9, np.float64)
    enrolled = list(zip(enrol.ids, enrol.speakers, enrol.vectors.tolist(), strict=True))
    tried = list(zip(trial.ids, trial.speakers, trial.vectors.tolist(), strict=True))
    same = [any((who == w and (name == n or v == x)) for n, w, x in enrolled) for name, who, v in tried]
    equal = [any(who != w and v == x for _, w, x in enrolled) for _, who, v in tried]
    assert [which.tolist() for which in find_same(trial, enrol)] == [same, equal]


def test_names_of_people_and_row_numbers_are_no_names_of_recordings():
    people, vectors = ["ada", "bob"], np.eye(2)
    for ids in (people, None):
        same, equal = find_same(Embeddings(vectors, ids, people), Embeddings(vectors + 1.0, ids, people))
        assert not same.any()
        assert not equal.any()


def test_a_target_with_one_name_on_both_sides_is_refused_and_a_nontarget_is_not(tmp_path):
    lines = {"u1 u1 2.5": "nontarget", "u2 u3 1.0": "target", "u1 u4 0.5": "nontarget", "u5 u6 2.0": "target"}
    scores = tmp_path / "s.txt"
    scores.write_text("".join(f"{pair} {label}\n" for pair, label in lines.items()))
    assert read_scores(scores).relaxed == ()
    scores.write_text(scores.read_text() + "u7 u7 9.0 target\n")
    with pytest.raises(InputError, match=r"s.txt: 'u7' is compared with itself; expected another recording"):
        read_scores(scores)
    assert [problem.path for problem in diagnose(scores)] == [str(scores)]
    allowed = read_scores(scores, options=ReadingOptions(allow_same=True))
    assert [str(rule) for rule in allowed.relaxed] == ["same-recordings:1"]
    assert len(allowed.data.target) == 3


@pytest.mark.parametrize("other", ["Jose\u0301", "Jos\u00e9"])
def test_names_are_compared_in_their_composed_form_and_that_is_said(tmp_path, other):
    rules = [RelaxedRule("names-composed", 1, example=r"Jos\xe9 and Jose\u0301")] * (other != "Jos\u00e9")
    lines = f"Jos\u00e9 u1 2.0 target\n{other} u2 1.5 target\nbob u1 0.1 nontarget\nbob u2 0.3 nontarget\n"
    (tmp_path / "s.txt").write_text(lines, encoding="utf-8")
    loaded = read_scores(tmp_path / "s.txt")
    assert sorted(loaded.data.enrolments.tolist()) == ["Jos\u00e9", "bob"]
    assert [rule for rule in loaded.relaxed if rule.rule == "names-composed"] == rules
    assert all(r"such as Jos\xe9 and Jose\u0301;" in flag.sentence for flag in relaxed_flags(rules))
    trial = Embeddings(np.eye(2), ["u1", "u2"], [other, "bob"])
    search = pair(trial, Embeddings(np.eye(2) + 1.0, ["e1", "e2"], ["bob", "Jos\u00e9"]))
    assert search.mated.tolist() == [1, 0]
    assert list(search.relaxed) == rules
    names = {"trials": ["t1", "t2"], "trial_speakers": [other, "bob"], "enrolment_speakers": ["Jos\u00e9", "bob"]}
    np.savez(tmp_path / "m.npz", scores=np.eye(2), mated=np.arange(2), **names)
    matrix = read_scores(tmp_path / "m.npz")
    assert set(matrix.data.speakers.tolist()) == {"Jos\u00e9", "bob"}
    assert list(matrix.relaxed) == list(evaluate(ScoreMatrix(np.eye(2), [0, 1], **names)).setup.relaxed) == rules


@pytest.mark.parametrize("other", ["Jose\u0301", "Jos\u00e9"])
@pytest.mark.parametrize("kind", ["tree", "table", "kaldi"])
def test_people_of_corpora_are_compared_in_their_composed_form(tmp_path, kind, other):
    names = {"a": "Jos\u00e9", "b": other, "c": "bob"}
    for name, speaker in names.items():
        (tmp_path / "x" / speaker).mkdir(parents=True, exist_ok=True)
        write_audio(tmp_path / "x" / speaker / f"{name}.wav", np.ones(100))
    table = "".join(f"{name}\t{who}\t{who}/{name}.wav\n" for name, who in names.items())
    if kind == "table":
        (tmp_path / "x/utterances.tsv").write_text(f"utterance\tspeaker\tpath\n{table}")
    if kind == "kaldi":
        (tmp_path / "x/wav.scp").write_text("".join(f"{name} {who}/{name}.wav\n" for name, who in names.items()))
        (tmp_path / "x/utt2spk").write_text("".join(f"{name} {who}\n" for name, who in names.items()))
    rows = read_files(tmp_path / "x")
    assert sorted({row.utterance.speaker for row in rows.rows}) == ["Jos\u00e9", "bob"]
    assert all(row.utterance.path.is_file() for row in rows.rows)
    said = [r"such as Jos\xe9 and Jose\u0301; each is one" in note.reason for note in rows.notes]
    assert said == [True] * (other != "Jos\u00e9")


@pytest.mark.parametrize("other", ["Jose\u0301", "Jos\u00e9"])
def test_lists_are_looked_up_in_the_composed_form(tmp_path, other):
    (tmp_path / "list").write_text(f"{other} ann\nu2 bob\n", encoding="utf-8")
    np.savez(tmp_path / "v.npz", vectors=np.eye(2), utterance=["Jos\u00e9", "u2"])
    (tmp_path / "v.ark").write_text("Jos\u00e9  [ 1 0 ]\nu2  [ 0 1 ]\n", encoding="utf-8")
    for file in ("v.npz", "v.ark"):
        assert read_embeddings(tmp_path / file, ids=tmp_path / "list").speakers.tolist() == ["ann", "bob"]
    labelled = read_labelled(tmp_path / "v.npz", "sex", labels=tmp_path / "list")
    assert labelled.attributes["sex"].tolist() == ["ann", "bob"]
    for read in (read_sessions, read_classes, read_transcripts):
        assert set(read(tmp_path / "list")) == {"Jos\u00e9", "u2"}
    (tmp_path / "utt2spk").write_text((tmp_path / "list").read_text())
    assert read_embeddings(tmp_path / "v.ark").speakers.tolist() == ["ann", "bob"]
    (tmp_path / "key").write_text(f"{other} 0\nu2 1\n", encoding="utf-8")
    assert read_scores(tmp_path / "v.ark", tmp_path / "key").data.mated.tolist() == [0, 1]


def some_scores(seed: int, *, again: bool, named_in_order: bool) -> Scores:
    rng = np.random.default_rng(seed)
    enrolments, trials = np.array([f"e{i:02d}" for i in range(30)]), np.array([f"t{i:02d}" for i in range(40)])
    if not named_in_order:
        enrolments, trials = rng.permutation(enrolments), rng.permutation(trials)
    pairs = [rng.choice(1200, n, replace=again) for n in (90, 500)]
    target, nontarget = (Pairs(one // 40, one % 40) for one in pairs)
    values = rng.normal(size=590).round(1)
    return Scores(values[:90], values[90:], target, nontarget, enrolments=enrolments, trials=trials)


def as_tuples(scores: Scores) -> list[list[tuple[str, str, float]]]:
    return [
        list(zip(scores.enrolments[of.enrolment], scores.trials[of.trial], values.tolist(), strict=True))
        for values, of in ((scores.target, scores.target_pairs), (scores.nontarget, scores.nontarget_pairs))
    ]


@pytest.mark.parametrize("bits", [63, 5])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("named_in_order", [False, True])
def test_scores_are_sorted_by_names_and_then_by_score(bits, again, named_in_order, monkeypatch):
    """Packed into one number each, and column by column where that has too few bits."""
    monkeypatch.setattr(order, "_BITS", bits)
    monkeypatch.setattr(order, "_BLOCK", 64)
    given = some_scores(1, again=again, named_in_order=named_in_order)
    found = sort_by_name(given)
    assert found.enrolments.tolist() == sorted(given.enrolments)
    assert as_tuples(found) == [sorted(of_class) for of_class in as_tuples(given)]
    assert as_tuples(sort_by_name(found)) == as_tuples(found)
