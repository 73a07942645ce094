"""Every command that writes, and what may happen to a process meanwhile: killed, a full disk, closed streams, a second.

Which commands write follows from their options, so a new one is tested without being named here, if it needs nothing
but what `GIVEN` has. Faults happen at three moments of each, or at every moment where everything is tested.
"""

import shutil
import tempfile
from pathlib import Path

import click
import numpy as np
import pytest

from tests.effort import FULL, slow, spread
from tests.faults import Copies
from tests.onnx_bytes import save as save_model
from tests.small_encoder import save_small_encoder
from zeroevidence.cli import cli
from zeroevidence.cli.lazy import OUTPUTS
from zeroevidence.data.audio import write_audio
from zeroevidence.data.writing import TEMPORARY_PREFIX

# Values of parameters without which no command runs; names of files are those of `inputs`.
GIVEN = {
    **{"corpus": "speech", "protect": "mcadams", "embeddings": "voices.npz", "attribute": "sex", "model": "model"},
    **{"enrol": "enrol.npz", "trial": "trial.npz", "arguments": "tiny.json"},
}
NO_INTERVALS = ("--intervals", "0", "--null", "0")
SCORED = ("--intervals", "5", "--measure", "eer")
FURTHER = {  # inputs of which a command needs any, and what makes it quick
    "demo": ("--files", "bundled"),
    "audit": (
        *("--protect", "mcadams", "--extractor", "tiny.json", "--backend", "cosine", "--attacker", "ignorant"),
        *("--splits", "1", *NO_INTERVALS),
    ),
    "evaluate": ("scores.txt", *NO_INTERVALS),
    "report": ("result.json", "-f", "md"),
    "plot": ("det", "scores.txt"),
    "compare": ("scores.txt", "other.txt", *SCORED),
    "plan": ("--pilot", "result.json"),
    "utility": ("--transcripts", "text", "--hypotheses", "heard", "--intervals", "0"),
    "protect fit": ("--protector", "leace", "--budget", "eer=+50%") if FULL else ("--protector", "linear"),
    "protect evaluate": ("--protector", "linear", "--classifier", "lda", "--no-verification", *NO_INTERVALS),
    "link": ("--block", "12"),
    "tandem evaluate": ("--cm", "cm.txt", "--asv", "asv.txt", "--intervals", "0"),
    "train-attacker": ("--extractor", "small.json", "--device", "cpu", "--epochs", "2", "--scope", "last"),
}
WRITTEN = {"--per-trial": "trials.csv", "--per-speaker": "speakers.csv", "plot": "out.svg", "protect apply": "out.npz"}
KEPT = ("cache", "blocks", "candidates", ".out.progress")  # folders from which a run goes on
PAGES = {"demo": "--files excludes pages"}
LONG = {"train-attacker"}


def commands(group, *names):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield from commands(command, *names, name) if isinstance(command, click.Group) else [((*names, name), command)]


def writing():
    """Yield each command that writes, with the options that say where to."""
    for names, command in commands(cli):
        options = {option for parameter in command.params for option in parameter.opts}
        if OUTPUTS & options or "--overwrite" in options:
            marks = [slow] if " ".join(names) in LONG else []
            yield pytest.param(names, command, id=" ".join(names), marks=marks)


every_writer = pytest.mark.parametrize(("names", "command"), list(writing()))


@pytest.fixture(scope="module")
def copies():
    started = Copies()
    yield started
    started.close()


