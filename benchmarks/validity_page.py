"""The page of `validity.py`: tables of what was simulated, and what they say."""
# ruff: noqa: E501 (sentences of the page are one line each)

from __future__ import annotations

TITLES = {
    "eer": "EER",
    "eer_rocch": "ROCCH-EER",
    "dcf_min": "min DCF",
    "lid_prior_free": "prior-free LID",
    "link_probability": "linked",
    "cllr_min": "min Cllr",
    "d_ece": "D_ECE",
    "linkability": "linkability",
    "alid": "ALID",
    "top1": "top-1",
    "mean_rank_disclosure": "rank disclosure",
    "cm_eer": "CM EER",
    "asv_eer": "ASV EER",
    "tdcf_min": "min t-DCF",
    "teer": "t-EER",
    "verdict": "verdict",
    "list": "list",
    "exposed_one": "people above 1 bit",
    "exposed_half": "people above half of the bits",
}
EXPOSED = ("exposed_one", "exposed_half")
CORRECTED = ("cllr_min", "d_ece", "linkability", "mean_rank_disclosure")

HEAD = """# Validity of intervals, p-values and comparisons

This page is made by one command:

```text
python benchmarks/validity.py --simulations 100 --workers 16 --results validity.jsonl --page docs/validity.md
```

It simulates people whose truth is known, evaluates them as a user would, and counts.
[How far to trust a number](trust.md) says how intervals, nulls and comparisons are made.

## The people

A score is the sum of effects of the enrolled person, of the person heard, of the pair of people, of the recording and of chance, plus a shift for mated pairs.
`benchmarks/validity_designs.py` has the generators.

| design | people |
| --- | --- |
| equal | everybody has ten recordings; effects are Gaussian |
| zipf | the i-th person has a share of 1 / i of the recordings, so that 30 people count as 10 |
| zoo | a fifth are goats (hard to recognise), a tenth lambs (easily taken for), a tenth wolves (easily taken for others) |
| heavy | effects of people, and how well each is recognised, have the tails of a t distribution with 3 degrees |
| crossed | effects of the enrolled person and of the person heard are twice as large |

Leakage is *none*, *medium* (an EER of 27 % where people are equal) or *strong* (1 %).
The truth of a comparison is that of a million people and pairs.
The truth of a search depends on its size: it is the mean over all simulations, with the calibration of other people held fixed.
"""


TUNED = """
Some constants of the methods were chosen on simulations with these generators: the rates at which a bias falls with the number of people, how much of a pair's double count is taken off in lists, and the least number of people.
So these tables check the methods on the designs that they were made for; other people may be other.
"""


def page(lines, planned):
    """The page, from summaries of cells, of which so many are planned."""
    short = (
        "" if len(lines) == planned else f"\nHere are {len(lines)} of its {planned} cells; the others were not run.\n"
    )
    parts = {}
    for line in lines:
        parts.setdefault(line["part"], []).append(line)
    sections = {
        "coverage": _coverage,
        "crossfit": _crossfit,
        "lists": _lists,
        "null": _null,
        "compare": _compare,
        "exposure": _exposure,
        "tandem": _tandem,
        "hard": _hard,
    }
    return "\n".join([HEAD + TUNED + short, *(make(parts[name]) for name, make in sections.items() if name in parts)])


def _times(lines):
    numbers = sorted({line["simulations"] for line in lines})
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _table(head, rows):
    ruler = ["---" if name in ("design", "leakage", "scores", "use") else "---:" for name in head]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ruler, *rows)) + "\n"


def _cells(line, names, show):
    return [show(line["found"][name]) for name in names]


def _held(summary):
    return "not given" if summary["coverage"] is None else f"{100 * summary['coverage']:.0f}"


def _long(summary):
    return (
        "not given"
        if summary["length"] is None
        else f"{summary['length']:.3f} ({summary['length'] / max(summary['deviation'], 1e-9):.1f})"
    )


def _safe(summary):
    return "not given" if summary["safe"] is None else f"{100 * summary['safe']:.0f}"


def _upper(lines):
    names = list(lines[0]["found"])
    rows = [[str(line["people"]), line["design"], line["leak"], *_cells(line, names, _safe)] for line in lines]
    return _table(["people", "design", "leakage", *(TITLES[name] for name in names)], rows)


def _crossfit(lines):
    names = [name for name in lines[0]["found"] if name not in EXPOSED]
    rows = [[str(line["people"]), line["design"], line["leak"], *_cells(line, names, _held)] for line in lines]
    return "\n".join(
        [
            "## Coverage without development people\n",
            "The search is calibrated on the other evaluated people (cross-fitting), as it is without `--dev`.\n",
            _table(["people", "design", "leakage", *(TITLES[name] for name in names)], rows),
            _least(lines),
            "Upper limits, in percent of the simulations:\n",
            _upper(lines),
        ]
    )


