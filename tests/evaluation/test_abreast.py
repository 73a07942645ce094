"""Files that are evaluated two at a time give what they give one by one."""

import threading

import numpy as np
import pytest

from zeroevidence import evaluate
from zeroevidence.evaluation.abreast import abreast
from zeroevidence.evaluation.files import Reading, evaluate_files, score_files
from zeroevidence.evaluation.jsonfile import to_json


def test_two_run_at_a_time_and_answers_keep_their_order():
    meeting = threading.Barrier(2, timeout=20)  # breaks unless two are there at once

    def job(number):
        def run():
            meeting.wait()
            return number

        return run

    assert abreast(job(number) for number in range(6)) == [0, 1, 2, 3, 4, 5]


def test_the_first_error_ends_it_and_later_jobs_are_not_made():
    made = []

    def job(number):
        made.append(number)

        def run():
            if number in (1, 2):
                raise ValueError(f"job {number}")
            return number

        return run

    with pytest.raises(ValueError, match="job 1"):
        abreast(job(number) for number in range(50))
    assert len(made) < 10


def test_files_give_what_they_give_one_by_one(tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for name, shift in (("a", 1.0), ("b", 1.5), ("c", 0.0), ("d", 2.0), ("e", 0.3)):
        lines = [
            f"s{i} s{j}-u{k} {rng.normal() + shift * (i == j):.6f} {'target' if i == j else 'nontarget'}"
            for i in range(12)
            for j in range(12)
            for k in range(3)
        ]
        paths.append(tmp_path / f"{name}.scores")
        paths[-1].write_text("\n".join(lines) + "\n")
    files = score_files([str(path) for path in paths])
    found = evaluate_files(files)
    alone = [evaluate(Reading().read(file), labels=file.labels, about=file.about) for file in files]
    for one, other in zip(found, alone, strict=True):
        assert one.metrics == other.metrics
        assert one.labels == other.labels
    assert to_json(found) == to_json(evaluate_files(files))
