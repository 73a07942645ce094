"""Corpora: roles, splits, folders of anonymised speech, and what doctor says of bad ones."""

import random
from collections import Counter
from pathlib import PurePath

import numpy as np
import pytest

from zeroevidence.data.audio import write_audio
from zeroevidence.data.corpus import Affix, Corpus, Utterance, find_affix
from zeroevidence.data.formats.corpora import examine_corpus, read_corpus, read_segments
from zeroevidence.data.formats.speech_pairs import examine_pairs, examine_speech
from zeroevidence.errors import InputError
from zeroevidence.run import Run

pytest.importorskip("soundfile")
pytest.importorskip("soxr")

NOISE = np.random.default_rng(0).normal(0, 0.1, 4800)


def people(speakers=20, each=4, women=5):
    return [
        Utterance(f"s{i:02d}-{k}", f"s{i:02d}", f"s{i:02d}/{k}.wav", attributes={"sex": "F" if i < women else "M"})
        for i in range(speakers)
        for k in range(each)
    ]


def tree(folder, speakers=("anna", "bert", "cleo", "dora", "emil", "fred"), each=2, suffix="wav"):
    for name in speakers:
        (folder / name).mkdir(parents=True)
        for k in range(each):
            write_audio(folder / name / f"{name}{k}.{suffix}", NOISE)
    return folder


def reasons(problems):
    return "\n".join(map(str, problems))


def problems_of(path):
    return reasons(examine_corpus(path).problems)


def test_assignment_is_disjoint_stratified_and_independent_of_order():
    ones = people()
    corpus = Corpus(ones).assign(seed=3)
    places = {}
    for one in corpus:
        places.setdefault(one.speaker, set()).add("train" if one.role == "train" else one.split)
    assert all(len(found) == 1 for found in places.values())
    counts = Counter(next(iter(found)) for found in places.values())
    assert counts == {"eval": 8, "dev": 6, "train": 6}
    women = Counter(next(iter(places[f"s{i:02d}"])) for i in range(5))
    assert all(1 <= women[place] <= 2 for place in ("eval", "dev", "train"))
    for one in corpus.select("enrol", "eval"):
        mine = [other.role for other in corpus if other.speaker == one.speaker]
        assert sorted(mine) == ["enrol", "enrol", "trial", "trial"]
    shuffled = ones.copy()
    random.Random(1).shuffle(shuffled)
    assert {one.id: one for one in Corpus(shuffled).assign(seed=3)} == {one.id: one for one in corpus}
    assert Corpus(ones).assign(seed=4) != corpus
    assert corpus.assign(seed=9) == corpus


def test_what_is_given_stays_and_parts_of_one_file_stay_together():
    ones = [Utterance(f"a{k}", "a", "a.wav", "train") for k in range(2)]
    ones += [
        Utterance(f"{name}{k}{part}", name, f"{name}{k}.wav", split=split, start=part * 10, end=part * 10 + 9)
        for name, split in (("b", "eval"), ("c", "eval"), ("d", "dev"), ("e", "dev"), ("f", None), ("g", None))
        for k in range(2)
        for part in range(3)
    ]
    corpus = Corpus(ones).assign()
    assert {one.speaker for one in corpus.select("train")} == {"a"}
    given = {"b": "eval", "c": "eval", "d": "dev", "e": "dev"}
    assert {one.speaker: one.split for one in corpus if one.speaker in given} == given
    roles = {}
    for one in corpus:
        roles.setdefault(str(one.path), set()).add(one.role)
    assert all(len(found) == 1 for found in roles.values())


def test_speakers_with_one_recording_are_only_trained_on():
    corpus = Corpus([*people(12), Utterance("x", "lonely", "x.wav")])
    assert corpus.single == ("lonely",)
    assert [one.role for one in corpus.assign() if one.speaker == "lonely"] == ["train"]
    with pytest.raises(InputError, match="fewer than two"):
        Corpus(people(3, 1)).assign()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Utterance("u", "s", "p", "x"), "unknown role 'x'"),
        (lambda: Utterance("u", "s", "p", start=5, end=5), "start < end"),
        (lambda: Corpus([Utterance("u", "s", "p"), Utterance("u", "t", "q")]), "'u' occurs twice"),
        (lambda: Corpus([]), "no utterances"),
        (lambda: Corpus(people(1)).select("trail"), "unknown 'trail'"),
    ],
)
def test_invalid_utterances_and_corpora(make, reason):
    with pytest.raises(InputError, match=reason):
        make()


