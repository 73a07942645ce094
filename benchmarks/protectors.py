"""What voice protectors hide, what they cost in words, and how long they take.

    python benchmarks/protectors.py measure WORK --speech ../shared/data/speechocean --people 24 --effort quick
    python benchmarks/protectors.py collect WORK docs/protectors-sentences.tsv
    python benchmarks/protectors.py table docs/protectors-sentences.tsv
    python benchmarks/protectors.py front docs/protectors-sentences.tsv docs/_static/protectors-front.svg
    python benchmarks/protectors.py listen WORK docs/_static/protectors-heard.png
    python benchmarks/protectors.py parts WORK
    python benchmarks/protectors.py speed [WAVE] [--repeats 20]

`measure` anonymises a corpus with every protector that is installed, audits the result and lets a recogniser that is no
part of any of them hear it. A protector that draws is run as often as the effort runs it, so that attackers have
further draws, or `--draws` times. Everything is kept in WORK: what is there is not computed again, an interrupted run
continues, and folders of anonymised speech may come from another machine, such as one with a GPU that lacks the extra
`cascade`. For all people with all attackers:

    python benchmarks/protectors.py measure WORK --speech ../shared/data/speechocean --effort full --draws 5 --heard 100

The strings of digits in `../shared/data/audiomnist` are measured with `--recordings 8 --effort standard --draws 2
--heard 60`.

`onevoice` has learned what people sound like from 60 of speechocean762, so words are heard from people of whom it has
heard none: the 45 that are evaluated in `draws.py`.

`collect` writes what WORK holds into a table, where lines of other protectors stay. `table` prints such a table as
Markdown, and `front` draws it. "Words alone" is what the best attacker learns
who reads the texts that the corpus has, and hears nothing. `listen` draws spectrograms of ten recordings
and prints what is heard in them. `parts` prints what the best attackers with each kind of encoder learn, and what the
strongest one learns about people whom `onevoice` has heard and about others. `speed` prints the processor time of each
protector and of all cues, with one thread, over that of `mcadams` in the same run: WAVE is an audio file; without it,
2.6 s of a synthetic voice are protected, in which a cascade hears no words. The first call is made in a fresh process,
after all that comes with the protector is imported; it shows what is imported or prepared only then.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from draws import people as cut_people
from timing import processor_time

from zeroevidence.attack.extractors import load_extractor
from zeroevidence.auditing.naturalness import can_judge, evaluate_naturalness
from zeroevidence.auditing.protected_speech import read_speech, usual_draws
from zeroevidence.auditing.speech_utility import CachedRecogniser, transcribe
from zeroevidence.auditing.word_errors import corpus_transcripts, evaluate_word_errors
from zeroevidence.data.audio import load_audio, load_speech
from zeroevidence.data.corpus import random_key
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.evaluation.finding.finding import findings
from zeroevidence.evaluation.results import read_results, to_json
from zeroevidence.measure.search.rank import guessing_rate
from zeroevidence.optional import one_blas_thread
from zeroevidence.protect import load_protector
from zeroevidence.protect.release import read_card
from zeroevidence.protect.voices import VOICE_PROTECTORS

RATE, SECONDS, FLOOR = 16_000, 2.6, "mcadams"
RECOGNISER = "whisper"  # no part of any protector
THREE = "mcadams:0.5..0.9:utterance+pitch:-4..4:utterance+formant:0.8..1.25:utterance"
PROTECTORS = {  # title and name
    "mcadams": "mcadams",
    "mcadams-random": "mcadams-random",
    "pitch": "pitch:4",
    "formant": "formant:1.2",
    "three changes": THREE,
    "onevoice": "onevoice",
    "onevoice even": "onevoice:128,rate=even",
    "timed cascade": "timed-cascade",
    "cascade": "cascade",
}
UNTOUCHED = "unprotected"
_WITH_LIMITS = ("alid", "top1", "people_named", "words", "wer", "mos")
COLUMNS = (
    *("effort", "guessing", "beaten", "refused", "time", "wer_before"),
    *(f"{name}{side}" for name in _WITH_LIMITS for side in ("", "_low", "_high")),
)
TEN = 10  # recordings that are listened to
HEARD = ("three changes", "onevoice", "cascade")  # protections that are listened to, after the original


@dataclass(frozen=True)
class Spoken:
    """What a protector may draw by."""

    id: str = "u1"
    speaker: str = "ada"


def installed() -> dict[str, str]:
    """The protectors that there are, by title."""
    return {title: name for title, name in PROTECTORS.items() if name.split(":")[0] in VOICE_PROTECTORS}


def choose_people(work: Path, speech: Path, people: int | None, recordings: int | None) -> Path:
    """Write the table of the chosen people, evenly over their names, and of the first so many recordings of each.

    It has no roles: the audit draws them.
    """
    table = work / "original" / "utterances.tsv"
    if table.exists():
        return table.parent
    with (speech / "utterances.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    names = sorted({row["speaker"] for row in rows})
    names = names[:: max(1, len(names) // (people or len(names)))][:people]
    table.parent.mkdir(parents=True, exist_ok=True)
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("utterance", "speaker", "path", "text"))
        kept = Counter()
        for row in rows:
            if row["speaker"] in names and (recordings is None or kept[row["speaker"]] < recordings):
                kept[row["speaker"]] += 1
                place = os.path.relpath(speech / row["path"], table.parent)
                said = row.get("text") or " ".join(row.get("digits", ""))
                writer.writerow((row.get("utterance") or row["utt"], row["speaker"], place, said))
    return table.parent


def never_heard(speech: Path) -> set[str]:
    """The people that no protector has learned from."""
    with (speech / "utterances.tsv").open(encoding="utf-8") as file:
        names = [row["speaker"] for row in csv.DictReader(file, delimiter="\t")]
    return set(cut_people(np.array(names))[2] if speech.name == "speechocean" else names)


def run(*arguments: object) -> float:
    """Run a command of the package and return the processor time that it took; refused recordings are no failure."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "zeroevidence", *map(str, arguments)]
    status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
    if status not in (0, InputError.exit_code):
        raise SystemExit(f"{' '.join(command)} ended with {status}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(
    original: Path, work: Path, speech: Path, effort: str, often: int | None, heard: int, only: list[str]
) -> None:
    """Anonymise, hear and audit, as far as that has not been done."""
    for title, name in installed().items():
        if only and title not in only:
            continue
        home = work / title.replace(" ", "-")
        home.mkdir(parents=True, exist_ok=True)
        draws = (often or usual_draws(effort)) if ".." in name or "random" in name else 1
        for draw in range(1, draws + 1):
            folder = home / str(draw)
            if not (folder / "protector.json").exists():
                begun = folder.exists()  # the time of a part says nothing
                taken = run("anonymise", original, "-o", folder, "--protect", name, "--seed", draw, "--workers", 1)
                if not (folder / "protector.json").exists():
                    print(f"{title}: not installed, or nothing was understood", flush=True)
                    break
                if not begun:
                    seconds = sum(len(load_audio(each)) for each in read_corpus(original, draw=False)) / RATE
                    (home / f"time-{draw}.json").write_text(json.dumps(taken / seconds))
        else:
            usable = read_speech(original, home / "1").corpus
            usable = usable.only([each for each in usable if each.speaker in never_heard(speech)])
            words, opinions = home / "words.json", home / "opinions.json"
            if not words.exists():
                said = corpus_transcripts(usable, original)
                recogniser = CachedRecogniser(RECOGNISER, Store(work / "cache", "heard"))
                rows = evaluate_word_errors(usable, usable.replaced(home / "1"), said, recogniser, heard=(heard, heard))
                words.write_text(to_json(rows))
                print(f"{title}: heard", flush=True)
            if not opinions.exists() and can_judge():
                store = Store(work / "cache", "judged")
                rows = evaluate_naturalness(usable, usable.replaced(home / "1"), most=heard, store=store)
                opinions.write_text(to_json(rows))
            out = home / f"audit-{effort}"
            if not (out / "result.json").exists():
                folders = [part for draw in range(draws) for part in ("--anonymised", home / str(draw + 1))]
                settings = ("--effort", effort, "--folds", 3, "--cache", work / "cache", "--recogniser", "none")
                taken = run("audit", original, *folders, *settings, "-o", out)
                print(f"{title}: audit in {taken:.0f} s of processor time", flush=True)