def _coverage(lines):
    names = [name for name in lines[0]["found"] if name not in EXPOSED]
    head = ["people", "design", "leakage", *(TITLES[name] for name in names)]
    label = [[str(line["people"]), line["design"], line["leak"]] for line in lines]
    held = [first + _cells(line, names, _held) for first, line in zip(label, lines, strict=True)]
    lengths = [first + _cells(line, names, _long) for first, line in zip(label, lines, strict=True)
               if line["people"] in (30, 100)]  # fmt: skip
    biased = [
        first + [f"{line['found'][name]['bias']:+.3f} ({line['found'][name]['plain_bias']:+.3f})" for name in CORRECTED]
        for first, line in zip(label, lines, strict=True)
        if line["people"] == 30
    ]
    return "\n".join(
        [
            "## Coverage\n",
            f"Share of 95 % intervals that hold the truth, in percent, of {_times(lines)} simulations each.",
            "Fewer than ten people give no interval.\n",
            _table(head, held),
            _least(lines),
            "## Upper limits\n",
            "Share of one-sided 95 % limits that are on the safe side of the truth, in percent.",
            "The last two are limits of the share of people who are exposed to more than one bit, and to more than half of the bits that there are.\n",
            _upper(lines),
            "Where intervals miss the truth and upper limits do not, the truth is lower than the interval.",
            "That is so of searches through a hundred people with heavy tails: in some samples one enrolled voice draws most of the names, so that nobody else is found, and in the other samples nothing hints at it.",
            "The share of exposed people is about other people who are heard, while those who are enrolled stay as they are; where enrolled people make samples differ, its limit holds less often.\n",
            "## Length\n",
            "Mean length of the intervals, in brackets as a multiple of the standard deviation of the value.",
            "An interval that knew this deviation would have a length of 3.9.",
            "Where nearly no error is seen the deviation is small and tells nothing about people who were not seen; "
            "intervals allow for these.\n",
            _table(head, lengths),
            "## Bias\n",
            "Mean of the corrected value, which intervals lie around, less the truth with 30 people; in brackets that of the value.\n",
            _table(["people", "design", "leakage", *(TITLES[name] for name in CORRECTED)], biased),
        ]
    )


def _least(lines):
    """One sentence with the worst cell of each number of people."""
    phrases = []
    for people in sorted({line["people"] for line in lines}):
        found = [(one["coverage"], line, name) for line in lines if line["people"] == people
                 for name, one in line["found"].items() if one["coverage"] is not None]  # fmt: skip
        if found:
            worst, line, name = min(found, key=lambda one: one[0])
            phrases.append(
                f"{100 * worst:.0f} % with {people} people ({TITLES[name]}, {line['design']}, {line['leak']})"
            )
    return f"The least is {', '.join(phrases)}.\n" if phrases else ""


HARD = {
    "rare": "a twentieth of the people are recognised in every recording, nothing leaks of the others",
    "once": "as *equal*, medium leakage, one, two, five or ten recordings of each person",
    "hubs": "a thirtieth are enrolled voices that draw many names, a thirtieth are hard to recognise",
    "integers": "as *equal*, medium leakage, scores are whole numbers",
    "rare vectors": "embeddings: a twentieth of the people are not protected, the vectors of the others are noise",
    "sessions": "embeddings: recordings come in sessions with a vector of their own, numbers of recordings are uneven",
    "families": "embeddings: three people each sound alike",
    "quality": "embeddings: the noise of each recording has the tails of a t distribution with 3 degrees",
    "real": "embeddings of 125 real people with noise added, people drawn anew in each simulation",
}