@pytest.fixture(scope="module")
def place():
    """A folder that others may look into."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def inputs(place, copies):
    """Scores, embeddings, speech and what else commands read, all of it small."""
    for package in ("soundfile", "onnxruntime", "safetensors", "matplotlib", "sklearn"):
        pytest.importorskip(package)
    home, rng = place / "inputs", np.random.default_rng(0)
    home.mkdir()
    pairs = [(f"p{e}", f"u{t}", t % 12 == e) for t in range(24) for e in range(12)]
    for name in ("scores.txt", "other.txt"):
        lines = (f"{e} {t} {rng.normal(2.0 * same):.3f} {'target' if same else 'nontarget'}\n" for e, t, same in pairs)
        (home / name).write_text("".join(lines))
    kinds = {"cm.txt": {"u - bonafide": 1.5, "u A07 spoof": -1.5}}
    kinds["asv.txt"] = {"- target": 2.0, "- nontarget": -2.0, "A07 spoof": 1.0}
    for name, means in kinds.items():
        lines = [f"{kind} {rng.normal(mean):.3f}\n" for kind, mean in means.items() for _ in range(12)]
        (home / name).write_text("".join(lines).replace("u ", "u{} ").format(*range(99)))
    for name in ("text", "heard"):
        (home / name).write_text("u1 we call it bear\nu2 one two\n")
    people, sex = np.repeat([f"s{i:02d}" for i in range(24)], 6), np.repeat(["f", "m"] * 12, 6)
    vectors = np.repeat(rng.normal(size=(24, 8)), 6, axis=0) + 0.5 * rng.normal(size=(144, 8))
    vectors[:, 0] += np.where(sex == "f", 1.0, -1.0)
    for name, part in (("voices", slice(None)), ("enrol", slice(0, None, 2)), ("trial", slice(1, None, 2))):
        np.savez(home / f"{name}.npz", vectors=vectors[part], speaker=people[part], sex=sex[part])
    time = np.arange(5600) / 16_000
    for number in range(20):
        wave = sum(0.7**h * np.sin(2 * np.pi * (90 + 15 * (number // 2)) * h * time) for h in range(1, 9))
        recording = home / "speech" / f"p{number // 2}" / f"u{number}.wav"
        recording.parent.mkdir(parents=True, exist_ok=True)
        write_audio(recording, 0.1 * wave + 0.01 * rng.normal(size=len(time)))
    save_model(home, "tiny")
    if FULL:
        save_small_encoder(home)
    fit = ("protect", "fit", "voices.npz", "--attribute", "sex", "--protector", "linear", "-o", "model")
    for arguments in (fit, ("evaluate", "scores.txt", "--intervals", "5", "-f", "json", "-o", "result.json")):
        assert copies.run(home, arguments).code == 0
    return home


@pytest.fixture(scope="module")
def run(copies, inputs, place):
    """Run a command that writes, in a folder of a name, with a fault."""

    def runner(names, command, home, fault="", at=(), more=(), **streams):
        (place / home).mkdir(exist_ok=True)
        return copies.run(place / home, [*line(names, command, inputs), *more], fault, at, **streams)

    return runner


def line(names, command, inputs):
    """Return a command line that writes whatever the command can write."""
    name = " ".join(names)
    arguments = [GIVEN[each.name] for each in command.params if each.required and isinstance(each, click.Argument)]
    arguments += FURTHER.get(name, ())
    for parameter in command.params:
        option = parameter.opts[-1]
        if option in OUTPUTS - {"--cache"} and name not in PAGES:
            arguments += [option, WRITTEN.get(option) or WRITTEN.get(name) or f"out{'.html' * (option == '--report')}"]
        elif parameter.required and isinstance(parameter, click.Option):
            arguments += [option, GIVEN[parameter.name]]
        elif option == "--workers":
            arguments += [option, "1"]
    return [*names, *(inputs / each if (inputs / each).exists() else each for each in arguments)]


def contents(home):
    """Return the results in a folder; those of a search are complete where its manifest says so."""
    files = [path for path in home.rglob("*") if path.is_file() and not set(KEPT) & set(path.relative_to(home).parts)]
    return {path.relative_to(home): path.read_bytes() for path in files if not is_litter(path) and not is_begun(path)}


def is_litter(path):
    return path.name.startswith(TEMPORARY_PREFIX) or path.name.endswith(".lock") or ".adding-" in str(path)


def is_begun(path):
    return path.name == "manifest.json" and b'"done": true' not in path.read_bytes()


@pytest.fixture(scope="module")
def whole(run, place):
    """The results of a command to which nothing happens, with what it printed and the number of its moments."""
    made = {}

    def runner(names, command):
        if names not in made:
            home = "-".join(names)
            ended = run(names, command, home)
            assert ended.code == 0, ended.err
            assert contents(place / home), ended.err
            made[names] = contents(place / home), ended
        return made[names]

    return runner


def moments(number):
    return range(number) if FULL else sorted({0, number // 2, number - 1})


def goes_on(run, names, command, home, expected):
    """Run a command again after something happened to it: it writes the same as if nothing had, and cleans up."""
    if not FULL and not any(path.is_file() and not is_litter(path) for path in home.rglob("*")):
        return  # it begins as it has begun
    ended = run(names, command, home.name)
    complete = contents(home) == expected
    several = sum(each.opts[-1] in OUTPUTS for each in command.params) > 1 and names[0] == "evaluate"
    if ended.code == 2 and several:  # files that lie side by side belong to nobody
        assert "--overwrite replaces it" in ended.err
        ended = run(names, command, home.name, more=["--overwrite"])
        complete = contents(home) == expected and ended.code == 0
    elif ended.code == 0:  # what lies beside a file may be that of another process
        assert all(path.parent == home for path in home.rglob("*") if is_litter(path))
    assert complete, (ended.err, sorted(contents(home)), sorted(expected))
    assert ended.code in (0, 2), ended.err
    assert "Traceback" not in ended.err


@every_writer
def test_killed(names, command, run, whole, place):
    expected, ended = whole(names, command)
    for at in moments(ended.moments):
        home = place / f"{'-'.join(names)}-killed-{at}"
        assert run(names, command, home.name, "kill", [at]).code == -9
        assert contents(home).items() <= expected.items()
        goes_on(run, names, command, home, expected)
        shutil.rmtree(home)


@every_writer
def test_a_full_disk(names, command, run, whole, place):
    expected, ended = whole(names, command)
    for at in moments(ended.moments):
        home = place / f"{'-'.join(names)}-full-{at}"
        ended = run(names, command, home.name, "full", [at])
        assert contents(home).items() <= expected.items()
        assert [path for path in home.rglob("*") if is_litter(path)] == []
        if ended.code == 0:  # nothing more was to be written
            assert contents(home) == expected
        else:
            assert (ended.code, "cannot be written: File too large" in ended.err) == (6, True), ended.err
            assert "Traceback" not in ended.err
            goes_on(run, names, command, home, expected)
        shutil.rmtree(home)


@every_writer
def test_a_second_process(names, command, run, whole, place, copies):
    """The first is stopped at moments; meanwhile others are started, and exactly one of all succeeds."""
    expected, ended = whole(names, command)
    home = place / f"{'-'.join(names)}-second"
    first, ended = run(names, command, home.name, "stop", moments(ended.moments)), []
    while first.code is None:
        ended.append(run(names, command, home.name))
        first = copies.go_on(first)
    refused = [each.code == 2 or "this search is done" in each.err for each in (*ended, first)]
    assert {each.code for each in (*ended, first)} <= {0, 2}, [each.err for each in (*ended, first)]
    assert refused.count(False) == 1
    assert contents(home) == expected
    assert [path for path in home.rglob("*") if is_litter(path)] == []


@every_writer
@pytest.mark.parametrize(("out", "err"), spread([("closed", "full"), ("broken", "closed"), ("full", "broken")], 2))
def test_streams_that_nobody_reads(names, command, out, err, run, whole, place):
    expected, open_streams = whole(names, command)
    home = place / f"{'-'.join(names)}-{out}"
    ended = run(names, command, home.name, stdin="closed", stdout=out, stderr=err)
    assert ended.code == (6 if open_streams.out else 0)
    assert contents(home) == expected


@every_writer
def test_a_folder_that_may_only_be_read(names, command, run, whole, place):
    home = place / f"{'-'.join(names)}-read-only"
    home.mkdir(mode=0o555)
    ended = run(names, command, home.name)
    assert (ended.code, "cannot be written: Permission denied" in ended.err) == (6, True), ended.err
    assert list(home.iterdir()) == []