def collect(work: Path, target: Path) -> None:
    """Write the numbers of each protector that WORK holds, with those of unprotected speech, among other lines."""
    lines = read_lines(target) if target.exists() else {}
    for title in PROTECTORS:
        home = work / title.replace(" ", "-")
        for out in sorted(home.glob("audit-*/result.json")):
            rows = read_results(out)
            (finding, *_) = findings(rows)
            row = rows[finding.strongest]
            control = next(each for each in rows if each.labels.get("system") == UNTOUCHED)
            heard, judged = (home / name for name in ("words.json", "opinions.json"))
            words, opinions = (read_results(path) if path.exists() else [] for path in (heard, judged))
            texts = [rows[number] for number in finding.attempts if rows[number].about.words]
            card, time = read_card(home / "1"), home / "time-1.json"
            common = {"effort": out.parent.name.removeprefix("audit-"), "guessing": f"{guessing_rate(row.counts):.4g}"}

            def cells(row, side, words=words, opinions=opinions) -> dict[str, str]:
                results = {name: row.metrics.get(name) for name in ("alid", "top1", "people_named")}
                results |= {"wer": words[side]["wer"]} if words else {}
                results |= {"mos": opinions[side]["mos"]} if opinions else {}
                return {key: cell for name, result in results.items() for key, cell in limits_of(name, result).items()}

            lines.setdefault(UNTOUCHED, {**common, **cells(control, 0)})
            best_text = max(texts, key=lambda each: each.number("alid")).metrics["alid"] if texts else None
            lines[title] = {
                **common,
                **cells(row, -1),
                **limits_of("words", best_text),
                "wer_before": f"{words[0]['wer'].value:.4g}" if words else "",
                "beaten": {True: "yes", False: "no", None: ""}[finding.chance[finding.strongest].beaten],
                "refused": str(len(card.release.refused) if card and card.release else 0),
                "time": f"{json.loads(time.read_text()):.3g}" if time.exists() else "",
            }
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ("title", *COLUMNS), delimiter="\t", lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows({"title": title, **lines[title]} for title in (UNTOUCHED, *PROTECTORS) if title in lines)


