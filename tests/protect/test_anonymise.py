"""A corpus is anonymised into one of the same layout: nothing invented, nothing lost without a line, nothing undone."""

import hashlib
import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from zeroevidence.data.audio import load_audio
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import McAdams, load_protector
from zeroevidence.protect.anonymise import AnonymiseOptions, anonymise, journal_of, seed_and_settings
from zeroevidence.protect.release import (
    RefusedRecording,
    protector_without_draws,
    read_card,
    refused_recordings,
    release_card,
)
from zeroevidence.protect.voices import VOICE_PROTECTORS, register_voice
from zeroevidence.run import Run

soundfile = pytest.importorskip("soundfile")


def write(path, seconds=0.3, rate=16_000, seed=0, **settings):
    path.parent.mkdir(parents=True, exist_ok=True)
    wave = 0.1 * np.random.default_rng(seed).normal(size=int(seconds * rate))
    soundfile.write(path, wave, rate, **settings)


@pytest.fixture
def tree(tmp_path):
    home = tmp_path / "original"
    write(home / "ada" / "a1.wav", subtype="PCM_24", seed=1)
    write(home / "ada" / "a2.flac", rate=22_050, seed=2)
    write(home / "bob" / "deep" / "b1.wav", rate=8_000, seed=3)
    write(home / "bob" / "b2.ogg", rate=44_100, seed=4)
    (home / "speakers.tsv").write_text("speaker\tsex\nada\tF\nbob\tM\n")
    (home / "ada" / "a1.txt").write_text("the bear\n")
    (home / "bob" / "x.trans.txt").write_text("b2 THE BEAR\n")
    (home / "ada" / "private.pdf").write_bytes(b"%PDF")
    return home


def facts(corpus):
    """All that a corpus says about its utterances, other than where their audio is."""
    return {each.id: (each.speaker, each.role, each.split, dict(each.attributes)) for each in corpus}


def test_a_tree_keeps_its_files_rates_formats_and_transcripts(tree, tmp_path):
    out = tmp_path / "out"
    result = anonymise(tree, out, protect="mcadams:0.7")
    assert result.refused == ()
    assert facts(read_corpus(out, draw=False)) == facts(read_corpus(tree, draw=False))
    for path in tree.rglob("*"):
        if path.suffix in (".wav", ".flac", ".ogg"):
            both = [soundfile.info(file) for file in (path, out / path.relative_to(tree))]
            before, after = ((info.samplerate, info.format, info.subtype) for info in both)
            assert before == after
    assert (out / "ada" / "a1.txt").read_text() == "the bear\n"
    assert (out / "bob" / "x.trans.txt").is_file()
    assert not (out / "ada" / "private.pdf").exists()
    utterance = next(each for each in read_corpus(tree, draw=False) if each.id == "a2")
    expected = McAdams(0.7)(load_audio(utterance, 22_050), 22_050, utterance)
    np.testing.assert_allclose(load_audio(out / "ada" / "a2.flac", 22_050), expected, atol=2**-15)


def test_channels_that_are_averaged_are_said(tree, tmp_path):
    def said(folder):
        return anonymise(tree, tmp_path / folder, protect="mcadams").card.release.sentences[1:-1]

    assert said("one") == ()
    wave = 0.1 * np.random.default_rng(0).normal(size=(5_000, 2))
    soundfile.write(tree / "ada" / "both.wav", wave, 16_000)
    assert said("two") == ("1 of several channels, which were averaged into one.",)
    assert soundfile.info(tmp_path / "two" / "ada" / "both.wav").channels == 1
    assert read_card(tmp_path / "two").release.mixed == 1


def test_rate_and_format_can_be_asked_for(tree, tmp_path):
    anonymise(tree, tmp_path / "out", protect="mcadams")
    settings = ("mcadams:0.7", AnonymiseOptions(16_000, "flac"))
    with pytest.raises(UsageError, match="exists; expected a new folder, or --overwrite"):
        anonymise(tree, tmp_path / "out", *settings)
    anonymise(tree, tmp_path / "out", *settings, overwrite=True)
    assert read_card(tmp_path / "out").name == "mcadams:0.7"
    files = sorted((tmp_path / "out").rglob("*.flac"))
    assert len(files) == 4
    assert {soundfile.info(file).samplerate for file in files} == {16_000}
    with pytest.raises(UsageError, match="unknown format 'm4a'"):
        AnonymiseOptions(format="m4a")
    with pytest.raises(UsageError, match="3 Hz; expected 4000 to 768000"):
        AnonymiseOptions(rate=3)


