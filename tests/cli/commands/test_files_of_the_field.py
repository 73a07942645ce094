"""Files as other projects write them, given to a command without a word about them: a value, or what to do instead."""

import json
import shlex

import numpy as np
import polars as pl
import pytest

from tests.fuzz.oracle import eer as reference_eer
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.errors import InputError
from zeroevidence.evaluation import read_results

QUICK = ("--intervals", 0, "--null", 0)
TARGET, NONTARGET = [2.5, 1.5, 0.25], [0.5, -1.0, -0.75, 1.0]
EER = reference_eer(TARGET, NONTARGET)


def table(words, *, header="score,label"):
    rows = [(score, words[0]) for score in TARGET] + [(score, words[1]) for score in NONTARGET]
    return header + "\n" + "".join(f"{score},{label}\n" for score, label in rows)


@pytest.mark.parametrize(
    ("words", "header"),
    [
        (("TRUE", "FALSE"), "score,label"),
        (("1.0", "0.0"), "asv_score,sasv_label"),
        (("true", "false"), "LLR,is_target"),
        (("target", "nontarget"), "Score,Labels"),
        (("1", "0"), "score,target"),
    ],
)
def test_tables_with_labels_of_other_tools(put, eer, words, header):
    assert eer(put("scores.csv", table(words, header=header))) == pytest.approx(EER)
    frame = pl.read_csv(put("scores.csv", table(words, header=header)))
    frame.write_parquet("scores.parquet")  # labels become numbers or truth values, as pandas writes them
    assert eer("scores.parquet") == pytest.approx(EER)


ASVSPOOF5 = "asv_score,cm_score,sasv_label\n" + "".join(
    f"{score},{-score},{label}\n" for scores, label in ((TARGET, "1.0"), (NONTARGET, "0.0")) for score in scores
)


def test_columns_are_named_where_several_may_be_meant(put, eer, refused):
    path = put("asvspoof5.csv", ASVSPOOF5)
    assert refused(path).startswith("asvspoof5.csv:1: scores of a verifier; `zeroevidence tandem evaluate --asv")
    assert eer(path, "--score-column", "asv_score") == pytest.approx(EER)
    assert eer(path, "--score-column", "cm_score", "--negate") == pytest.approx(EER)
    pl.read_csv(path).write_parquet("t.parquet")
    assert eer("t.parquet", "--score-column", "asv_score") == pytest.approx(EER)


def test_any_column_can_be_named(put, eer, refused):
    path = put("r.csv", table(("1", "0"), header='"similarity","same.speaker"'))
    columns = ("--score-column", "similarity", "--label-column", "same.speaker")
    assert eer(path, *columns) == pytest.approx(EER)
    assert refused(path, "--score-column", "x", "--label-column", "same.speaker") == (
        "r.csv:1: no column named 'x'; expected one of 'similarity', 'same.speaker'"
    )


def test_the_label_column_is_that_of_the_key(put, eer):
    pairs = [(f"p{i}", f"u{i}", score, i < 3) for i, score in enumerate(TARGET + NONTARGET)]
    scores = put("s.csv", "enrol,trial,cosine\n" + "".join(f"{e},{t},{s}\n" for e, t, s, _ in pairs))
    key = put("k.csv", "enrol,trial,same\n" + "".join(f"{e},{t},{str(same).upper()}\n" for e, t, _, same in pairs))
    options = ("--key", key, "--score-column", "cosine", "--label-column", "same")
    assert eer(scores, *options) == pytest.approx(EER)


def lines(numbers):
    return "".join(f"{number}\n" for number in numbers)


@pytest.mark.parametrize(
    "written",
    [
        lines,
        lambda numbers: "x\n" + lines(numbers),
        lambda numbers: '"","x"\n' + "".join(f'"{row}",{number}\n' for row, number in enumerate(numbers, 1)),
        lambda numbers: '"x"\n' + lines(numbers),
        lambda numbers: "\r\n".join(map(str, numbers)),
    ],
    ids=["numbers", "below a name", "as R writes a vector", "without row names", "Windows"],
)
def test_targets_and_nontargets_in_files_of_their_own(put, eer, refused, run, written):
    mated, nonmated = put("mated.txt", written(TARGET)), put("nonmated.txt", written(NONTARGET))
    assert eer("--targets", mated, "--nontargets", nonmated) == pytest.approx(EER)
    assert run("doctor", "--targets", mated, "--nontargets", nonmated)[:2] == (0, "mated.txt: ok\n")
    assert refused(mated).startswith("mated.txt:1: one number a line, without labels; expected labels, or one file of")
    code, _, err = run("evaluate", mated, nonmated)
    assert (code, err.startswith("mated.txt and nonmated.txt hold one number a line, without labels;")) == (2, True)


