"""Undamaged files, and the commands that read them: made once, small, by the package itself."""

import contextlib
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tests.data.formats.test_same_numbers import Search
from tests.fuzz.seeds.audits import audit_targets
from tests.fuzz.seeds.speech import corpus_targets, encoder_targets
from tests.fuzz.seeds.target import Target, done, target_of
from zeroevidence.data.seals import read_key, write_seal
from zeroevidence.evaluation.results import read_results
from zeroevidence.plot.kind import available
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS

_POINTS = 8  # of a curve
_CHEAP = 5  # times as often is a report without figures asked for as one with


def targets() -> list[Target]:
    """Everything that is damaged."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        home = Path(folder)
        made = [*_scores(home), *_tandem(home), *_vectors(home), *_every_format(home)]
        made += [*_results(home), *_models(home), *_comparisons(home), *_labelled(home)]
        return [*made, *audit_targets(home), *_utility(home), *encoder_targets(home), *corpus_targets(home)]


def _scores(home: Path) -> list[Target]:
    rng = np.random.default_rng(0)
    pairs = [(f"p{e}", f"u{t}", t % 6 == e, rng.normal(2.0 * (t % 6 == e))) for t in range(18) for e in range(6)]
    labels = {True: "target", False: "nontarget"}
    forms = {
        "kaldi.scores": "".join(f"{e} {t} {s:.3f}\n" for e, t, _, s in pairs),
        "other.scores": "".join(f"{e} {t} {s + rng.normal():.3f}\n" for e, t, _, s in pairs),
        "kaldi.key": "".join(f"{e} {t} {labels[m]}\n" for e, t, m, _ in pairs),
        "named.csv": '"similarity","same"\n' + "".join(f"{s:.3f},{str(m).upper()}\n" for _, _, m, s in pairs),
        "mated.txt": "".join(f"{s:.3f}\n" for _, _, m, s in pairs if m),
        "nonmated.csv": '"","x"\n' + "".join(f'"{i}",{s:.3f}\n' for i, (_, _, m, s) in enumerate(pairs) if not m),
        "people": "".join(f"u{t} p{t % 6}\n" for t in range(18)),
        "sessions": "".join(f"p{e} day{e % 2}\n" for e in range(6)) + "".join(f"u{t} day{t % 7}\n" for t in range(18)),
    }
    for name, text in forms.items():
        (home / name).write_text(text)
    columns_named = ("--score-column", "similarity", "--label-column", "same")
    lists = ("--targets", "mated.txt", "--nontargets", "nonmated.csv")
    kaldi, read = ("kaldi.scores", "kaldi.key"), ("kaldi.scores", "--key", "kaldi.key")
    made = []
    for command, more in (("evaluate", ("--intervals", "0", "--null", "0", "-f", "json")), ("doctor", ())):
        oracle = kaldi if command == "evaluate" else None
        made += [target_of(home, command, (*read, *more), kaldi, oracle=oracle)] * 2
        described = (*read, "--speakers", "people", *more)
        made.append(target_of(home, command, described, (*kaldi, "people"), ("people", "kaldi.scores")))
        described = (*read, "--sessions", "sessions", *more)
        made.append(target_of(home, command, described, (*kaldi, "sessions"), ("sessions",)))
        made.append(target_of(home, command, ("named.csv", *columns_named, *more), ("named.csv",)))
        made.append(target_of(home, command, (*lists, *more), ("mated.txt", "nonmated.csv")))
    few = [f"few.{name}" for name in ("kaldi.scores", "other.scores", "kaldi.key")]
    for name in few:  # of few people, each of whom is left out in turn
        lines = forms[name.removeprefix("few.")].splitlines(keepends=True)
        (home / name).write_text("".join(lines[: 6 * 8]))
    arguments = (*few[:2], "--key", few[2], "--intervals", "5", "--measure", "eer")
    return [*made, target_of(home, "compare", arguments, few)]


def _every_format(home: Path) -> list[Target]:
    """The same scores in each format of scores that is registered."""
    (home / "formats").mkdir()
    search = Search(home / "formats", 0, "f4")
    made = []
    for _, path, key in (*search.text_files(), *search.binary_files()):
        if isinstance(path, Path):  # not a data frame
            names = [file.relative_to(home).as_posix() for file in (path, key) if file is not None]
            arguments = (names[0], *(("--key", names[1]) if key else ()))
            quick = ("--intervals", "0", "--null", "0", "-f", "json")
            made += [
                target_of(home, "evaluate", (*arguments, *quick), names),
                target_of(home, "doctor", arguments, names),
            ]
    list(search.tandems())  # writes them
    for names in (["formats/cm2021", "formats/key2021"], ["formats/cm5"]):
        arguments = ("evaluate", "--cm", names[0], *(("--key", names[1]) if names[1:] else ()), "--intervals", "0")
        made.append(target_of(home, "tandem", (*arguments, "-f", "json"), names))
    return made


def _tandem(home: Path) -> list[Target]:
    rng = np.random.default_rng(1)
    cm = {"- bonafide": 1.5, "A07 spoof": -1.5, "A08 spoof": -0.5}
    asv = {"- target": 2.0, "- nontarget": -2.0, "A07 spoof": 1.0, "A08 spoof": 1.5}
    lines = [f"u{i}_{at} {kind} {rng.normal(at):.3f}\n" for kind, at in cm.items() for i in range(12)]
    (home / "cm.txt").write_text("".join(lines))
    (home / "asv.txt").write_text("".join(f"{k} {rng.normal(at):.3f}\n" for k, at in asv.items() for _ in range(12)))
    arguments = ("evaluate", "--cm", "cm.txt", "--asv", "asv.txt", "--intervals", "0", "-f", "json")
    return [target_of(home, "tandem", arguments, ("cm.txt", "asv.txt"))]


def _vectors(home: Path) -> list[Target]:
    import polars as pl
    import torch

    rng = np.random.default_rng(2)
    centres = rng.normal(size=(6, 5))
    enrol, trial = (np.repeat(centres, n, axis=0) + 0.5 * rng.normal(size=(6 * n, 5)) for n in (1, 3))
    sides = {"E": enrol.astype(np.float32), "T": trial.astype(np.float32)}
    for side, vectors in sides.items():
        names = [f"{side.lower()}{i}" for i in range(len(vectors))]
        people = [f"p{i * 6 // len(vectors)}" for i in range(len(vectors))]
        sexes = ["fm"[int(person[1]) % 2] for person in people]
        lines = "".join(f"{name} {who}\n" for name, who in zip(names, people, strict=True))
        np.savez(home / f"{side}.npz", vectors=vectors, utterance=names, speaker=people, sex=sexes)
        np.save(home / f"{side}.npy", vectors)
        (home / f"{side}.ids").write_text(lines)
        place = {"id2idx": {name: i for i, name in enumerate(names)}, "idx2spk": dict(enumerate(people))}
        torch.save({"vectors": torch.from_numpy(vectors), **place}, home / f"{side}.pt")
        table = {"embedding": vectors.tolist(), "utterance": names, "speaker": people}
        pl.DataFrame(table).write_parquet(home / f"{side}.parquet")
        text = "".join(f"{n}  [ {' '.join(map(str, v))} ]\n" for n, v in zip(names, vectors.tolist(), strict=True))
        (home / f"{side}.ark").write_text(text)
        (home / f"{side}.utt2spk").write_text(lines)
        for ending, separator in (("csv", ","), ("tsv", "\t")):
            rows = zip(names, people, vectors, strict=True)
            cells = [["utterance", "speaker", *"abcde"], *([n, w, *v] for n, w, v in rows)]
            (home / f"{side}.{ending}").write_text("".join(separator.join(map(str, row)) + "\n" for row in cells))
        binary, scp = b"", ""
        for name, vector in zip(names, vectors, strict=True):
            binary += name.encode() + b" "
            scp += f"{name} {side}b.ark:{len(binary)}\n"
            binary += b"\x00BFV \x04" + len(vector).to_bytes(4, "little") + vector.astype("<f4").tobytes()
        (home / f"{side}b.ark").write_bytes(binary)
        (home / f"{side}.scp").write_text(scp)
    ids = ("--enrol-ids", "E.utt2spk", "--trial-ids", "T.utt2spk")
    made = []
    for kind in (".npz", ".npz", ".pt", ".parquet", ".npy", ".csv", ".tsv", ".ark", "b.ark", ".scp"):
        enrol, trial = (f"{side}{kind}" for side in "ET")
        beside = {".npy": ["E.ids", "T.ids"], ".scp": ["Eb.ark", "Tb.ark"]}.get(kind, [])
        listed = kind in (".ark", "b.ark", ".scp")
        names = [enrol, trial, *beside, *(["T.utt2spk"] if listed else [])]
        arguments = ("--enrol", enrol, "--trial", trial, *(ids if listed else ()), "-o", "out")
        made.append(target_of(home, "link", arguments, [*names, "E.utt2spk"] if listed else names, names))
    return made


def _results(home: Path) -> list[Target]:
    few = ("--intervals", "20", "--null", "20")
    done("evaluate", "kaldi.scores", "other.scores", "--key", "kaldi.key", *few, "-f", "json", "-o", "r.json")
    done("tandem", "evaluate", "--cm", "cm.txt", "--asv", "asv.txt", "--intervals", "20", "-f", "json", "-o", "t.json")
    done("link", "--enrol", "E.npz", "--trial", "T.npz", "-o", "L1", "--table", "csv")
    done("link", "--enrol", "E.npz", "--trial", "T.npz", "--scoring", "dot", "-o", "L2")
    done("evaluate", "kaldi.scores", "--key", "kaldi.key", *few, "-f", "json", "-o", "one.json")
    for name in ("r.json", "t.json", "one.json"):
        _shorten(home / name)
    made = []
    for name in ("r.json", "t.json"):
        for kind in available(read_results(name)):
            made.append(target_of(home, "plot", (kind, name, "-o", "figure.svg"), (name,)))
    for name in ("one.json", "t.json"):
        made.append(target_of(home, "report", (name, "-f", "html", "-o", "page"), (name,)))  # a second for all figures
        made += [target_of(home, "report", (name, "-f", "md", "-o", "page"), (name,))] * _CHEAP
    done("doctor", "--new-key")
    (home / "sealed.json").write_bytes((home / "one.json").read_bytes())
    write_seal(home / "sealed.json", (home / "one.json").read_text(), read_key("private.pem", private=True))
    sealed = ("sealed.json", "sealed.json.seal", "public.pem")
    made += [target_of(home, "doctor", ("--seal", "public.pem", "sealed.json"), sealed)] * 2
    names = [f"{folder}/{name}" for folder in ("L1", "L2") for name in ("result.json", "trials.csv", "trials.parquet")]
    names = [name for name in names if (home / name).is_file()]
    return [*made, *[target_of(home, "compare", ("L1", "L2", "--intervals", "20"), names)] * 2]


def _shorten(path: Path) -> None:
    """Leave a few points of each curve and surface: all of a kind are read, and damaged, alike."""
    document = json.loads(path.read_bytes())
    for row in document["rows"]:
        for part in (*row.get("curves", {}).values(), *row.get("surfaces", {}).values()):
            for name, values in part.items():
                part[name] = _few(_few(line) if isinstance(line, list) else line for line in values)
    path.write_text(json.dumps(document))
    read_results(path)


def _few(values: Iterable[Any]) -> list[Any]:
    """Some of many values, the first and the last among them."""
    all_values = list(values)
    if len(all_values) <= _POINTS:
        return all_values
    return [all_values[place * (len(all_values) - 1) // (_POINTS - 1)] for place in range(_POINTS)]


def _models(home: Path) -> list[Target]:
    rng = np.random.default_rng(3)
    people = np.repeat([f"s{i}" for i in range(24)], 4)
    sex = np.repeat(["f", "m"] * 12, 4)
    vectors = np.repeat(rng.normal(size=(24, 5)), 4, axis=0) + 0.5 * rng.normal(size=(96, 5))
    vectors[:, 0] += np.where(sex == "f", 1.5, -1.5)
    np.savez(home / "voices.npz", vectors=vectors, speaker=people, sex=sex)
    made = []
    for protector in ATTRIBUTE_PROTECTORS:
        more = ("--set", "epochs=2") if protector in ("flow", "adversarial") else ()
        done("protect", "fit", "voices.npz", "--attribute", "sex", "--protector", protector, *more, "-o", protector)
        names = (f"{protector}/model.json", f"{protector}/model.safetensors", "E.npz")
        made.append(target_of(home, "protect", ("apply", protector, "E.npz", "-o", "out.npz"), names))
    return made


def _comparisons(home: Path) -> list[Target]:
    """What reports and plans read besides results: comparisons, and the result of a pilot."""
    arguments = ("kaldi.scores", "other.scores", "--key", "kaldi.key", "--intervals", "20", "--measure", "eer")
    done("compare", *arguments, "-f", "json", "-o", "c.json")
    rng = np.random.default_rng(5)
    pairs = [(f"p{e}", f"u{t}", t % 12 == e) for t in range(24) for e in range(12)]
    lines = (f"{e} {t} {rng.normal(2.0 * mated):.3f} {'target' if mated else 'nontarget'}\n" for e, t, mated in pairs)
    (home / "pilot.txt").write_text("".join(lines))
    done("evaluate", "pilot.txt", "--intervals", "20", "--null", "20", "-f", "json", "-o", "pilot.json")
    _shorten(home / "pilot.json")
    reports = [target_of(home, "report", ("c.json", "-f", form, "-o", "page"), ("c.json",)) for form in ("html", "md")]
    arguments = ("--pilot", "pilot.json", "--show-at-most", "d_ece=0.5")
    return [*reports * _CHEAP, target_of(home, "plan", arguments, ("pilot.json",))]


def _labelled(home: Path) -> list[Target]:
    """Embeddings with labels in them, and in lists beside them."""
    linear = ("--attribute", "sex", "--protector", "linear")
    quick = (*linear, "--classifier", "lda", "--no-verification", "--intervals", "0", "--null", "0", "-f", "json")
    names = [f"u{i}" for i in range(96)]
    with np.load(home / "voices.npz") as loaded:
        np.savez(home / "bare.npz", vectors=loaded["vectors"], utterance=names)
        people, sexes = loaded["speaker"].tolist(), loaded["sex"].tolist()
    (home / "who").write_text("".join(f"{name} {who}\n" for name, who in zip(names, people, strict=True)))
    (home / "sexes").write_text("".join(f"{name} {sex}\n" for name, sex in zip(names, sexes, strict=True)))
    voices, bare = ("voices.npz",), ("bare.npz", "who", "sexes")
    listed = ("bare.npz", "--labels", "sexes", "--speakers", "who")
    return [
        target_of(home, "protect", ("evaluate", *voices, *quick), voices),
        target_of(home, "protect", ("fit", *voices, *linear, "-o", "model"), voices),
        target_of(home, "protect", ("evaluate", *listed, *quick), bare),
        target_of(home, "protect", ("fit", *listed, *linear, "-o", "model"), bare),
    ]


KIT = """---- Time: 02-04-26_06:17 ----