def _hard(lines):
    names = [name for name in lines[0]["found"] if name != "nobody"]
    head = ["design", "people", "recordings", *(TITLES[name] for name in names)]
    label = [[line["design"], str(line["people"]), str(line["more"])] for line in lines]

    def table(show):
        return _table(head, [first + _cells(line, names, show) for first, line in zip(label, lines, strict=True)])

    kinds = dict.fromkeys((line["design"], line["leak"]) for line in lines)
    unseen = [
        [line["design"], str(line["people"]), f"{100 * line['found']['nobody']:.0f}",
         *_cells(line, names, lambda measured: f"{100 * measured['unseen']:.0f}")]
        for line in lines
        if line["design"].startswith("rare") and line["people"] == 30 and line["found"]["nobody"]
    ]  # fmt: skip
    return "\n".join(
        [
            "## Few exposed people, and other hard designs\n",
            "`benchmarks/hard_designs.py` has the generators.",
            "The way of making limits was chosen on the first; the others were held out.\n",
            _table(["design", "people", "use"], [[name, HARD[name], use] for name, use in kinds]),
            "The truth of a comparison is that of the scores of 200 samples together.\n",
            f"Share of two-sided 95 % intervals that hold the truth, in percent, of {_times(lines)} simulations each:\n",
            table(_held),
            "Share of one-sided 95 % limits that are on the safe side of the truth, in percent:\n",
            table(_safe),
            "The same over the samples in which nobody is exposed, in percent; their share of all samples stands before.\n",
            _table(["design", "people", "samples", *(TITLES[name] for name in names)], unseen) if unseen else "",
            "**The price.**",
            "Mean distance of the one-sided limit from the value, in brackets where limits allow only for people like those in the sample and for such as are not recognised:\n",
            table(lambda measured: f"{measured['reach']:.3f} ({measured['reach_without']:.3f})"),
            "Mean length of the two-sided intervals, in brackets in the same way:\n",
            table(lambda measured: f"{measured['length']:.3f} ({measured['without']['length']:.3f})"),
        ]
    )


def _lists(lines):
    names = list(lines[0]["found"])
    rows = [[str(line["people"]), line["design"], line["leak"], *_cells(line, names, _held)] for line in lines]
    return "\n".join(
        [
            "## Coverage in lists of trials\n",
            "Each person has a few pairs with themselves and a few with others; people have the same effect on either side.\n",
            _table(["people", "design", "leakage", *(TITLES[name] for name in names)], rows),
        ]
    )


def _null(lines):
    rows = []
    for line in lines:
        what = line["leak"] + (f", {line['more']} enrolment(s) each" if line["more"] else "")
        for name, one in line["found"].items():
            tested = what if name == "list" else f"{what}: {TITLES[name]}"
            rows.append([str(line["people"]), line["design"], tested,
                         f"{100 * one['rejected']:.1f}", f"{100 * one['power']:.0f}"])  # fmt: skip
    return "\n".join(
        [
            "## P-values\n",
            f"Share of p-values of at most 0.05, in percent, of {_times(lines)} simulations each (more where `--part null --simulations 500` was run for a design): where nothing leaks, "
            "and where a little does (a shift of 0.4; power).",
            "The verdict takes all p-values of a row together.\n",
            _table(["people", "design", "scores", "nothing leaks", "power"], rows),
        ]
    )


def _compare(lines):
    names = list(lines[0]["found"])
    rows = [
        [str(line["people"]), line["design"], str(line["more"]),
         *(f"{100 * line['found'][name]['pairs']:.1f} / {100 * line['found'][name]['tables']:.1f}" for name in names)]
        for line in lines
    ]  # fmt: skip
    return "\n".join(
        [
            "## Comparisons\n",
            "Systems of equal truth that share half of their effects, with medium leakage.",
            "Share of pairs with a p-value of at most 0.05, and share of tables in which any pair is called different "
            f"after Holm's correction, in percent, of {_times(lines)} simulations each.\n",
            _table(["people", "design", "systems", *(TITLES[name] for name in names)], rows),
        ]
    )


def _exposure(lines):
    rows = []
    for line in lines:
        found, exposed = line["found"], line["more"]
        rows.append(
            [str(line["people"]), line["design"], str(exposed),
             f"{100 * found['found'] / exposed:.0f}" if exposed else "",
             f"{found['others']:.2f}",
             *(f"{100 * found[name]:.0f}" for name in ("chance", "headline", "counted", "bound"))]
        )  # fmt: skip
    return "\n".join(
        [
            "## Single people who are exposed\n",
            "Nothing leaks, but a few people are recognised in every recording.",
            f"Share of them that `people_named` counts, number of other people that it counts, and shares of {_times(lines)} simulations each, in percent: "
            "in which the averages are not told apart from chance, in which the headline says that people are named although no leak was found on average, "
            "in which the count stands in the first five sentences, and in which the bound is at least the share of people who are exposed.\n",
            _table(
                [
                    "people",
                    "design",
                    "exposed",
                    "counted",
                    "others counted",
                    "average at chance",
                    "headline",
                    "in five sentences",
                    "bound",
                ],
                rows,
            ),
        ]
    )


def _tandem(lines):
    names = list(lines[0]["found"])
    rows = [[str(line["people"]), line["design"], str(line["more"]), *_cells(line, names, _held)] for line in lines]
    return "\n".join(
        [
            "## Coverage of tandems\n",
            "A verifier behind a countermeasure; with twelve attacks the truth is that of many attacks.\n",
            _table(["people", "design", "attacks", *(TITLES[name] for name in names)], rows),
        ]
    )
