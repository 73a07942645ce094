"""The one call: what it holds, what it signs, and that it agrees with the functions it is made of."""

import json
import warnings
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import zeroevidence as ze
from tests.effort import slow
from tests.fuzz.seeds.target import run
from zeroevidence import EmbeddingSets, Options, ScoreMatrix, Scores, audit, evaluate, read_scores
from zeroevidence.auditing import AuditOptions
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.attack_scores import read_linked
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.evaluation import add_similarity, joint_signature
from zeroevidence.evaluation import scores as measuring
from zeroevidence.evaluation.results import read_results, to_json
from zeroevidence.evaluation.searches import average_disclosure
from zeroevidence.measure.measures import MEASURES

QUICK = ze.Options(intervals=0, null=0)


def quickly(data, options=QUICK, **more):
    """Without intervals and nulls, which are tested elsewhere."""
    return ze.evaluate(data, options=options, **more)


def gaussian(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(1, 1, 100), rng.normal(0, 1, 900)


def test_values_are_those_of_the_functions():
    target, nontarget = gaussian()
    result = quickly(ze.Scores(target, nontarget))
    for name in ("eer", "cllr_min", "dcf_act", "dcf_min", "d_ece", "worst_case", "tag", "tag_counts", "linkability"):
        assert result.metrics[name].value == getattr(ze, name)(target, nontarget), name
    # sums over sorted scores round differently
    assert result.metrics["cllr"].value == pytest.approx(ze.cllr(target, nontarget), rel=1e-14)
    assert result.metrics["eer_rocch"].value == ze.eer(target, nontarget, method="rocch")
    assert result.metrics["tpr_at_fpr"].value == {
        f"{level:g}": rate for level, rate in ze.tpr_at_fpr(target, nontarget).items()
    }
    assert result.counts == {"target": 100, "nontarget": 900}
    assert set(result.metrics) <= set(MEASURES)


def test_signature_says_what_matters_and_nothing_else():
    target, nontarget = gaussian()
    signature = quickly(ze.Scores(target, nontarget)).signature
    assert signature.startswith("ZE|one-to-one|cal:pav|ties:pooled|linkability:density|")
    assert "|n:100+900|" in signature
    assert signature.endswith(f"|v:{ze.__version__}")
    shuffled = ze.Scores(target[::-1], nontarget[::-1])
    assert quickly(shuffled).signature == signature
    assert quickly(ze.Scores(nontarget, target)).signature != signature
    changed = target.copy()
    changed[0] = np.nextafter(changed[0], 9)
    assert quickly(ze.Scores(changed, nontarget)).signature != signature
    other = ze.Options(linkability="pav", intervals=0, null=0)
    assert "|linkability:pav|" in quickly(ze.Scores(target, nontarget), options=other).signature
    assert "|missing:3|" in quickly(ze.Scores(target, nontarget), relaxed=[RelaxedRule("missing", 3)]).signature


def test_single_precision_is_signed_like_the_same_numbers_in_double():
    target, nontarget = (a.astype(np.float32) for a in gaussian())
    double = ze.Scores(target.astype(np.float64), nontarget.astype(np.float64))
    assert quickly(ze.Scores(target, nontarget)).signature == quickly(double).signature


def test_joint_signature():
    one = quickly(ze.Scores(*gaussian()))
    two = quickly(ze.Scores(*gaussian(1)))
    signatures = [one.signature, two.signature]
    assert joint_signature(signatures[:1]) == one.signature
    assert joint_signature(signatures).startswith("ZE|rows:2|")
    assert joint_signature(signatures) != joint_signature(signatures[::-1])


def test_results_cannot_be_changed():
    result = quickly(ze.Scores(*gaussian()))
    with pytest.raises(TypeError):
        result.metrics["eer"] = None
    with pytest.raises(AttributeError):
        result.metrics["eer"].value = 0.5


def test_similarity_is_added_beside_the_original_row():
    from zeroevidence.sample import sample_rows

    rows = []
    for row in sample_rows():
        data = read_scores(row.scores, row.key).data
        rows.append((quickly(data, labels=row.labels, about=row.about), data))
    plain, crossed, both = add_similarity(rows)
    assert "deid" not in plain.metrics
    matrices = [ze.similarity_matrix(data)[0] for _, data in rows]
    assert crossed.metrics["deid"].value == ze.deid(matrices[0], matrices[1])
    assert both.metrics["voice_distinctiveness_gain"].value == ze.voice_distinctiveness_gain(matrices[0], matrices[2])
    assert add_similarity(rows[1:])[0].metrics.keys() == rows[1][0].metrics.keys()


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


def shuffled(path, into, seed):
    lines = path.read_text().splitlines(keepends=True)
    into.write_text("".join(lines[i] for i in np.random.default_rng(seed).permutation(len(lines))))
    return into


def numbers(result):
    return json.loads(to_json([result]))


def files(folder, *, rows, seed=0):
    """Scores of ten people against each other, in rows or as a list of single comparisons."""
    rng = np.random.default_rng(seed)
    people = [f"p{i}" for i in rng.permutation(12)]
    scores, key = [], []
    for trial in rng.permutation(60):
        own = people[trial % len(people)]
        for enrolled in people if rows else rng.choice(people, 7, replace=False):
            mated = enrolled == own
            scores.append(f"{enrolled} u{trial} {rng.normal(2.0 * mated):.3f}\n")
            key.append(f"{enrolled} u{trial} {'target' if mated else 'nontarget'}\n")
    (folder / "a.scores").write_text("".join(scores))
    (folder / "a.key").write_text("".join(key))
    return folder / "a.scores", folder / "a.key"


@pytest.mark.parametrize("rows", [True, False], ids=["rows", "list"])
def test_lines_in_any_order_give_the_same_numbers(tmp_path, rows):
    """The lines of the evaluated scores, and of the development scores of a search."""
    (tmp_path / "dev").mkdir()
    given = [files(tmp_path, rows=rows)]
    if rows:
        given.append(files(tmp_path / "dev", rows=True, seed=1))
        for path in given[1]:
            path.write_text(path.read_text().replace("p", "d").replace("u", "v"))
    other = [[shuffled(path, path.with_suffix(f".{seed}"), seed) for seed, path in enumerate(pair)] for pair in given]
    found = []
    for pairs in (given, other):
        data, *dev = (read_scores(scores, key=key) for scores, key in pairs)
        found.append(evaluate(data, dev=dev[0] if dev else None, options=Options(intervals=20, null=20)))
    assert numbers(found[0]) == numbers(found[1])


def test_unnamed_scores_in_any_order_give_the_same_numbers():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1.0, 1.0, 50), rng.normal(0.0, 1.0, 200)
    one = evaluate(Scores(target, nontarget), options=Options(intervals=20, null=20))
    two = evaluate(Scores(rng.permutation(target), rng.permutation(nontarget)), options=Options(intervals=20, null=20))
    assert numbers(one) == numbers(two)