def test_lists_of_scores_with_faults(put, run, eer, refused):
    good, bad = put("good", lines(TARGET)), put("bad", lines(["0.5", "x", "nan", "1e999", "0.5 0.6"]))
    code, out, err = run("doctor", "--targets", good, "--nontargets", bad)
    assert code == 3
    assert [line.partition(" ")[0] for line in out.splitlines()] == ["bad:2:", "bad:3:", "bad:4:", "bad:5:"]
    assert run("evaluate", "--targets", good)[0] == 2
    assert run("evaluate", "--targets", good, "--nontargets", good, "--key", good)[0] == 2
    assert run("evaluate")[0] == 2
    np.save("t.npy", np.array(TARGET))
    np.save("n.npy", np.array(NONTARGET, np.float32))
    assert eer("--targets", "t.npy", "--nontargets", "n.npy") == pytest.approx(EER)
    np.save("n.npy", np.ones((2, 3)))
    code, _, err = run("evaluate", "--targets", "t.npy", "--nontargets", "n.npy")
    assert (code, err) == (3, "n.npy: scores: float64 of shape (2, 3); expected numbers, one per trial\n")


TRIALS_2019 = ("bonafide target 3.5", "bonafide nontarget -2.0", "A07 spoof 1.25")
ASV_2019 = "".join(f"{trial}\n" for trial in TRIALS_2019 * 20)
KINDS = [("A07", "spoof") if i % 3 else ("-", "bonafide") for i in range(40)]
PROTOCOL_2019 = "".join(f"LA_00{i:02} LA_E_{i:07} - {attack} {kind}\n" for i, (attack, kind) in enumerate(KINDS))
CM_2019 = "".join(f"LA_E_{i:07} {attack} {kind} {i / 7}\n" for i, (attack, kind) in enumerate(KINDS))
ASVSPOOF5_KEY = "filename\tcm-score\tasv-score\nE_1\t0.5\t1.5\nE_2\t-0.5\t0.25\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ASV_2019, "scores of a verifier; `zeroevidence tandem evaluate --asv f --cm FILE` reads it"),
        (PROTOCOL_2019, "a key of ASVspoof, without scores; `zeroevidence tandem evaluate --cm FILE --key f` reads it"),
        (CM_2019, "scores of a countermeasure; `zeroevidence tandem evaluate --cm f` reads it"),
        (ASVSPOOF5_KEY, "a table of ASVspoof; `zeroevidence tandem evaluate --cm f --asv f` reads it"),
    ],
    ids=["ASV scores", "protocol", "CM scores", "table of 5"],
)
def test_files_of_asvspoof_are_named_with_the_command_that_reads_them(put, refused, content, message):
    assert refused(put("f", content)) == f"f:1: {message}"


def test_two_columns_with_a_key_of_0_and_1_are_asked_about(put, refused, run, eer):
    posteriors = np.log([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])
    labels = np.array([0, 1, 0, 1])
    np.save("scores.npy", posteriors)
    np.save("key.npy", labels)
    message = refused("scores.npy", "--key", "key.npy")
    assert message.startswith("scores.npy: 4 x 2 scores with a key of 0 and 1: a search through two identities")
    assert "--input-format matrix" in message
    (row,) = run.rows("evaluate", "scores.npy", "--key", "key.npy", "--input-format", "matrix", *QUICK)
    assert row["counts"]["identities"] == 2
    np.savez("scores.npz", scores=posteriors[:, 1] - posteriors[:, 0], labels=labels)  # as the message says
    assert eer("scores.npz") == 0.0
    np.savez("both.npz", scores=posteriors, labels=labels)
    assert refused("both.npz").endswith("expected numbers, one per trial (of two log-posteriors: x[:, 1] - x[:, 0])")
    np.savez("key.npz", mated=labels)  # which says what it is
    assert run("evaluate", "scores.npy", "--key", "key.npz", *QUICK)[0] == 0