---- SER results ----
   dataset split       ser      UAR  ACC_sad  ACC_ang
                               mean     mean     mean
0  IEMOCAP   dev      anon  50.2500  40.5000  60.0000
1  IEMOCAP   dev  original  70.0000  65.0000  75.0000

---- ASV_eval results ----
   dataset split gender enrollment trial     EER
8    libri   dev  mixed       anon  anon  12.500
17   libri  test  mixed       anon  anon   8.250

---- ASR results ----
  dataset split       asr     WER
0   libri   dev  original   1.750
4   libri   dev      anon  10.500
"""


def _utility(home: Path) -> list[Target]:
    """Words and emotions, the tables of a kit, a folder of systems, and the speech of a kit."""
    names = [f"u{i}" for i in range(24)]
    (home / "ranks").mkdir()
    texts = {
        "text": "".join(f"{name} one two three four\n" for name in names),
        "hyp": "".join(f"{name} one two {'three' if i % 3 else 'tree'} four\n" for i, name in enumerate(names)),
        "emo": "".join(f"{name} {('ang', 'sad')[i % 2]}\n" for i, name in enumerate(names)),
        "heard": "".join(f"{name} {('ang', 'sad')[i % 3 % 2]}\n" for i, name in enumerate(names)),
        "whose": "".join(f"{name} s{i % 12}\n" for i, name in enumerate(names)),
        "kit.txt": KIT,
        "ranks/result_for_rank_dev": KIT,
        "ranks/result_for_rank_test": KIT.replace("libri", "other"),
    }
    for name, text in texts.items():
        (home / name).write_text(text)
    options = ("--speakers", "whose", "--intervals", "20", "-f", "json")
    transcripts = ("--transcripts", "text", "--hypotheses", "hyp", *options)
    emotions = ("--emotions", "emo", "--recognised", "heard", *options)
    ranks = [name for name in texts if name.startswith("ranks/")]
    return [
        target_of(home, "utility", transcripts, ("text", "hyp", "whose")),
        target_of(home, "utility", emotions, ("emo", "heard", "whose")),
        *[target_of(home, "report", ("kit.txt", "-f", "md", "-o", "page"), ("kit.txt",))] * _CHEAP,
        *[target_of(home, "report", ("ranks", "-f", "md", "-o", "page"), ranks)] * _CHEAP,
        _kit_speech(home),
    ]


def _kit_speech(home: Path) -> Target:
    """One set of a kit, and its anonymised version."""
    from zeroevidence.data.audio import write_audio

    original, anonymised = (f"kit/data/a_dev_enrolls{suffix}" for suffix in ("", "_x"))
    for folder, pitch in ((original, 0.05), (anonymised, 0.07)):
        (home / folder / "wav").mkdir(parents=True)
        write_audio(home / folder / "wav/u.wav", 0.1 * np.sin(pitch * np.arange(8000)))
    (home / original / "wav.scp").write_text(f"u {original}/wav/u.wav\n")
    (home / original / "utt2spk").write_text("u s\n")
    names = [f"{original}/wav.scp", f"{original}/utt2spk", f"{original}/wav/u.wav", f"{anonymised}/wav/u.wav"]
    return target_of(home, "kit", ("check", "kit", "--suffix", "_x"), names)