def matrix(seed=0):
    rng = np.random.default_rng(seed)
    mated = np.arange(60) % 12
    return ScoreMatrix(
        rng.normal(size=(60, 12)) + 2.0 * np.eye(12)[mated],
        mated,
        trials=[f"u{i}" for i in range(60)],
        enrolments=[f"p{i}" for i in range(12)],
    )


def reordered(given, seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(given.mated)), rng.permutation(given.scores.shape[1])
    return ScoreMatrix(
        given.scores[rows][:, columns],
        np.argsort(columns)[given.mated[rows]],
        trials=given.trials[rows],
        enrolments=given.enrolments[columns],
    )


def test_rows_and_columns_of_a_matrix_may_stand_anywhere():
    given = matrix()
    other = reordered(given, 7)
    assert numbers(evaluate(given, options=Options(intervals=20, null=20))) == numbers(
        evaluate(other, options=Options(intervals=20, null=20))
    )
    assert average_disclosure(given) == average_disclosure(other)
    ordered = sort_by_name(other)
    assert all(a < b for a, b in pairwise(ordered.trials))
    assert all(a < b for a, b in pairwise(ordered.enrolments))
    at = {name: i for i, name in enumerate(given.trials)}
    assert [given.mated_names[at[name]] for name in ordered.trials] == ordered.mated_names.tolist()


def test_the_table_of_trials_stays_in_the_order_of_the_caller():
    given = reordered(matrix(), 3)
    found = evaluate(given, options=Options(intervals=0, null=0)).trials
    assert found.trial.tolist() == given.trials.tolist()
    assert found.speaker.tolist() == given.mated_names.tolist()