def manifest(tmp_path):
    import soundfile

    rows = []
    for person in range(6):
        for number in range(2):
            place = tmp_path / f"{person}_{number}.wav"
            noise = np.random.default_rng(person).normal(0, 0.1, 16_000)
            soundfile.write(place, noise, 16_000)
            rows.append({"audio_filepath": place.name, "speaker": f"p{person}", "duration": 1.0, "words": ["a"]})
    return rows


def test_json_lines_of_a_corpus(put, tmp_path, run, refused):
    pytest.importorskip("soundfile")
    rows = manifest(tmp_path)
    path = put("manifest.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    corpus = read_corpus(path)
    assert [utterance.speaker for utterance in corpus.utterances] == [f"p{i // 2}" for i in range(12)]
    assert corpus.utterances[0].id == "0_0"
    assert (corpus.utterances[0].start, dict(corpus.utterances[0].attributes)) == (None, {"duration": "1.0"})
    assert run("doctor", "--corpus", path)[0] == 0
    assert refused(path).startswith("manifest.jsonl:1: JSON lines with the fields audio_filepath, speaker, duration")
    path = put("parts.jsonl", "".join(json.dumps(row | {"offset": 0.25, "duration": 0.5}) + "\n" for row in rows))
    assert {(u.start, u.end) for u in read_corpus(path).utterances} == {(4000, 12_000)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"speaker": "a"}', "no field path (found: speaker); expected speaker, path"),
        ('{"speaker": "a", "path": "a.wav"', "not JSON: Expecting ',' delimiter"),
        ('{"speaker": "\\ud800", "path": "a.wav"}', "byte 0xed is not UTF-8 (is the file in Latin-1?)"),
        ('{"speaker": "a", "path": "a.wav", "offset": "soon"}', "offset 'soon'; expected seconds"),
        ('{"speaker": "a", "spk": "b", "path": "a.wav"}', "two fields for one thing (found: speaker, spk, path)"),
    ],
)
def test_json_lines_with_faults(put, line, message):
    path = put("manifest.jsonl", f'{{"speaker": "x", "path": "x.wav"}}\n{line}\n')
    with pytest.raises(InputError) as error:
        read_corpus(path)
    assert str(error.value).startswith(f"manifest.jsonl:2: {message}")


RANKING = "dataset split gender enrollment trial EER\nlibri dev f original anon {}\n"


def test_a_folder_of_ranking_files_is_read(put, run):
    put("summary/result_for_rank_a", RANKING.format(12.5))
    put("summary/result_for_rank_b", RANKING.format(25.0))
    put("summary/notes.txt", "nothing")
    assert [(row.labels["system"], row["eer"].value) for row in read_results("summary")] == [("a", 0.125), ("b", 0.25)]
    assert len(run.rows("evaluate", "summary")) == 2
    assert run("report", "summary", "-f", "md")[0] == 0


def test_a_ranking_file_among_scores_is_refused_with_the_command_that_shows_both(put, run):
    ranking = put("result_for_rank_a", RANKING.format(12.5))
    key = put("key", "".join(f"p{i} u{j} {'target' if i == j else 'nontarget'}\n" for i in range(6) for j in range(6)))
    lines = [f"p{i} u{j} {2 * (i == j) + (i * j) % 5}\n" for i in range(6) for j in range(6)]
    ours, theirs = put("ours.scores", "".join(lines)), put("their scores", "".join(lines).replace(" 4\n", " 3\n"))
    for given in ((ranking, ours), (theirs, ranking, ours)):
        code, _, err = run("compare", *given, "--key", key)
        scores = next(path for path in given if path != ranking)
        read = f"result_for_rank_a was read as a published table, which has no intervals, {scores} as scores;"
        assert (code, err.startswith(read)) == (2, True)
        assert len(run.rows(*shlex.split(err.split("`")[3])[1:], *QUICK)) == len(given)


def test_complaints_that_are_alike_are_one_line_with_their_number(put, run):
    key = put("key", "".join(f"p{i} u{i} {'target' if i % 2 else 'nontarget'}\n" for i in range(3000)))
    scores = put("scores", "".join(f"p{i} u{i} {'?' if i % 3 else i}\n" for i in range(3000)) + "p u\n")
    code, out, err = run("doctor", scores, "--key", key)
    assert (code, err) == (3, "2001 problems found\n")
    assert out.splitlines() == [
        "scores:2: score '?' is not a number; expected one such as -1.25 or 3e-4 (and 1999 more like it, up to line "
        "3000)",
        "scores:3001: 2 column(s); expected 3: enrol trial score",
    ]
