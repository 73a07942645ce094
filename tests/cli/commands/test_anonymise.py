"""`zeroevidence anonymise`: a line for each refused recording, a card for the audit, exit codes for scripts."""

import subprocess
import sys

import numpy as np
import pytest

soundfile = pytest.importorskip("soundfile")


@pytest.fixture
def speech(tmp_path):
    for at, name in enumerate(("ada", "bob")):
        folder = tmp_path / "speech" / name
        folder.mkdir(parents=True)
        soundfile.write(folder / f"{name}1.wav", 0.1 * np.random.default_rng(at).normal(size=6_000), 16_000)
    return tmp_path / "speech"


def test_the_card_is_printed_and_the_folder_written(run, speech, tmp_path):
    printed, _ = run.well("anonymise", speech, "-o", tmp_path / "out", "--protect", "mcadams:0.7", "--workers", 1)
    assert printed.startswith("protector      mcadams:0.7\n")
    assert "release        2 recordings; rates kept, formats kept;" in printed
    assert (tmp_path / "out" / "ada" / "ada1.wav").is_file()


@pytest.mark.parametrize(("arguments", "message"), [(("--protect", "shout"), "protector 'shout'"), ((), "--protect")])
def test_wrong_requests_are_usage_errors(run, speech, tmp_path, arguments, message):
    code, _, err = run("anonymise", speech, "-o", tmp_path / "out", *arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "out").exists()


def test_a_pipe_writes_audio_alone_to_standard_output_and_the_latency_to_standard_error(speech):
    def pipe(*arguments, data):
        command = [sys.executable, "-m", "zeroevidence", "anonymise", *arguments, "--protect", "mcadams:0.7"]
        return subprocess.run(command, input=data, capture_output=True, check=False)

    data = (speech / "ada" / "ada1.wav").read_bytes()
    done = pipe("-", "-o", "-", data=data)
    assert (done.returncode, len(done.stdout)) == (0, len(data)), done.stderr
    assert done.stderr.startswith(b"1 piece, 0.4 s: latency at most ")
    assert done.stdout != data
    raw = pipe("-", "-o", "-", "--rate", "16000", data=data[44:])
    assert (raw.returncode, raw.stdout) == (0, done.stdout[44:])
    for arguments, code, message in [
        (("-", "-o", "out"), 2, b"- is both input and output, or neither"),
        (("-", "-o", "-", "--keep-seed"), 2, b"are for files"),
        (("-", "-o", "-", "--language", "de"), 2, b"mcadams:0.7 does not recognise speech"),
        ((speech / "ada" / "ada1.wav", "-o", "out"), 3, b"ada1.wav: is one recording; expected a folder"),
        (("-", "-o", "-", "--rate", "4000"), 3, b"expected the 4000 Hz of --rate"),
    ]:
        done = pipe(*arguments, data=data)
        assert (done.returncode, done.stdout, message in done.stderr) == (code, b"", True)
    slow_rate = pipe("-", "-o", "-", "--rate", "4000", data=data[44:])
    assert (slow_rate.returncode, slow_rate.stdout) == (3, b"")
    assert b"4000 Hz; expected 8000 to 48000 Hz" in slow_rate.stderr


def test_refused_recordings_get_a_line_and_are_no_problem_later_but_missing_ones_are(run, speech, tmp_path):
    soundfile.write(speech / "bob" / "still.wav", np.zeros(6_000), 16_000)
    out = tmp_path / "out"
    code, printed, err = run("anonymise", speech, "-o", out, "--protect", "mcadams")
    assert (code, "2 recordings, 1 refused" in printed) == (3, True)
    assert err.splitlines()[0] == f"{speech / 'bob' / 'still.wav'}: silent: no sample above -80 dB"
    said = f"{out}: 1 of 3 recordings was refused and left out, as protector.json lists; what helps: other files"
    assert err.splitlines()[-1] == f"{said} in their place, and the same command (1 recording)"
    listed, _ = run.well("doctor", "--corpus", speech, "--anonymised", out)
    assert f"note: {out}: 1 of 3 recordings was refused by the protection" in listed
    assert "still.wav" not in listed
    assert run("utility", "--corpus", speech, "--anonymised", out)[0] == 0
    next(out.rglob("*.wav")).unlink()
    code, listed, _ = run("doctor", "--corpus", speech, "--anonymised", out)
    assert code == 3
    assert "no audio for utterance" in listed
    assert run("utility", "--corpus", speech, "--anonymised", out)[0] == 3