def test_replaced_finds_same_path_other_suffix_or_identifier(tmp_path):
    plain = read_corpus(tree(tmp_path / "plain"))
    other = tree(tmp_path / "other", suffix="flac")
    same = plain.replaced(other)
    assert [one.id for one in same] == [one.id for one in plain]
    assert all(one.path.suffix == ".flac" and one.path.is_relative_to(other) for one in same)
    flat = tmp_path / "flat"
    flat.mkdir()
    for one in plain:
        write_audio(flat / f"{one.id}.ogg", NOISE)
    assert all(one.path.parent == flat for one in plain.replaced(flat))
    (flat / "anna1.ogg").unlink()
    (flat / "bert0.ogg").unlink()
    with pytest.raises(InputError, match=r"no audio for utterance 'anna1'.*and 1 more"):
        plain.replaced(flat)
    with pytest.raises(InputError, match="no such folder"):
        plain.replaced(tmp_path / "nowhere")


def test_replaced_parts_of_files(tmp_path):
    (tmp_path / "own").mkdir()
    corpus = Corpus([Utterance("u-1", "s", tmp_path / "a.wav", start=3, end=9)], tmp_path)
    write_audio(tmp_path / "own" / "a.wav", NOISE)
    assert corpus.replaced(tmp_path / "own").utterances[0].start == 3
    write_audio(tmp_path / "own" / "u-1.wav", NOISE)
    assert corpus.replaced(tmp_path / "own").utterances[0].start is None


def test_replaced_never_finds_the_original(tmp_path):
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "anonymised").mkdir()
    rows = full(tmp_path)
    file = table(tmp_path / "lists", [[one[0], one[1], f"../{one[2]}", *one[3:]] for one in rows])
    corpus = read_corpus(file)
    assert corpus.root == tmp_path
    with pytest.raises(InputError, match="no audio for utterance 'a-enroll'"):
        corpus.replaced(tmp_path / "lists" / "anonymised")
    loose = Corpus([Utterance("../a-trial", "a", tmp_path / "lists" / ".." / "x.wav")], tmp_path / "lists")
    with pytest.raises(InputError, match="no audio"):
        loose.replaced(tmp_path / "lists" / "anonymised")
    with pytest.raises(InputError, match="is the original file"):
        corpus.replaced(tmp_path)


def test_tree_with_speakers(tmp_path):
    folder = tree(tmp_path / "c")
    (folder / "speakers.tsv").write_text("speaker\tgender\taccent\nanna\tfemale\tnone\nbert\tm\t\n")
    corpus = read_corpus(folder)
    assert corpus.speakers.tolist() == ["anna", "bert", "cleo", "dora", "emil", "fred"]
    first = {one.id: one for one in corpus}["anna0"]
    assert dict(first.attributes) == {"accent": "none", "sex": "F"}
    assert problems_of(folder) == ""
    assert "speaker 'cleo' is not described" in reasons(examine_corpus(folder).notes)


def test_tree_with_repeated_file_names_uses_paths(tmp_path):
    for name in "abcdef":
        for k in (1, 2):
            (tmp_path / name / "x").mkdir(parents=True, exist_ok=True)
            write_audio(tmp_path / name / "x" / f"{k}.wav", NOISE)
    assert read_corpus(tmp_path).utterances[0].id == "a/x/1"
    write_audio(tmp_path / "a" / "x" / "1.flac", NOISE)
    with pytest.raises(InputError, match="'a/x/1' occurs twice"):
        read_corpus(tmp_path)


def test_folders_that_are_no_corpus(tmp_path):
    with pytest.raises(InputError, match=r"no audio; expected wav.scp"):
        read_corpus(tmp_path)
    write_audio(tmp_path / "a.wav", NOISE)
    with pytest.raises(InputError, match="without a speaker's folder"):
        read_corpus(tmp_path)
    assert "no such file" in problems_of(tmp_path / "x.tsv")


