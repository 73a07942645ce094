"""Damaged Parquet files, on which polars panics: one line, and nothing else on standard error."""

import os
import subprocess
import sys
from contextlib import suppress

import polars as pl
import pytest

from zeroevidence.data.files import silent_panics
from zeroevidence.data.formats.input_file import InputFile, load_parquet
from zeroevidence.errors import InputError


def damaged(tmp_path, capfd):
    """A Parquet file on which polars panics."""
    path = tmp_path / "scores.parquet"
    pl.DataFrame({"score": [0.5 * row for row in range(50)], "label": [0, 1] * 25}).write_parquet(path)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            pl.read_parquet(path)
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                assert "panicked at" in capfd.readouterr().err
                return path
    pytest.skip("this polars does not panic")


def test_a_panic_is_one_line(tmp_path, capfd):
    path = damaged(tmp_path, capfd)
    command = [sys.executable, "-m", "zeroevidence", "evaluate", path.name]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (3, "scores.parquet: cannot be read as Parquet: it is damaged\n")


def test_what_others_write_is_kept(tmp_path, capfd):
    damaged_file = InputFile.holding("f", damaged(tmp_path, capfd).read_bytes())
    with silent_panics():
        os.write(2, b"\nthread 'of ours' says\n")
    assert capfd.readouterr().err == "\nthread 'of ours' says\n"
    with suppress(ValueError), silent_panics():
        os.write(2, b"progress\n")
        raise ValueError
    assert capfd.readouterr().err == "progress\n"
    with pytest.raises(InputError, match="f: cannot be read as Parquet: it is damaged"):
        load_parquet(damaged_file)
    assert capfd.readouterr().err == ""


def test_a_closed_standard_error_is_no_obstacle(tmp_path):
    pl.DataFrame({"score": [2.0, 1.0], "label": [1, 0]}).write_parquet(tmp_path / "scores.parquet")
    command = f"{sys.executable} -m zeroevidence evaluate scores.parquet --intervals 0 --null 0 2>&-"
    ended = subprocess.run(command, cwd=tmp_path, shell=True, stdout=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, "EER" in ended.stdout) == (0, True)