def test_a_kaldi_folder_with_segments_gets_a_file_for_each_utterance(tmp_path):
    home = tmp_path / "original"
    for name, role in (("enrolls", "e"), ("trials", "t")):
        write(home / "audio" / f"{role}.wav", seconds=1.0, seed=ord(role))
        folder = home / f"dev_{name}"
        folder.mkdir()
        (folder / "wav.scp").write_text(f"rec-{role} audio/{role}.wav\n")
        (folder / "utt2spk").write_text(f"{role}1 ada\n{role}2 bob\n")
        (folder / "spk2gender").write_text("ada f\nbob m\n")
        (folder / "segments").write_text(f"{role}1 rec-{role} 0 0.4\n{role}2 rec-{role} 0.5 0.9\n")
        (folder / "text").write_text(f"{role}1 THE BEAR\n{role}2 WE CALL\n")
        (folder / "utt2dur").write_text(f"{role}1 0.4\n")
    out = tmp_path / "out"
    anonymise(home, out, protect="mcadams")
    written = read_corpus(out, draw=False)
    assert facts(written) == facts(read_corpus(home, draw=False))
    assert {each.role for each in written} == {"enrol", "trial"}
    assert all(each.start is None and len(load_audio(each)) == 6_400 for each in written)
    assert (out / "dev_trials" / "text").read_text() == "t1 THE BEAR\nt2 WE CALL\n"
    assert (out / "dev_trials" / "spk2utt").read_text() == "ada t1\nbob t2\n"
    assert not {path.name for path in out.rglob("*")} & {"segments", "utt2dur"}
    assert facts(read_corpus(home, draw=False).replaced(out)) == facts(written)


def test_a_table_keeps_roles_splits_and_attributes(tree, tmp_path):
    table = tree.parent / "list.csv"
    table.write_text(
        "utterance,speaker,path,role,split,session,start,end\n"
        'u1,ada,original/ada/a1.wav,trial,eval,"one, two",,\n'
        "u2,bob,original/bob/deep/b1.wav,train,,two,,\n"
        "u3,bob,original/bob/deep/b1.wav,train,,two,0,3200\n"
    )
    out = tmp_path / "elsewhere" / "out"
    anonymise(table, out, protect="mcadams")
    original, written = (read_corpus(place, draw=False) for place in (table, out))
    assert facts(written) == facts(original)
    assert [len(load_audio(each, 8_000)) for each in written if each.id == "u3"] == [1_600]
    assert facts(original.replaced(out)) == facts(original)


def test_the_seed_decides_the_draws_and_is_stated_only_where_asked(tree, tmp_path):
    digests = []
    for name, cores, settings in [
        ("first", 1, {"seed": 7}),
        ("same", 3, {"seed": 7, "keep_seed": True}),
        ("other", 1, {"seed": 8}),
        ("secret", 1, {}),
        ("another", 1, {}),
    ]:
        options = AnonymiseOptions(16_000, "wav", **settings)
        result = anonymise(tree, tmp_path / name, "mcadams-random", options, run=Run(cores=cores))
        digests.append((tmp_path / name / "digests.txt").read_text())
        stated = json.loads((tmp_path / name / "protector.json").read_text())["release"]["seed"]
        assert stated == (7 if name == "same" else None)
        assert result.card.release.draws == "seeded"
        assert not list(tmp_path.glob(".*"))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4
    assert "Drawn by a seed that was not kept." in result.card.to_text()
    fixed = anonymise(tree, tmp_path / "fixed", "mcadams", AnonymiseOptions(keep_seed=True, seed=7)).card.release
    assert (fixed.draws, fixed.seed) == ("none", None)


def test_the_digests_are_those_of_the_files(tree, tmp_path):
    out = tmp_path / "out"
    anonymise(tree, out, protect="mcadams")
    assert subprocess.run(["sha256sum", "--check", "--quiet", "digests.txt"], cwd=out, check=False).returncode == 0
    digest = hashlib.sha256((out / "digests.txt").read_bytes()).hexdigest()
    card = read_card(out)
    assert card.release.digests == digest
    files, notes = [each.path for each in read_corpus(out, draw=False)], []
    assert release_card(out, files, notes.append) == card
    assert notes == []
    changed = out / "ada" / "a1.wav"
    write(changed, seed=9)
    assert release_card(out, files, notes.append).method == "Not known here: the speech was protected elsewhere."
    assert notes == [f"note: {changed}: is not the recording that protector.json describes; the card is left out"]
    stated = json.loads((out / "protector.json").read_text())
    (out / "protector.json").write_text(json.dumps(stated))  # without its indentation
    assert read_card(out) == card
    edits = [{"name": "pitch:2"}, {"utility": ""}, {"sha256": ""}, {"release": stated["release"] | {"version": "9"}}]
    for edit in (*edits, {"release": stated["release"] | {"recordings": 99}}):
        (out / "protector.json").write_text(json.dumps(stated | edit))
        with pytest.raises(InputError, match=r"protector\.json: was changed after it was written"):
            read_card(out)
    (out / "protector.json").unlink()
    assert release_card(out, files, notes.append).name == "out"
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("made", "name", "known"),
    [
        ("pitch:2", "pitch:2", True),
        ("pitch:-2..2", "pitch:2", False),  # drawn
        ("pitch:2", "command:true {input} {output}", False),  # what another's card names is not started
        ("pitch:2", "of-a-later-version", False),
    ],
)
def test_the_protector_of_a_release_that_draws_nothing(tree, tmp_path, made, name, known):
    card = replace(anonymise(tree, tmp_path / "out", protect=made).card, name=name)
    protector = protector_without_draws(card)
    assert (protector is not None) == known
    assert not known or protector.fingerprint == load_protector(name).fingerprint