def table(folder, rows, header="utt\tspeaker\tpath\trole\tsplit\tsex\n"):
    file = folder / "corpus.tsv"
    file.write_text(header + "".join("\t".join(row) + "\n" for row in rows))
    return file


def full(folder):
    rows = []
    for split, names in (("dev", "ab"), ("test", "cd")):
        for name in names:
            for role in ("enroll", "trial"):
                write_audio(folder / f"{name}-{role}.wav", NOISE)
                rows.append([f"{name}-{role}", name, f"{name}-{role}.wav", role, split, "f"])
    return rows


def test_table(tmp_path):
    corpus = read_corpus(table(tmp_path, full(tmp_path)))
    assert [(one.role, one.split) for one in corpus][:2] == [("enrol", "dev"), ("trial", "dev")]
    assert corpus.utterances[-1].split == "eval"
    assert corpus.utterances[0].attributes == {"sex": "F"}
    assert problems_of(tmp_path / "corpus.tsv") == ""


def test_table_problems_name_their_lines(tmp_path):
    rows = full(tmp_path)
    rows += [
        ["a-trial", "a", "a-trial.wav", "trial", "dev", "f"],
        ["e", "e", "a-trial.wav", "guess", "dev", ""],
        ["f", "f", "a-trial.wav", "trial", "later", ""],
        ["g", "g", "gone.wav", "trial", "dev", ""],
        ["h", "", "a-trial.wav", "trial", "dev", ""],
        ["i", "a", "a-trial.wav", "trial", "dev", "m"],
        ["j", "a", "a-trial.wav"],
        ["k", "c", "c-trial.wav", "trial", "dev", ""],
    ]
    file = table(tmp_path, rows)
    found = problems_of(file)
    for line, words in {
        10: "utterance 'a-trial' occurs twice (also",
        11: "unknown role 'guess'; expected enrol, trial or train",
        12: "unknown split 'later'",
        13: "gone.wav: no such file",
        14: "no speaker",
        15: "speaker 'a' has sex M here and F at",
        16: "3 column(s); expected 6",
        17: "speaker 'c' is in eval and in dev",
    }.items():
        assert any(one.startswith(f"{file}:{line}: ") and words in one for one in found.splitlines()), (line, found)
    assert "1 trial of speaker 'g' without enrolment" in found
    with pytest.raises(InputError, match=r"and \d+ more; `zeroevidence doctor` lists them"):
        read_corpus(file)
    assert "no column path" in problems_of(table(tmp_path, [], "utt\tspeaker\n"))
    assert "empty" in problems_of(table(tmp_path, [], ""))


def test_doctor_on_audio(tmp_path):
    folder = tree(tmp_path / "c")
    tone = np.sin(np.arange(16000) / 5)
    write_audio(folder / "anna" / "stereo.wav", np.stack((tone, tone), axis=1) / 2)
    write_audio(folder / "anna" / "phone.wav", tone / 2, 8000)
    write_audio(folder / "anna" / "clipped.wav", 3 * tone)
    assert problems_of(folder) == ""
    read_corpus(folder)
    notes = reasons(examine_corpus(folder).notes)
    assert "stereo.wav: 2 channels; they are averaged" in notes
    assert "phone.wav: 8000 Hz; it is resampled" in notes
    assert "clipped.wav: clipped" in notes
    write_audio(folder / "bert" / "silent.wav", np.zeros(16000))
    write_audio(folder / "bert" / "brief.wav", tone[:1600])
    write_audio(folder / "bert" / "empty.wav", np.zeros(0))
    (folder / "bert" / "text.wav").write_text("hello")
    (folder / "lone").mkdir()
    write_audio(folder / "lone" / "lone.wav", NOISE)
    found = problems_of(folder)
    assert "silent.wav: silent" in found
    assert "brief.wav: 0.10 s of sound; expected at least 0.2 s to hear a voice in" in found
    assert "empty.wav: empty: no samples" in found
    assert "text.wav: cannot be read as audio" in found
    assert len(found.splitlines()) == 4
    assert "speaker 'lone' has one utterance ('lone')" in reasons(examine_corpus(folder).notes)
    assert examine_corpus(folder, run=Run(cores=3)) == examine_corpus(folder)


