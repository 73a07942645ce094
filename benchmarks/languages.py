"""What a cascade in other languages understands of real speech, and what is understood of what it says.

    python benchmarks/languages.py /usr/share/asterisk/sounds

The recordings are the telephone prompts of Debian's packages `asterisk-core-sounds-es-wav`, `-fr-wav`, `-it-wav` and
`-ru-wav` (8 kHz, CC BY-SA 3.0 and CC BY 3.0), one speaker for each language: digits, days and months, which are
joined to strings with a quarter of a second between them. Whisper writes them down and hears what espeak-ng says, so
errors after protection contain those before. Needs the extra `espeak`.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from zeroevidence.data.audio import load_audio
from zeroevidence.errors import InputError
from zeroevidence.evaluation.utility import character_errors, word_errors
from zeroevidence.protect import load_protector
from zeroevidence.protect.voices.speech_models import RATE, recognise

WORDS = {  # digits, days from Sunday, months
    "es": (
        "cero uno dos tres cuatro cinco seis siete ocho nueve",
        "domingo lunes martes miércoles jueves viernes sábado",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    ),
    "fr": (
        "zéro un deux trois quatre cinq six sept huit neuf",
        "dimanche lundi mardi mercredi jeudi vendredi samedi",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    ),
    "it": (
        "zero uno due tre quattro cinque sei sette otto nove",
        "domenica lunedì martedì mercoledì giovedì venerdì sabato",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    ),
    "ru": (
        "ноль один два три четыре пять шесть семь восемь девять",
        "воскресенье понедельник вторник среда четверг пятница суббота",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    ),
}
NAMES = ("digits/{}", "digits/day-{}", "digits/mon-{}")
LENGTH, GAP = 5, 0.25  # words of a string, and seconds between them


def strings(folder: Path, language: str, number: int) -> list[tuple[str, np.ndarray]]:
    """Return words in an order that is drawn, and their recordings behind one another."""
    draws = np.random.default_rng(0)
    made = []
    for words, name in zip(WORDS[language], NAMES, strict=True):
        spoken = [load_audio(folder / f"{name.format(place)}.wav", RATE) for place in range(len(words.split()))]
        gap = np.zeros(round(GAP * RATE), np.float32)
        for _ in range(number):
            places = draws.permutation(len(spoken))[:LENGTH]
            text = " ".join(words.split()[place] for place in places)
            made.append((text, np.concatenate([gap, *(part for place in places for part in (spoken[place], gap))])))
    return made


def plain(text: str, language: str) -> str:
    """Return a text without case and punctuation, with digits one by one as words."""
    digits = WORDS[language][0].split()
    text = re.sub(r"\d", lambda match: f" {digits[int(match[0])]} ", text.casefold().replace("ё", "е"))
    return " ".join(re.sub(r"[^\w\s]", " ", text).split())


def rates(said: list[str], heard: list[str]) -> str:
    words, characters = word_errors(said, heard).sum(0), character_errors(said, heard).sum(0)
    return f"{100 * words[:3].sum() / words[3]:.1f} | {100 * characters[0] / characters[1]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sounds", type=Path, help="Folder of the prompts, with one folder for each voice.")
    parser.add_argument("--number", type=int, default=10, help="Strings of digits, of days and of months.")
    given = parser.parse_args()
    print("| language | strings | refused | WER of text [%] | CER of text [%] | WER after [%] | CER after [%] |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for language in WORDS:
        (folder,) = given.sounds.glob(f"{language}_*")
        protect = load_protector(f"cascade:whisper/espeak-{language}")
        said, written, heard = list[str](), list[str](), list[str]()
        made = strings(folder, language, given.number)
        for number, (text, wave) in enumerate(made):
            try:
                spoken = protect(wave, RATE, SimpleNamespace(id=str(number), speaker=language))
            except InputError:
                continue
            said.append(plain(text, language))
            for side, speech in ((written, wave), (heard, spoken)):
                side.append(plain(recognise("whisper", speech, language).text, language))
        refused = len(made) - len(said)
        print(f"| {language} | {len(made)} | {refused} | {rates(said, written)} | {rates(said, heard)} |", flush=True)


if __name__ == "__main__":
    main()
