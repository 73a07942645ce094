"""Make a page on which recordings can be listened to, before and after each protection.

    python scripts/make_listening_page.py CORPUS PAGE.html [--protect onevoice --protect cascade] [--recordings 6]

The recordings are of as many people, drawn by a seed. The page holds them as FLAC and asks for nothing else, so it can
be sent as one file. A recording that a protector refuses has the reason in its place.
"""

from __future__ import annotations

import argparse
import base64
import html
import io
from pathlib import Path

import numpy as np
import soundfile

from zeroevidence.auditing.word_errors import corpus_transcripts
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Utterance, random_key
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.errors import InputError, ZeroEvidenceError
from zeroevidence.protect import load_protector

RATE = 16_000
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Before and after protection</title>
<style>
:root {{ color-scheme: light dark; font: 1rem/1.4 system-ui, sans-serif; }}
body {{ max-width: 70rem; margin: 1rem auto; padding: 0 1rem; }}
section {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: .5rem 1rem; }}
audio {{ width: 100%; }}
h2 {{ font-size: 1rem; margin: 1.5rem 0 .3rem; }}
</style>
<h1>Before and after protection</h1>
{}
</html>
"""


def player(wave: np.ndarray) -> str:
    stream = io.BytesIO()
    soundfile.write(stream, wave, RATE, format="FLAC", subtype="PCM_16")
    return f'<audio controls src="data:audio/flac;base64,{base64.b64encode(stream.getvalue()).decode()}"></audio>'


def cell(title: str, content: str) -> str:
    return f"<div>{html.escape(title)}<br>{content}</div>"


def heard(recording: Utterance, said: str, protectors: list[str], seed: int) -> str:
    wave = load_speech(recording, RATE).wave
    cells = [cell("original", player(wave))]
    for name in protectors:
        try:
            protected = player(load_protector(name, seed=seed)(wave, RATE, recording))
        except InputError as error:
            protected = f"refused: {html.escape(error.reason)}"
        cells.append(cell(name, protected))
    title = html.escape(f"{recording.id}: {said}" if said else recording.id)
    return f"<h2>{title}</h2>\n<section>{''.join(cells)}</section>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--protect", action="append", default=[], help="as in `anonymise`; onevoice unless given")
    parser.add_argument("--recordings", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    corpus = read_corpus(given.corpus, draw=False)
    said = corpus_transcripts(corpus, given.corpus)
    order = sorted(corpus, key=lambda each: random_key(f"{given.seed}:{each.id}"))
    of_person = {each.speaker: each for each in reversed(order)}
    chosen = [each for each in order if of_person[each.speaker] is each][: given.recordings]
    parts = [heard(each, said.get(each.id, ""), given.protect or ["onevoice"], given.seed) for each in chosen]
    given.page.write_text(PAGE.format("\n".join(parts)), encoding="utf-8")
    print(f"wrote {given.page}: {len(chosen)} recordings, {given.page.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    try:
        main()
    except ZeroEvidenceError as error:
        raise SystemExit(str(error)) from None