def kaldi(folder, names, *, gender="", trials=None, enrolls=None, each=2):
    folder.mkdir(parents=True)
    wavs = []
    for name in names:
        for k in range(each):
            file = folder.parent / "wav" / f"{name}-{k}.wav"
            file.parent.mkdir(exist_ok=True)
            write_audio(file, NOISE)
            wavs.append((f"{name}-{k}", name, file))
    (folder / "wav.scp").write_text("".join(f"{utt} wav/{file.name}\n" for utt, _, file in wavs))
    (folder / "utt2spk").write_text("".join(f"{utt} {name}\n" for utt, name, _ in wavs))
    if gender:
        (folder / "spk2gender").write_text("".join(f"{name} {gender}\n" for name in names))
    if trials is not None:
        (folder / "trials").write_text("".join(f"{a} {b} target\n" for a, b in trials))
    if enrolls is not None:
        (folder / "enrolls").write_text("".join(f"{one}\n" for one in enrolls))
    return folder


def test_kaldi_folders_with_trials(tmp_path):
    home = tmp_path / "data"
    for split, names in (("dev", "ab"), ("test", "cd")):
        kaldi(home / f"x_{split}_enrolls", names, gender="f", enrolls=[f"{name}-0" for name in names])
        kaldi(home / f"x_{split}_trials_f", names, gender="f", trials=[(name, f"{name}-1") for name in names])
    kaldi(home / "x_train", "ef", gender="m")
    corpus = read_corpus(home)
    counts = Counter((one.role, one.split, one.attributes["sex"]) for one in corpus)
    expected = {(role, split, "F"): 2 for role in ("enrol", "trial") for split in ("dev", "eval")}
    assert counts == expected | {("train", None, "M"): 4}
    report = examine_corpus(home)
    assert report.problems == ()
    assert "2 utterances are in neither enrolls nor trials; left out" in reasons(report.notes)
    (home / "x_test_enrolls" / "enrolls").write_text("c-0\n")
    report = examine_corpus(home)
    assert report.problems == ()
    assert "1 trial of speaker 'd' without enrolment" in reasons(report.notes)


def test_one_kaldi_folder_is_split(tmp_path):
    folder = kaldi(tmp_path / "data" / "all", "abcdefgh", each=4)
    corpus = read_corpus(folder)
    assert {one.role for one in corpus} == {"enrol", "trial", "train"}
    (folder / "segments").write_text("".join(f"{n}-{k}s {n}-{k} 0.01 0.05\n" for n in "abcdefgh" for k in range(4)))
    (folder / "utt2spk").write_text("".join(f"{n}-{k}s {n}\n" for n in "abcdefgh" for k in range(4)))
    one = read_corpus(folder).utterances[0]
    assert (one.id, one.start, one.end) == ("a-0s", 160, 800)


def test_kaldi_problems(tmp_path):
    folder = kaldi(tmp_path / "data" / "all", "abcdef")
    with (folder / "wav.scp").open("a") as stream:
        stream.write("q sph2pipe -f wav q.sph |\nf-0 other.wav\nz flac -c -d -s wav/a-0.wav |\nlonely\n")
    (folder / "spk2gender").write_text("a f\na m\n")
    found = problems_of(folder)
    assert "wav.scp:13: 'q' is the output of a command, which is not run" in found
    assert "wav.scp:14: 'f-0' occurs twice (line 11)" in found
    assert "wav.scp:15: no speaker for utterance 'z' in utt2spk" in found
    assert "wav.scp:16: 1 column(s)" in found
    assert "spk2gender:2: speaker 'a' is m here and f above" in found
    (folder / "utt2spk").unlink()
    assert "no utt2spk" in problems_of(folder)


