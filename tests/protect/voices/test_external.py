"""A program as a protector: what it gets, what it gives, and how it fails."""

import sys
import time

import numpy as np
import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import External

pytest.importorskip("soundfile")

HALVE = """
import soundfile, sys
wave, rate = soundfile.read(sys.argv[1])
soundfile.write(sys.argv[2], wave / 2, rate)
"""


@pytest.fixture
def program(tmp_path):
    def make(code, *arguments, **options):
        script = tmp_path / "a program.py"
        script.write_text(code)
        return External(f"'{sys.executable}' '{script}' {{input}} {{output}} {' '.join(arguments)}", **options)

    return make


def test_the_program_gets_and_gives_wav_and_no_shell_looks_at_the_command(program, utterance, tmp_path, voice):
    code = HALVE + "\nassert sys.argv[3:] == ['$HOME', ';', 'touch', 'x', '*'], sys.argv"
    wave = voice.vowel(120.0, seconds=0.2)
    result = program(code, "'$HOME'", ";", "touch", "x", "'*'")(wave, 16000, utterance)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, wave / 2, atol=1e-4)
    assert not (tmp_path / "x").exists()


def test_other_rates_channels_and_small_differences_in_length(program, utterance, voice):
    pytest.importorskip("soxr")
    code = """
import numpy, soundfile, sys
wave, rate = soundfile.read(sys.argv[1])
wave = numpy.repeat(wave, 2)[: -800]
soundfile.write(sys.argv[2], numpy.stack([wave, wave], 1), 2 * rate, subtype="FLOAT")
"""
    wave = voice.vowel(120.0, 8000, 0.5)
    result = program(code)(wave, 8000, utterance)
    assert result.shape == wave.shape
    assert np.corrcoef(result, wave)[0, 1] > 0.9
    assert not result[-300:].any()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; print('first', file=sys.stderr); sys.exit('no model\\n')", "ended with status 1: no model"),
        ("import os; os.abort()", "ended with status -6"),
        ("import sys; print('why', file=sys.stderr)", "wrote no output: why"),
        ("import sys; open(sys.argv[2], 'w').write('not audio')", "wrote no usable wav file"),
        (HALVE + "soundfile.write(sys.argv[2], wave[::2], rate)", "differs by 0.15 s in length"),
    ],
)
def test_failures_name_utterance_program_and_reason(program, utterance, code, words, voice):
    with pytest.raises(InputError, match=f"^utterance s1_u1: .*command:python.*{words}") as caught:
        program(code)(voice.vowel(120.0, seconds=0.3), 16000, utterance)
    assert "\n" not in str(caught.value)


def test_timeout_ends_the_program_and_its_children(program, utterance, tmp_path, voice):
    code = f"""
import subprocess, sys, time
late = "import time, pathlib; time.sleep(2); pathlib.Path({str(tmp_path / "late")!r}).touch()"
subprocess.Popen([sys.executable, "-c", late])
time.sleep(60)
"""
    start = time.perf_counter()
    with pytest.raises(InputError, match=r"did not end within 0\.5 s"):
        program(code, timeout=0.5)(voice.vowel(120.0, seconds=0.1), 16000, utterance)
    assert time.perf_counter() - start < 50  # the program would sleep for 60 s
    time.sleep(2.2)
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize("command", ["", "sox {input}", "{input} {output}", "sox '{input} {output}x"])
def test_commands_that_cannot_work(command):
    with pytest.raises(UsageError, match="command"):
        External(command)
    with pytest.raises(UsageError, match="a timeout above 0 and a tolerance"):
        External("a {input} {output}", timeout=0)


def test_only_usable_input_runs_the_program(utterance, voice):
    nowhere = External("nowhere {input} {output}")
    assert nowhere(np.zeros(0, np.float32), 16000, utterance).shape == (0,)
    with pytest.raises(InputError, match="s1_u1"):
        nowhere(np.array([np.nan], np.float32), 16000, utterance)
    with pytest.raises(InputError, match="utterance s1_u1: command:nowhere cannot be run: No such file"):
        nowhere(voice.vowel(120.0, seconds=0.1), 16000, utterance)


def test_a_program_may_take_a_seed(program, utterance, voice, tmp_path):
    file = tmp_path / "seeds"
    code = HALVE + f"\nopen({str(file)!r}, 'a').write(sys.argv[3] + ' ')"
    wave = voice.vowel(120.0, seconds=0.1)
    for seed in (1, 1, 2):
        program(code, "{seed}", seed=seed)(wave, 16000, utterance)
    first, again, other = map(int, file.read_text().split())
    assert first == again != other
    assert 0 <= min(first, other) <= max(first, other) < 2**31
    assert program(code, "{seed}", seed=1).fingerprint != program(code, "{seed}", seed=2).fingerprint
    assert program(code, seed=1).fingerprint == program(code, seed=2).fingerprint