def limits_of(name: str, result) -> dict[str, str]:
    """The cells of a number with its interval."""
    values = [] if result is None else [result.value, result.low, result.high]
    return {
        f"{name}{side}": f"{float(value):.4g}"
        for side, value in zip(("", "_low", "_high"), values, strict=False)
        if value is not None
    }


def read_lines(table: Path) -> dict[str, dict[str, str]]:
    """The lines of a table by title."""
    with table.open(encoding="utf-8", newline="") as file:
        return {line.pop("title"): line for line in csv.DictReader(file, delimiter="\t")}


def parts(work: Path, speech: Path) -> None:
    """Print the best attackers with each encoder, and the strongest by people that a protector has learned from."""
    strangers = never_heard(speech)
    print("| protector | encoder | ALID [bit] | top-1 [%] |\n| --- | --- | ---: | ---: |")
    sides = []
    for title in PROTECTORS:
        for out in sorted((work / title.replace(" ", "-")).glob("audit-*/result.json")):
            rows = read_results(out)
            (finding, *_) = findings(rows)
            best: dict[str, int] = {}
            for number in finding.attempts:
                encoder = rows[number].labels.get("encoder") or "fusion"
                encoder = encoder if "+" not in encoder or encoder.startswith("cue:") else "fusion"
                if encoder not in best or rows[number].number("alid") > rows[best[encoder]].number("alid"):
                    best[encoder] = number
            for encoder, number in best.items():
                metrics = rows[number].metrics
                print(f"| {title} | {encoder} | {limits(metrics['alid'], 1, 2)} | {limits(metrics['top1'], 100, 0)} |")
            people = rows[finding.strongest].people
            unheard = np.isin(people.speaker, list(strangers))
            values = np.asarray(people.alid, np.float64)
            if unheard.any() and not unheard.all():
                means = [values[side].mean() for side in (unheard, ~unheard)]
                sides.append(f"{title}: ALID {means[0]:.2f} of people whom it has not heard, {means[1]:.2f} of others")
    print("\n" + "\n".join(sides))


def limits(result, factor: float, digits: int) -> str:
    """A number with its interval."""
    if result is None:
        return "–"
    value = f"{factor * float(result.value):.{digits}f}"
    if result.low is None or result.high is None:
        return value
    return f"{value} ({factor * result.low:.{digits}f} to {factor * result.high:.{digits}f})"


