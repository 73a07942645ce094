"""Sentences that the synthetic voices read: plain ones, digits and letters, and made-up words for every sound."""

from __future__ import annotations

import random

_PEOPLE = """the teacher|my brother|your sister|our neighbour|the doctor|a young woman|an old man|the children|
his mother|
her father|the driver|the farmer|the captain|a student|some friends|the singer|the judge|a stranger|the cook|
the whole family|their uncle|the shy boy|a cheerful girl|the guard|the king|the queen|a thief|the nurse|we|they|you|i|
she|he"""
_VERBS = """bought|found|lost|painted|carried|watched|opened|closed|broke|repaired|forgot|described|measured|touched|
chose|
enjoyed|noticed|threw|caught|hid|showed|brought|took|left|pushed|pulled|cleaned|burned|moved|drew|heard|followed|wanted|
loved|hated|sold|ate|smelled|could see|would like|should keep|will remember|has finished|is looking at|
was thinking of"""
_THINGS = """the bread|a blue jacket|the garden gate|two large boxes|the yellow flowers|a wooden chair|
the mountain path|
an orange|the thick book|some cheese|the broken window|a silver ring|the kitchen table|five fresh eggs|the church bell|
a cup of tea|the letter|their old house|a pair of shoes|the green valley|a sharp knife|the television|an umbrella|
the measuring tape|a shiny coin|the fish|a piece of chocolate|the music|the bridge|a rough stone|the long rope|
the airport|his bicycle|her voice|the judge's robe|a loud noise|the beige carpet|a vision of the future|
the usual mixture|young sheep|the jewel|a thousand birds|the south wind|boiled potatoes|a heavy load|the moon"""
_PLACES = """in the village|near the river|behind the school|on the beach|at the station|under the bridge|
across the street|
in the middle of the night|before breakfast|after the storm|last weekend|every Thursday|early in the morning|
with great pleasure|without a word|for three hours|because of the rain|on the fourth of July|in spring|by the sea|
around the corner|through the forest|as usual|once again|in the city|above the clouds|far away|just now|together|
at a quarter past eight|with both hands|during the long journey|from the top of the hill|years ago"""
_OPENINGS = """yesterday|tomorrow|however|of course|in the end|suddenly|perhaps|this time|to our surprise|
as far as i know|
on the other hand|generally speaking|when the bell rang|if nothing changes|while you were asleep|
as soon as it stopped"""
_QUESTIONS = """do you know why|can you tell me when|have you heard that|is it true that|i believe that|we hope that|
nobody knows how|they say that|please ask whether|it seems strange that"""
_DIGITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "twenty",
    "thirty",
    "forty",
    "hundred",
]
_LETTERS = [
    "A",
    "B",
    "C",
    "D",
    "E",
    "F",
    "G",
    "H",
    "I",
    "J",
    "K",
    "L",
    "M",
    "N",
    "O",
    "P",
    "Q",
    "R",
    "S",
    "T",
    "U",
    "V",
    "W",
    "X",
    "Y",
    "Z",
]
_ONSETS = [
    "b",
    "d",
    "f",
    "g",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "y",
    "z",
    "ch",
    "sh",
    "th",
    "bl",
    "br",
    "cl",
    "cr",
    "dr",
    "dw",
    "fl",
    "fr",
    "gl",
    "gr",
    "pl",
    "pr",
    "sk",
    "sl",
    "sm",
    "sn",
    "sp",
    "st",
    "sw",
    "tr",
    "tw",
    "thr",
    "shr",
    "str",
    "spr",
    "scr",
    "spl",
    "qu",
]
_NUCLEI = [
    "a",
    "e",
    "i",
    "o",
    "u",
    "ee",
    "oo",
    "oi",
    "ow",
    "ay",
    "ai",
    "ie",
    "oa",
    "ar",
    "er",
    "or",
    "aw",
    "ea",
    "igh",
    "air",
]
_CODAS = [
    "b",
    "d",
    "f",
    "g",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "z",
    "ch",
    "sh",
    "th",
    "ng",
    "nk",
    "nt",
    "nd",
    "st",
    "sk",
    "lt",
    "ld",
    "lf",
    "mp",
    "ft",
    "pt",
    "ct",
    "ps",
    "ts",
    "ks",
    "bs",
    "dge",
    "sp",
    "rn",
    "rm",
    "rk",
    "rt",
    "rd",
    "lp",
    "lm",
    "nce",
    "nch",
]


def _options(text: str) -> list[str]:
    return [" ".join(option.split()) for option in text.split("|")]


_PARTS = {
    name: _options(text)
    for name, text in {
        "people": _PEOPLE,
        "verbs": _VERBS,
        "things": _THINGS,
        "places": _PLACES,
        "openings": _OPENINGS,
        "questions": _QUESTIONS,
    }.items()
}
_SHAPES = (
    "{people} {verbs} {things} {places}.",
    "{openings}, {people} {verbs} {things}.",
    "{questions} {people} {verbs} {things} {places}?",
    "{people} {verbs} {things}, and {people} {verbs} {things}.",
    "{things} {places}!",
)


def _plain(source: random.Random) -> str:
    shape = source.choice(_SHAPES)
    for name, options in _PARTS.items():
        while "{" + name + "}" in shape:
            shape = shape.replace("{" + name + "}", source.choice(options), 1)
    return shape


def _made_up(source: random.Random) -> str:
    def word() -> str:
        return "".join(
            source.choice(_ONSETS) + source.choice(_NUCLEI) + (source.choice(_CODAS) if source.random() < 0.7 else "")
            for _ in range(source.choice((1, 1, 2)))
        )

    return " ".join(word() for _ in range(source.randint(4, 8))) + "."


def _shuffled(source: random.Random) -> str:
    pieces = [source.choice(source.choice(list(_PARTS.values()))) for _ in range(source.randint(3, 5))]
    return " ".join(pieces) + "."


def _spelled(source: random.Random) -> str:
    symbols = _DIGITS if source.random() < 0.7 else _LETTERS
    return ", ".join(source.choice(symbols) for _ in range(source.randint(3, 7))) + "."


def write_sentences(number: int, seed: int) -> list[str]:
    """Return sentences without repetition, the same for the same seed."""
    source = random.Random(seed)
    kinds, shares = (_plain, _shuffled, _made_up, _spelled), (40, 20, 30, 10)
    sentences: dict[str, None] = {}
    while len(sentences) < number:
        sentences[source.choices(kinds, shares)[0](source)] = None
    return list(sentences)
