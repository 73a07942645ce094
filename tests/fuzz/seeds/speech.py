"""Undamaged speech, speaker encoders and anonymised speech, and the commands that read them."""

import json
from pathlib import Path

import numpy as np

from tests.fuzz.seeds.target import Target, done, read_files
from tests.onnx_bytes import CARD
from tests.onnx_bytes import model as onnx_model


def encoder_targets(home: Path) -> list[Target]:
    """A speaker encoder of 80 bands, and its card."""
    data = onnx_model()
    card = {**CARD, "file": "tiny.onnx", "architecture": "a mean", "licence": "MIT", "training_people": [64 * "a"]}
    (home / "tiny.onnx").write_bytes(data)
    (home / "tiny.json").write_text(json.dumps(card))
    (home / "cards.json").write_text(json.dumps({"one": card, "two": {**card, "bytes": len(data)}}))
    files, several = read_files(home, "tiny.onnx", "tiny.json"), read_files(home, "tiny.onnx", "cards.json")
    inside = {"tiny.onnx": data, **{f"enc/{name}": content for name, content in files.items()}}
    return [
        Target("models", ("add", "enc/tiny.json"), inside, ("enc/tiny.json",)),
        Target("models", ("add", "tiny.json"), files, ("tiny.json",)),
        Target("models", ("add", "tiny.onnx"), files, tuple(files)),
        Target("models", ("add", "cards.json#two", "--as", "tiny"), several, ("cards.json",)),
    ]


def corpus_targets(home: Path) -> list[Target]:
    """A few seconds of buzzing: a table, a Kaldi folder and a tree of the same recordings."""
    from zeroevidence.data.audio import write_audio

    rng = np.random.default_rng(4)
    time = np.arange(5600) / 16_000
    rows, waves, spoken = ["utterance\tspeaker\tpath\trole\tsplit\tsex\n"], {}, {}
    for person in range(8):
        split = ("eval", "dev", "train", "train")[person % 4]
        for number in range(2):
            role = "train" if split == "train" else ("enrol", "trial")[number]
            wave = sum(0.7**h * np.sin(2 * np.pi * (90 + 15 * person) * h * time) for h in range(1, 9))
            name = f"p{person}_{number}"
            place = f"speech/p{person}/{name}.wav"
            (home / place).parent.mkdir(parents=True, exist_ok=True)
            write_audio(home / place, 0.1 * wave + 0.01 * rng.normal(size=len(time)))
            where = "" if split == "train" else split
            rows.append(f"{name}\tp{person}\tp{person}/{name}.wav\t{role}\t{where}\t{'fm'[person % 2]}\n")
            waves[place], spoken[name] = (home / place).read_bytes(), (f"p{person}", place)
    texts = {
        "speech/utterances.tsv": "".join(rows),
        "kaldi/wav.scp": "".join(f"{name} {place}\n" for name, (_, place) in spoken.items()),
        "kaldi/utt2spk": "".join(f"{name} {who}\n" for name, (who, _) in spoken.items()),
        "kaldi/spk2gender": "".join(f"p{person} {'fm'[person % 2]}\n" for person in range(8)),
        "kaldi/segments": "".join(f"{name} {name} 0.0 0.3\n" for name in spoken),
    }
    manifest = [{"audio_filepath": place, "speaker": who, "duration": 0.35} for who, place in spoken.values()]
    texts["manifest.jsonl"] = "".join(json.dumps(row) + "\n" for row in manifest)
    files = {name: text.encode() for name, text in texts.items()}
    table = {name: data for name, data in files.items() if name.startswith("speech")}
    kaldi = {name: data for name, data in files.items() if name.startswith("kaldi")}
    some, listed = (next(iter(waves)), list(waves)[5]), "manifest.jsonl"
    encoder = read_files(home, "tiny.onnx", "tiny.json")
    quick = ("--extractor", "tiny.json", "--backend", "cosine", "--attacker", "ignorant")
    quick += ("--intervals", "0", "--null", "0", "--splits", "1", "-o", "out")
    protect, release = ("--protect", "mcadams"), ("--protect", "mcadams", "--workers", "1", "-o")
    for name, data in table.items():
        (home / name).write_bytes(data)
    done("anonymise", "speech", *release, "anon")
    written = sorted(path.relative_to(home).as_posix() for path in (home / "anon").rglob("*") if path.is_file())
    anonymised = read_files(home, *written)
    audited = {**waves, **table, **encoder}
    described = ("anon/protector.json", "anon/digests.txt", "anon/p0/p0_0.wav")
    return [
        *[Target("doctor", ("--corpus", "speech"), {**waves, **table}, (*table, *some))] * 3,
        Target("doctor", ("--corpus", "kaldi"), {**waves, **kaldi}, tuple(kaldi)),
        Target("doctor", ("--corpus", listed), {**waves, listed: files[listed]}, (listed,)),
        Target("anonymise", ("speech", *release, "out"), {**waves, **table}, (*table, *some)),
        Target("anonymise", ("kaldi", *release, "out"), {**waves, **kaldi}, (*kaldi, *some)),
        Target("anonymise", (listed, *release, "out"), {**waves, listed: files[listed]}, (listed,)),
        Target("audit", ("speech", *protect, *quick), audited, (*table, *table, *some, "tiny.json")),
        Target("audit", ("speech", "--anonymised", "anon", *quick), {**audited, **anonymised}, described),
        Target("audit", ("kaldi", *protect, *quick, "--folds", "0"), {**waves, **kaldi, **encoder}, tuple(kaldi)),
        Target("audit", ("speech", *protect, *quick, "--folds", "0"), {**waves, **encoder}, some),
    ]