def test_recordings_that_cannot_be_used_are_refused_and_tried_again(tree, tmp_path):
    soundfile.write(tree / "bob" / "still.wav", np.zeros(8_000), 16_000)
    out = tmp_path / "out"
    result = anonymise(tree, out, protect="mcadams-random")
    assert [str(one) for one in result.refused] == [f"{tree / 'bob' / 'still.wav'}: silent: no sample above -80 dB"]
    refused = (RefusedRecording("still", "silent: no sample above -80 dB"),)
    assert (result.card.release.recordings, result.card.release.refused) == (4, refused)
    assert refused_recordings(out) == refused
    assert not (out / "bob" / "still.wav").exists()
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.wav")}
    write(tree / "bob" / "still.wav", seed=5)
    again = anonymise(tree, out, protect="mcadams-random")
    assert again.refused == ()
    assert again.card.release.recordings == 5
    assert refused_recordings(out) == ()
    assert before.items() <= {path: path.stat().st_mtime_ns for path in out.rglob("*.wav")}.items()
    assert not list(tmp_path.glob(".*"))
    soundfile.write(tree / "bob" / "still.wav", np.zeros(8_000), 16_000)
    assert len(anonymise(tree, out, protect="mcadams", overwrite=True).refused) == 1
    assert not (out / "bob" / "still.wav").exists()  # speech under the protection before
    for name in ("a", "b"):
        (tmp_path / "silent" / name).mkdir(parents=True)
        soundfile.write(tmp_path / "silent" / name / f"{name}1.wav", np.zeros(8_000), 16_000)
    with pytest.raises(InputError, match=r"a1\.wav: silent.*and 1 more"):
        anonymise(tmp_path / "silent", tmp_path / "none", protect="mcadams")


@pytest.fixture
def interrupted():
    """A protector that is interrupted at its third recording, once; and how often it was called."""
    calls = []

    @register_voice("breaking", "Moves resonances, until it is interrupted.")
    def breaking(text, seed):
        inner = load_protector("mcadams-random", seed=seed)

        class Breaking:
            name, fingerprint = "breaking", inner.fingerprint

            def __call__(self, wave, rate, utterance):
                calls.append(utterance.id)
                if len(calls) == 3:
                    raise KeyboardInterrupt
                return inner(wave, rate, utterance)

        return Breaking()

    yield calls
    VOICE_PROTECTORS.remove("breaking")


def test_an_interrupted_run_continues_with_its_seed(tree, tmp_path, interrupted):
    out = tmp_path / "out"
    run = Run(cores=1)
    with pytest.raises(KeyboardInterrupt):
        anonymise(tree, out, protect="breaking", run=run)
    journal = journal_of(out)
    assert journal.folder.stat().st_mode & 0o077 == 0
    assert not (out / "protector.json").exists()
    with pytest.raises(UsageError, match="unfinished run with other settings; --overwrite starts again"):
        anonymise(tree, out, protect="mcadams")
    done, seed = len(interrupted), seed_and_settings(journal)[0]
    result = anonymise(tree, out, protect="breaking", run=run)
    assert (interrupted[:2], interrupted[done:]) == (["a1", "a2"], ["b1", "b2"])
    assert not journal.folder.exists()
    anonymise(tree, tmp_path / "whole", "mcadams-random", AnonymiseOptions(seed=seed))
    lists = [(tmp_path / name / "digests.txt").read_text().splitlines() for name in ("out", "whole")]
    lines = [{line for line in text if "ogg" not in line} for text in lists]  # an ogg stream has a number of its own
    assert lines[0] == lines[1]
    assert result.card.release.recordings == 4


def test_a_run_that_wrote_nothing_stands_in_nobodys_way(tree, tmp_path, interrupted):
    interrupted += ["", ""]
    with pytest.raises(KeyboardInterrupt):
        anonymise(tree, tmp_path / "out", protect="breaking", run=Run(cores=1))
    assert anonymise(tree, tmp_path / "out", protect="mcadams").card.name == "mcadams"


@pytest.mark.parametrize("place", ["original", "original/new", ".", "link"])
def test_the_original_is_never_written_into(tree, tmp_path, place):
    (tmp_path / "link").symlink_to(tree)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=r"the original speech is in .*expected a folder apart from it"):
        anonymise(tree, tmp_path / place, protect="mcadams", overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_two_recordings_never_share_a_file(tree, tmp_path):
    write(tree / "ada" / "a1.flac")
    table = tree / "utterances.tsv"
    table.write_text("utterance\tspeaker\tpath\nu1\tada\tada/a1.wav\nu2\tada\tada/a1.flac\n")
    with pytest.raises(InputError, match=r"'u1' and 'u2' would both be written to ada/a1\.wav"):
        anonymise(tree, tmp_path / "out", "mcadams", AnonymiseOptions(format="wav"))