def test_audiomnist(shared):
    corpus = read_corpus(shared / "audiomnist")
    assert len(corpus) == 960
    assert len(corpus.speakers) == 60
    assert corpus.utterances[0].attributes["sex"] == "M"
    segments = read_segments(shared / "audiomnist" / "segments.tsv")
    cut = corpus.cut(segments, 2)
    trials = corpus.select("trial")
    assert len(cut.select("trial")) == 5 * len(trials)
    assert cut.select("enrol") == corpus.select("enrol")
    first = next(one for one in cut if one.role == "trial")
    pieces = segments[first.id.rsplit("-", 1)[0]]
    assert (first.start, first.end) == (pieces[0][0], pieces[1][1])
    bare = {one.id: one for one in read_corpus(shared / "audiomnist", seed=1)}
    assert any(bare[one.id].split != one.split for one in corpus)


def test_segments_problems(tmp_path):
    (tmp_path / "s.tsv").write_text("utt\tstart\tend\nu\t5\t3\n")
    with pytest.raises(InputError, match=r"s.tsv:2: start '5', end '3'"):
        read_segments(tmp_path / "s.tsv")
    with pytest.raises(InputError, match="no segments for utterance 's00-0'"):
        Corpus([Utterance("s00-0", "s", "p", "trial", "dev")]).cut({})


def test_links_to_folders_are_followed_and_loops_refused(tmp_path):
    home = tree(tmp_path / "real")
    linked = tmp_path / "linked"
    linked.mkdir()
    for folder in home.iterdir():
        (linked / folder.name).symlink_to(folder)
    assert len(read_corpus(linked)) == len(read_corpus(home)) == 12
    (home / "anna" / "again").symlink_to(home)
    with pytest.raises(InputError, match="is a link back to real, which it is in"):
        read_corpus(home)


def test_what_nothing_decodes_names_the_command_that_converts_it(tmp_path):
    home = tree(tmp_path / "speech")
    (home / "anna" / "phone call.m4a").write_bytes(b"\0" * 100)
    with pytest.raises(InputError, match=r"ffmpeg -i 'phone call.m4a' 'phone call.wav'"):
        read_corpus(home)
    only = tmp_path / "only" / "anna"
    only.mkdir(parents=True)
    (only / "a.m4a").write_bytes(b"\0" * 100)
    assert "ffmpeg -i a.m4a a.wav" in problems_of(tmp_path / "only")


def test_pairs_that_do_not_match_are_listed(tmp_path):
    home = tree(tmp_path / "original")
    other = tree(tmp_path / "anonymised")
    rng = np.random.default_rng(1)
    for file in other.rglob("*.wav"):
        write_audio(file, rng.normal(0, 0.1, 5000))
    assert not examine_pairs(home, other).problems
    write_audio(other / "anna" / "anna0.wav", rng.normal(0, 0.1, 9000))
    write_audio(other / "dora" / "dora0.wav", np.zeros(4800))
    (other / "bert" / "bert1.wav").unlink()
    (other / "cleo" / "cleo0.wav").write_bytes((home / "cleo" / "cleo0.wav").read_bytes())
    write_audio(other / "bert" / "someone.wav", rng.normal(0, 0.1, 4800))
    report = examine_pairs(home, other)
    found = reasons(report.problems)
    assert "no audio for utterance 'bert1'" in found
    assert "is the original of 'cleo0', sample by sample" in found
    assert "dora0.wav: silent" in found
    assert len(report.problems) == 3
    notes = reasons(report.notes)
    assert "0.56 s, but the original of 'anna0' has 0.30 s; are they the same utterance?" in notes
    assert "someone.wav: belongs to no original utterance" in notes
    assert len(report.notes) == 2
    assert examine_pairs(home, other, run=Run(cores=3)) == report
    both = examine_speech(home, other)
    assert (both.problems, both.notes) == (report.problems, report.notes)
    assert both.pairs == report
    assert examine_speech(home).pairs is None
    (missing,) = examine_speech(home, tmp_path / "nowhere").problems
    assert missing.reason == "no such folder; expected anonymised speech"
    (once,) = examine_speech(tmp_path / "nothing", other).problems
    assert once.reason == "no such file"