def table(source: Path) -> None:
    titles = (
        *("ALID [bit]", "top-1 [%]", "guessing [%]", "people named [%]", "more than chance", "words alone [bit]"),
        *("WER [%]", "of the original", "MOS", "refused", "s per s of speech", "effort"),
    )
    print(f"| protector | {' | '.join(titles)} |")
    print(f"| --- |{' ---: |' * len(titles)}")
    for title, line in read_lines(source).items():

        def cell(name: str, factor: float, digits: int, line: dict[str, str] = line) -> str:
            value, low, high = (
                f"{factor * float(line[key]):.{digits}f}" if line[key] else "" for key in (name, *ends(name))
            )
            return f"{value} ({low} to {high})" if low and high else value

        before = f"{100 * float(line['wer_before']):.0f}" if line["wer_before"] else ""
        cells = (
            *(cell("alid", 1, 2), cell("top1", 100, 0), f"{100 * float(line['guessing']):.1f}"),
            *(cell("people_named", 100, 0), line["beaten"], cell("words", 1, 2)),
            *(cell("wer", 100, 0), before, cell("mos", 1, 1), line["refused"], line["time"], line["effort"]),
        )
        print(f"| {title} | {' | '.join(cells)} |")


def ends(name: str) -> tuple[str, str]:
    """The columns of an interval."""
    return f"{name}_low", f"{name}_high"


def front(source: Path, target: Path) -> None:
    """Draw what the strongest attacker learns against added word errors, over those of the same recordings before."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axes = figure.subplots()
    for title, line in read_lines(source).items():
        if not line["wer"]:
            continue
        plain = title == UNTOUCHED
        x, y = 0.0 if plain else 100 * (float(line["wer"]) - float(line["wer_before"])), float(line["alid"])
        axes.plot(x, y, "o", color="black" if plain else "C0", markersize=5)
        axes.plot([x, x], [float(line[key]) for key in ends("alid")], color="0.7", zorder=0, linewidth=1)
        offset = (-4, -14) if plain else (5, 5)
        axes.annotate(title, (x, y), xytext=offset, textcoords="offset points", fontsize=8)
    axes.axhline(0.0, color="0.5", linestyle=":", linewidth=1)
    axes.set_xlabel(f"added word errors, heard by {RECOGNISER} (points)")
    axes.set_ylabel("ALID of the strongest attacker (bits)")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


def listen(work: Path, speech: Path, target: Path) -> None:
    """Draw spectrograms of ten recordings before and after, and print what is heard in them."""
    from matplotlib.figure import Figure

    homes = {title: work / title.replace(" ", "-") / "1" for title in HEARD}
    original = read_speech(work / "original", list(homes.values())).corpus
    original = original.only([each for each in original if each.speaker in never_heard(speech)])
    said = corpus_transcripts(original, work / "original")
    ten = sorted(original, key=lambda each: random_key(f"0:{each.id}"))[:TEN]  # of those that are heard anyway
    sides = {
        "original": original.only(ten),
        **{title: original.only(ten).replaced(home) for title, home in homes.items()},
    }
    recogniser = CachedRecogniser(RECOGNISER, Store(work / "cache", "heard"))
    texts = {
        title: transcribe(tuple(corpus), lambda each: load_speech(each, RATE).wave, recogniser)
        for title, corpus in sides.items()
    }
    print(f"| said | {' | '.join(sides)} |")
    print(f"| --- |{' --- |' * len(sides)}")
    for each in ten:
        print(f"| {said[each.id].lower()} | {' | '.join(texts[title][each.id].text for title in sides)} |")
    figure = Figure(figsize=(9.0, 1.0 * len(sides)), layout="constrained")
    grid = figure.subplots(len(sides), TEN, squeeze=False)
    for line, (title, corpus) in zip(grid, sides.items(), strict=True):
        line[0].set_ylabel(title, fontsize=7)
        for axes, each in zip(line, corpus, strict=True):
            axes.imshow(spectrogram(load_audio(each)), origin="lower", aspect="auto", cmap="gray_r", vmin=-5, vmax=0)
            axes.set_xticks([])
            axes.set_yticks([])
    figure.savefig(target, dpi=110)


def spectrogram(wave: np.ndarray) -> np.ndarray:
    """Logarithm of the power (frequencies up to 5 kHz x frames of 10 ms), over the largest."""
    frames = np.lib.stride_tricks.sliding_window_view(wave, 400)[::160] * np.hanning(400)
    power = np.abs(np.fft.rfft(frames, axis=1)).T[:125] ** 2
    return np.log10(np.maximum(power / power.max(), 1e-8))


def voice():
    """Pulses of a gliding pitch through a slowly moving resonance, with pauses and a little noise."""
    rng = np.random.default_rng(0)
    time_axis = np.arange(int(RATE * SECONDS)) / RATE
    phase = 2.0 * np.pi * np.cumsum(120.0 + 30.0 * np.sin(2.0 * np.pi * time_axis)) / RATE
    wave = sum(np.cos(k * phase) / k ** (1.0 + 0.3 * np.sin(3.0 * time_axis)) for k in range(1, 30))
    wave = wave * (np.sin(2.0 * np.pi * 1.5 * time_axis) > -0.7) + 0.01 * rng.normal(size=len(wave))
    return (0.3 * wave / np.abs(wave).max()).astype(np.float32)


def usable_names(wave):
    """One spelling of each kind that is installed and takes this speech; programs of the user's are left out."""
    names = [kind.spellings[0].text for kind in VOICE_PROTECTORS.values() if kind.name != "command"]
    usable = []
    for name in names:
        try:
            load_protector(name)(wave, RATE, Spoken())
            usable.append(name)
        except (MissingExtra, InputError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    return usable


def first_call(name, file):
    """Seconds of the first call in this process."""
    protector, wave = load_protector(name), voice() if file is None else load_audio(file, RATE)
    return processor_time(lambda: protector(wave, RATE, Spoken()))


def in_fresh_process(name, file, repeats):
    """The shortest first call."""
    command = [sys.executable, __file__, "speed", "--first", name, *([file] if file else [])]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(repeats))