def test_a_trial_whose_speaker_is_not_enrolled_stays_so():
    given = ScoreMatrix([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [1, 0, -1], enrolments=["b", "a"], trials=["3", "2", "1"])
    ordered = sort_by_name(given)
    assert ordered.mated.tolist() == [-1, 1, 0]
    assert sort_by_name(ordered) is ordered


def people(folder, seed, name):
    """Embeddings of people of two sexes and many ages in some order."""
    rng = np.random.default_rng(0)
    who = np.repeat([f"s{i:02d}" for i in range(30)], 6)
    sex = np.repeat(["f", "m"] * 15, 6)
    vectors = np.repeat(rng.normal(size=(30, 8)), 6, axis=0) + 0.5 * rng.normal(size=(180, 8))
    vectors[:, 0] += np.where(sex == "f", 1.0, -1.0)
    order = np.arange(180) if seed is None else np.random.default_rng(seed).permutation(180)
    ids = np.array([f"u{i:03d}" for i in range(180)])
    age = np.repeat(rng.permutation(30) + 20, 6)
    np.savez(
        folder / name, vectors=vectors[order], speaker=who[order], sex=sex[order], age=age[order], utterance=ids[order]
    )
    return folder / name


def done(*words):
    code, out, err = run(*map(str, words))
    assert code == 0, err
    return out


@pytest.mark.parametrize("protector", ["transport", pytest.param("flow", marks=slow)])
def test_a_protector_does_not_depend_on_the_order_of_embeddings(tmp_path, protector):
    pytest.importorskip("safetensors")
    more = ()
    if protector == "flow":
        pytest.importorskip("torch")
        more = ("--set", "epochs=2")
    for name, seed in (("a", None), ("b", 5)):
        file = people(tmp_path, seed, f"{name}.npz")
        words = ("--attribute", "sex", "--protector", protector, *more)
        done("protect", "fit", file, *words, "-o", tmp_path / name)
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in "ab")
    assert one == two


def test_what_is_left_does_not_depend_on_the_order_of_embeddings(tmp_path):
    words = ("--attribute", "sex", "--protector", "leace", "--classifier", "lda")
    words += ("--intervals", "0", "--null", "5", "-f", "json")
    found = []
    for place, seed in (("a", None), ("b", 5)):
        (tmp_path / place).mkdir()
        found.append(done("protect", "evaluate", people(tmp_path / place, seed, "same.npz"), *words))
    assert found[0] == found[1]


def test_a_table_of_a_search_may_stand_in_any_order(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "trial": np.array([f"u{i:02d}" for i in range(20)]),
        "speaker": np.array([f"s{i % 5}" for i in range(20)]),
        "lid": rng.normal(size=20),
        "greater": rng.integers(0, 4, 20),
        "equal": np.zeros(20, dtype=np.int64),
    }
    found = []
    for order in (np.arange(20), rng.permutation(20)):
        pl.DataFrame({name: values[order] for name, values in columns.items()}).write_csv(tmp_path / "trials.csv")
        found.append(read_linked(tmp_path, 5))
    for name in columns:
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


def audited(seed):
    """What an audit of embeddings from Python finds, of people whose names are in another order than their vectors'."""
    rng = np.random.default_rng(0)
    who = np.repeat([f"s{i:02d}" for i in rng.permutation(36)], 6)
    ids = np.array([f"u{i:03d}" for i in rng.permutation(216)])
    vectors = np.repeat(rng.normal(size=(36, 6)), 6, axis=0) + 0.7 * rng.normal(size=(216, 6))
    split = np.array(["train", "dev", "eval"])[np.char.lstrip(who, "s").astype(int) % 3]
    role = np.tile(["enrol", "enrol", "trial", "trial", "trial", "trial"], 36)
    order = np.arange(216) if seed is None else np.random.default_rng(seed).permutation(216)
    both = [
        EmbeddingSets.from_roles(Embeddings(one[order], ids[order], who[order]), split[order], role[order])
        for one in (vectors, vectors + 0.5 * rng.normal(size=(216, 6)))
    ]
    found = audit(*both, AuditOptions(backends=("plda",), measuring=Options(intervals=0, null=0)))
    return to_json(found.rows)


def test_an_audit_from_python_does_not_depend_on_the_order_of_embeddings():
    assert audited(None) == audited(5)


def test_embeddings_that_nobody_named_keep_their_places():
    """There is nothing to put them in order by: their numbers change with their places."""
    bare = Embeddings(np.random.default_rng(0).normal(size=(4, 2)), speakers=["b", "a", "b", "a"])
    assert sort_by_name(bare) is bare
    named = sort_by_name(Embeddings(bare.vectors, ["u4", "u3", "u2", "u1"], bare.speakers))
    assert named.ids.tolist() == ["u1", "u3", "u2", "u4"]
    np.testing.assert_array_equal(named.vectors, bare.vectors[[3, 1, 2, 0]])


def test_a_search_does_not_depend_on_the_order_of_embeddings(tmp_path):
    rows = []
    for name, seed in (("a", None), ("b", 5)):
        file = people(tmp_path, seed, f"{name}.npz")
        done("link", "--enrol", file, "--trial", file, "--allow-same", "-o", tmp_path / name)
        rows.append(read_results(tmp_path / name)[0])
    assert rows[0].counts == rows[1].counts
    for name, one in rows[0].metrics.items():
        if one.number is not None:
            assert rows[1][name].number == pytest.approx(one.number, rel=1e-9), name