@pytest.mark.parametrize(("longer", "together"), [(5, False), (6, True)])
def test_many_other_lengths_are_one_note(tmp_path, longer, together):
    rng = np.random.default_rng(0)
    for number in range(8):
        for side, size in (("home", 4800), ("other", 9000 if number < longer else 5000)):
            (tmp_path / side / "anna").mkdir(parents=True, exist_ok=True)
            write_audio(tmp_path / side / "anna" / f"anna{number}.wav", rng.normal(0, 0.1, size))
    report = examine_pairs(tmp_path / "home", tmp_path / "other")
    assert len(report.notes) == (1 if together else longer)
    assert ("6 of 8 recordings are longer or shorter than the originals" in reasons(report.notes)) == together


SPEECH = sum(0.1 / k * np.sin(2 * np.pi * 130 * k * np.arange(24_000) / 16_000 + k * k) for k in range(1, 20))


@pytest.mark.parametrize(
    ("change", "suffix", "copied"),
    [
        (lambda wave: wave, "flac", True),
        (lambda wave: -0.3 * wave, "wav", True),
        (lambda wave: np.concatenate((np.zeros(500), wave)), "wav", True),
        (lambda wave: wave, "mp3", False),
        (lambda wave: wave, "ogg", False),
        (lambda wave: wave + 0.1 * np.random.default_rng(3).normal(0, wave.std(), len(wave)), "wav", False),
    ],
    ids=["flac", "gain", "delay", "mp3", "ogg", "noise"],
)
def test_copies_are_known_in_another_encoding(tmp_path, change, suffix, copied):
    """Without loss they are the original, which is a problem; with loss they are nearly so, which is good to know."""
    for home in ("original", "other"):
        (tmp_path / home / "anna").mkdir(parents=True)
    write_audio(tmp_path / "original" / "anna" / "a.wav", SPEECH)
    write_audio(tmp_path / "other" / "anna" / f"a.{suffix}", change(SPEECH))
    report = examine_pairs(tmp_path / "original", tmp_path / "other")
    (said,) = report.problems if copied else report.notes
    assert said.reason.startswith("is the original of 'a'" if copied else "has nearly the waveform of the original")
    assert (len(report.problems), len(report.notes)) == ((1, 0) if copied else (0, 1))
    assert (report.compared, report.kept_waveform) == (1, int(not copied))


def test_the_same_audio_for_several_people_is_noted(tmp_path):
    home, other = tree(tmp_path / "original"), tree(tmp_path / "other")
    rng = np.random.default_rng(4)
    for file in home.rglob("*.wav"):
        write_audio(file, rng.normal(0, 0.1, 4800))
    report = examine_pairs(home, other)
    assert (report.problems, report.compared, report.same_audio) == ((), 12, 12)
    (note,) = report.notes
    assert note.reason == "the same audio stands for 12 utterances of 6 speakers, among them 'anna1'"
    for file in other.rglob("*.wav"):  # the same for all recordings of one person alone
        write_audio(file, np.random.default_rng(ord(file.parent.name[0])).normal(0, 0.1, 4800))
    report = examine_pairs(home, other)
    assert (report.problems, report.notes, report.same_audio) == ((), (), 0)


NAMES = [PurePath("ann/one"), PurePath("ann/two"), PurePath("bob/one")]


@pytest.mark.parametrize("affix", [Affix(after="_anon"), Affix("vpc-"), Affix("a_", "_b"), Affix(after="one")])
def test_a_common_affix_is_found(affix):
    files = {affix.renamed(name) for name in NAMES} | {PurePath("ann/other")}
    assert find_affix(NAMES, files) == affix


@pytest.mark.parametrize(
    "files",
    [
        [],
        ["ann/one_anon", "ann/two_anon"],  # one is missing
        ["ann/one_anon", "ann/two_anon", "bob/one_a"],  # not the same for all
        ["bob/one_anon", "ann/two_anon", "ann/one"],
        [*(f"{name}_a" for name in NAMES), *(f"{name}_b" for name in NAMES)],  # two that fit
    ],
)
def test_anything_else_is_not(files):
    assert find_affix(NAMES, {PurePath(file) for file in files}) is None


def test_names_that_no_file_has():
    assert find_affix([], {PurePath("a")}) is None
    assert find_affix([PurePath()], {PurePath("a")}) is None
    assert str(Affix("a_", "_b")) == "'a_' before and '_b' behind"