def speed(file: str | None, repeats: int) -> None:
    """Print the time of each protector over that of `mcadams`; all take turns, and the best of each counts."""
    wave = voice() if file is None else load_audio(file, RATE)
    protectors = {name: load_protector(name) for name in usable_names(wave)}
    protectors[THREE] = load_protector(THREE)
    calls = {name: lambda one=one: one(wave, RATE, Spoken()) for name, one in protectors.items()}
    cues = load_extractor("cues")
    with one_blas_thread():
        timed = {**calls, "cues": lambda: cues.embed([wave])}
        rounds = [{name: processor_time(call) for name, call in timed.items()} for _ in range(repeats)]
    times = {name: min(each[name] for each in rounds) for name in timed}
    floor, seconds = times[FLOOR], len(wave) / RATE
    print(f"{FLOOR}: {1e3 * floor:.1f} ms for {seconds:.1f} s of speech, {seconds / floor:.0f} times real time")
    print(f"| protector | of real time | times {FLOOR} | first call, times {FLOOR} |")
    print("| --- | ---: | ---: | ---: |")
    for name, taken in times.items():
        first = f"{in_fresh_process(name, file, 3) / floor:.2f}" if name in calls else ""
        print(f"| `{name}` | {taken / seconds:.4f} | {taken / floor:.2f} | {first} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    measuring = steps.add_parser("measure")
    measuring.add_argument("work", type=Path)
    measuring.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    measuring.add_argument("--people", type=int)
    measuring.add_argument("--recordings", type=int, help="of each person; all by default")
    measuring.add_argument("--effort", choices=("quick", "standard", "full"), default="quick")
    measuring.add_argument("--draws", type=int, help="of protectors that draw; by default as the effort does")
    measuring.add_argument("--heard", type=int, default=30, help="recordings that are heard")
    measuring.add_argument("--only", action="append", default=[], choices=PROTECTORS, help="may be repeated")
    for name in ("collect", "table", "front", "listen", "parts"):
        step = steps.add_parser(name)
        step.add_argument("work", type=Path, help="the table, for `table` and `front`")
        if name in ("collect", "front", "listen"):
            step.add_argument("target", type=Path)
        if name in ("listen", "parts"):
            step.add_argument("--speech", type=Path, default=Path("../shared/data/speechocean"))
    timed = steps.add_parser("speed")
    timed.add_argument("wave", nargs="?")
    timed.add_argument("--repeats", type=int, default=20)
    timed.add_argument("--first", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step == "measure":
        speech = given.speech.absolute()
        original = choose_people(given.work, speech, given.people, given.recordings)
        measure(original, given.work, speech, given.effort, given.draws, given.heard, given.only)
    elif given.step == "collect":
        collect(given.work, given.target)
    elif given.step == "table":
        table(given.work)
    elif given.step == "front":
        front(given.work, given.target)
    elif given.step == "parts":
        parts(given.work, given.speech.absolute())
    elif given.step == "listen":
        listen(given.work, given.speech.absolute(), given.target)
    elif given.first:
        print(first_call(given.first, given.wave))
    else:
        speed(given.wave, given.repeats)


if __name__ == "__main__":
    main()
