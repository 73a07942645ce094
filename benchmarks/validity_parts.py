"""What `validity.py` simulates: one function for each part, which evaluates one sample as a user would.

A simulation returns limits, `{measure: [[estimate, value, low, high, bound, truth], ...]}` with NaN for what there is
not, and outcomes, `{(measure, statistic): number}`, whose mean over all simulations is a line of the table.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from hard_designs import HARD, hard_matrix
from held_out_designs import MANY, VOICES, people, recorded, search, systems, voices_list, voices_matrix
from validity_designs import DESIGNS, LEAKS, complete_list, matrix, tandem, trial_list

from zeroevidence import Options, Run, threshold
from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation import scores as score_evaluation
from zeroevidence.evaluation.comparison import compare
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.evaluation.people import most_people_above, speaker_columns
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.measure.measures import measures_of
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.report.verdict import verdict

COMPARED = ("eer", "d_ece", "linkability", "alid", "top1")
SHIFTED = {"none": 0.0, "little": 0.4, **{name: LEAKS[name] for name in ("medium", "strong")}}
NAMED_RATE = 0.8  # of recordings, from which on a person counts as named
EXPOSED_BITS = 1.0
LONG = 80  # recordings that show a person's long-run rate
POOLED = 100  # samples that the truth of comparisons comes from
POPULATION = ("eer", "eer_rocch", "cllr_min", "dcf_min", "d_ece", "linkability", "linkability_nonmated")
QUICK = Options(null=0, linkability="pav")


def omit_curves():
    """Leave out curves in this process: they have no intervals, and take most of the time."""
    score_evaluation.search_curves = lambda *_: {}


def sample(cell, seed):
    """The scores of one sample of the people of a cell; a design may be followed by its leakage."""
    key = (cell.part == "development", cell.people, cell.recordings, *seed)
    if cell.design in VOICES:
        return voices_matrix(cell.design, cell.people, cell.recordings, key)
    if cell.design in HARD:
        return hard_matrix(cell.design, cell.people, cell.recordings, key)
    design, leak = cell.design.split(", ")
    return matrix(DESIGNS[design], SHIFTED[leak], cell.people, key, recordings=cell.recordings)


def development(cell, seed):
    """Twice as many other people, on whom the search is calibrated."""
    many = [sample(cell, (99, i, seed)) for i in range(2)]
    return ScoreMatrix(np.concatenate([data.scores for data in many]), np.concatenate([data.mated for data in many]))


def limits_of(row):
    """Limits of every measure that has an interval or a bound, and of what several recordings tell."""
    limits = {}
    for name, result in row.metrics.items():
        if result.low is not None or result.bound is not None:
            corrected = None if row.replicates is None or name not in row.replicates.rules else (
                row.replicates.corrected(name, float(result)))  # fmt: skip
            estimate = float(result) if corrected is None else corrected
            limits[name] = [[estimate, float(result), *map(_number, (result.low, result.high, result.bound)), np.nan]]
    for name in ("alid", "top1") if row.recordings is not None else ():
        values, low, high = (getattr(row.recordings, f"{name}{end}") for end in ("", "_low", "_high"))
        for k, *limited in zip(row.recordings.held, values, low or (), high or (), strict=False):
            if k in (3, 10):
                limits[f"{name} of {k} recordings"] = [[limited[0], *map(_number, limited), np.nan, np.nan]]
    return limits


def _number(limit):
    return np.nan if limit is None else float(limit)


def intervals(cell, seed):
    """Intervals and bounds of one search, calibrated on other people or cross-fitted."""
    data = sample(cell, (1, seed))
    dev = development(cell, seed) if cell.more == "development" else None
    row = evaluate(data, dev=dev, options=Options(null=0), run=Run(seed=seed))
    counts = np.bincount(data.mated, minlength=cell.people)
    first = np.bincount(data.mated, row.trials.rank > 1, cell.people) == 0
    seen = bool((counts > MANY).any()) if cell.design == "talkative" else bool(first.any())
    ranks = np.bincount(row.trials.rank.astype(int) - 1, minlength=cell.people)
    return limits_of(row), {"seen": seen, "trials": len(data.mated), "ranks": ranks.tolist()}


def list_sample(cell, key):
    """A list of single trials."""
    if cell.design in VOICES:
        return voices_list(cell.design, cell.people, cell.recordings, 1.0, (3, cell.people, *key))
    design, leak = cell.design.split(", ")
    return trial_list(DESIGNS[design], SHIFTED[leak], cell.people, (3, cell.people, *key))


def lists(cell, seed):
    """Intervals of a list of single trials."""
    return limits_of(evaluate(list_sample(cell, (1, seed)), options=Options(null=0), run=Run(seed=seed))), {}


def named(cell, seed):
    """Limits of the shares of people who are named, and who are exposed to a bit, and these shares in the long run."""
    rng = np.random.default_rng((21, cell.people, cell.recordings, seed))
    everybody = people(cell.design, cell.people, cell.recordings, rng)
    few_groups = Options(null=0, intervals=10, linkability="pav")  # limits of shares need none
    row = evaluate(search(everybody, rng), options=few_groups, run=Run(seed=seed))
    result, bound = row["people_named"], most_people_above(row, EXPOSED_BITS)
    share = float(np.mean(np.array(row.people.alid) > EXPOSED_BITS))
    ends = map(_number, (result.low, result.high, result.bound))
    limits = {"people_named": [[float(result), float(result), *ends, np.nan]]}
    if bound is not None:
        limits["people above 1 bit"] = [[share, share, np.nan, np.nan, bound, np.nan]]
    if seed % 4:  # a quarter of the simulations says what the long run is
        return limits, {}
    data = search(everybody, rng, counts=LONG)
    many = evaluate(data, options=Options(null=0, intervals=0, linkability="pav")).trials
    rates, bits = (np.bincount(data.mated, of_trials) / LONG for of_trials in (many.rank == 1, many.lid))
    truth = {
        "people_named": float(np.mean(rates >= NAMED_RATE)),
        "people above 1 bit": float(np.mean(bits > EXPOSED_BITS)),
    }
    return limits, {"truth": truth}


def p_values(cell, seed):
    """P-values of one table, plain and adjusted, the verdict's among them, and whether anybody is called named."""
    if cell.more == "complete list":
        design, leak = cell.design.split(", ")
        data = complete_list(DESIGNS[design], SHIFTED[leak], cell.people, (4, cell.people, seed))
    else:
        data = sample(cell, (4, seed))
    row = evaluate(data, options=Options(intervals=0, null=199, linkability="pav"), run=Run(seed=seed))
    outcomes = {}
    printed = [result for result in row.metrics.values() if result.p_value is not None]
    for name, result in row.metrics.items():
        if result.p_value is not None:
            outcomes[name, "rejected"] = float(result.p_value <= 0.05)
    adjusted = [p for p in (getattr(result, "p_adjusted", None) for result in printed) if p is not None]
    leak = chances([row])[0].beaten is True
    outcomes["table", "any plain"] = float(min(result.p_value for result in printed) <= 0.05)
    outcomes["table", "any adjusted"] = float(min(adjusted, default=1.0) <= 0.05)
    outcomes["verdict", "rejected"] = float(leak)
    outcomes["verdict", "leak or named"] = float(leak or "named" in verdict([row]).headline)
    return {}, outcomes


def list_tests(cell, seed):
    """The p-value of a list, and the area under its ROC, from which that of an oracle follows."""
    outcomes = {}
    for leak, clearer in (("nothing", 0.0), ("little", 0.12)):
        key = (5, cell.people, clearer > 0.0, seed)
        if cell.design in VOICES:
            data = voices_list(cell.design, cell.people, cell.recordings, clearer, key)
        else:
            data = trial_list(DESIGNS[cell.design], clearer, cell.people, key, enrolments=cell.recordings)
        row = evaluate(data, options=Options(intervals=0, linkability="pav"), run=Run(seed=seed))
        area = np.searchsorted(np.sort(data.nontarget), data.target).mean() / len(data.nontarget)
        outcomes[leak, "rejected"] = float(row["d_ece"].p_value <= 0.05)
        outcomes[leak, "area"], outcomes[leak, "d_ece"] = float(area), float(row["d_ece"])
    return {}, outcomes


def compared(cell, seed):
    """Pairs of several systems of equal truth, or of two of which one leaks more (`more`: how many, or how much)."""
    if "." in cell.more:
        data = systems(cell.design, cell.people, cell.recordings, float(cell.more), (6, cell.people, seed))
    elif cell.design in VOICES:
        rng = np.random.default_rng((7, cell.people, seed))
        everybody = people(cell.design, cell.people, cell.recordings, rng)
        data = [search(everybody, rng) for _ in range(int(cell.more))]
    else:
        design, leak = cell.design.split(", ")
        common = matrix(DESIGNS[design], SHIFTED[leak], cell.people, (6, cell.people, seed))
        data = []
        for system in range(int(cell.more)):
            single = matrix(DESIGNS[design], SHIFTED[leak], cell.people, (7, cell.people, seed, system))
            scores = (common.scores + single.scores) / np.sqrt(2.0)
            data.append(ScoreMatrix(scores, common.mated, None, None, common.trial_speakers, common.enrolment_speakers))
    rows = [evaluate(scores, labels={"system": str(i)}, options=QUICK) for i, scores in enumerate(data)]
    limits, outcomes = {}, {}
    for table, name in zip(compare(rows, COMPARED), COMPARED, strict=True):
        p_values = [pair.difference.p_value for pair in table.pairs]
        outcomes[name, "pairs"] = float(np.mean(np.array(p_values) <= 0.05))
        outcomes[name, "tables"] = float(min(pair.p_holm for pair in table.pairs) <= 0.05)
        first = table.pairs[0].difference.at_level(0.95)
        limits[name] = [[first.value, first.value, first.low, first.high, np.nan, np.nan]]
    return limits, outcomes


def exposed(cell, seed):
    """What the verdict says where nothing leaks but a few people, who are recognised in every recording."""
    data = sample(cell, (12, seed))
    number = int(cell.more)
    # Whoever is exposed has at least two recordings: nobody else can be counted.
    countable = np.flatnonzero(np.bincount(data.mated, minlength=cell.people) > 1)
    whom = np.random.default_rng((13, seed)).choice(countable, number, replace=False)
    scores = np.array(data.scores)
    rows = np.flatnonzero(np.isin(data.mated, whom))
    scores[rows, data.mated[rows]] = scores.max() + 1.0
    data = ScoreMatrix(scores, data.mated, None, None, data.trial_speakers, data.enrolment_speakers)
    row = evaluate(data, options=Options(null=99, linkability="pav"), run=Run(seed=seed))
    counted = {name for name, counts in zip(row.people.speaker, row.people.named, strict=True) if counts}
    names = set(data.enrolment_speakers[whom].tolist())
    return {}, {
        ("people_named", "right"): len(counted & names),
        ("people_named", "wrong"): len(counted - names),
        ("verdict", "rejected"): float(chances([row])[0].beaten is True),
        ("verdict", "headline"): float("named" in verdict([row]).headline),
        ("people_named", "safe"): float(row["people_named"].bound >= number / cell.people),
    }


def speakers(cell, seed):
    """Limits of each speaker's mean LID and EER, about other recordings of the same speaker."""
    rng = np.random.default_rng((31, cell.people, seed))
    everybody = people(cell.design, cell.people, cell.recordings, rng)
    lines, many = (
        _speaker_lines(search(everybody, rng, counts=counts))
        for counts in (everybody.counts, np.full(cell.people, LONG))
    )
    limits = {"lid_mean": [], "eer": []}
    for name, line in lines.items():
        for column, ends in (("lid_mean", "lid"), ("eer", "eer")):
            low, high = line[f"{ends}_low"], line[f"{ends}_high"]
            if low is not None:
                limits[column].append([line[column], line[column], low, high, np.nan, many[name][column]])
    return {f"{name} of a speaker": values for name, values in limits.items()}, {}


def _speaker_lines(data):
    columns = speaker_columns(evaluate(data, options=Options(intervals=0, null=0, linkability="pav")))
    return {name: {key: columns[key][place] for key in columns} for place, name in enumerate(columns["speaker"])}


def thresholds(cell, seed):
    """Limits of the error rates at a threshold that other people chose, which are true of this threshold."""
    elsewhere = development(cell, seed).to_scores()
    chosen = threshold(sample(cell, (1, seed)), prior=0.5, calibrate=elsewhere, run=Run(seed=seed))
    target, nontarget = pooled_scores(cell)
    truths = (np.mean(target < chosen.score), np.mean(nontarget >= chosen.score))
    named_rates = zip(("misses", "false alarms"), (chosen.miss, chosen.false_alarm), truths, strict=True)
    return {
        f"{name} at a threshold": [[rate.value, rate.value, _number(rate.low), _number(rate.high), np.nan, float(true)]]
        for name, rate, true in named_rates
    }, {}


@lru_cache(1)
def _gallery(cell):
    return people(cell.design, 10 * cell.people, cell.recordings, np.random.default_rng((41, cell.people)))


def links(cell, seed):
    """Limits of a search that started from embeddings: others of the people who are enrolled might have been heard."""
    from zeroevidence.evaluation.results import link  # needs polars
    from zeroevidence.linkage.plan import LinkOptions

    gallery, rng = _gallery(cell), np.random.default_rng((42, cell.people, seed))
    mated = np.repeat(rng.choice(len(gallery.counts), cell.people, replace=False), cell.recordings)
    found = link(recorded(gallery, mated, rng), gallery.enrolled, mated, LinkOptions(weight=8.0))
    row = found.evaluate(run=Run(seed=seed))
    ranks = np.bincount(row.trials.rank.astype(int) - 1, minlength=len(gallery.counts))
    return {f"{name} of a link": values for name, values in limits_of(row).items()}, {"ranks": ranks.tolist()}


def utility(cell, seed):
    """Word errors and recalls of speakers who are understood differently well."""
    from zeroevidence.evaluation.utility import UtilityRowSettings, evaluate_classes, utility_row  # needs polars
    from zeroevidence.measure.utility import TranscriptView

    rng = np.random.default_rng((51, cell.people, seed))
    rates = rng.beta(2.0, 8.0, cell.people)  # a fifth of the words on average
    who = np.repeat(np.arange(cell.people), cell.recordings)
    words = rng.integers(4, 12, len(who))
    wrong = rng.binomial(words, rates[who])
    lost = rng.binomial(wrong, 0.3)
    of_words = wrong - lost, lost, rng.binomial(words, 0.02), words
    characters = np.random.default_rng((52, cell.people, seed)).binomial(5 * wrong, 0.6), 5 * words
    errors = np.column_stack((*of_words, *characters)).astype(float)
    how = UtilityRowSettings({}, "anonymised", Options(), Run(seed=seed))
    row = utility_row(errors, errors[:, 3], lambda sums: TranscriptView(*sums), (who, "speaker"), {}, how)
    names, is_right = [f"{place:05}" for place in range(len(who))], rng.random(len(who)) >= rates[who]
    classes = {name: ("sad", "angry")[place % 2] for place, name in enumerate(names)}
    heard = {name: said if is_right[place] else "other" for place, (name, said) in enumerate(classes.items())}
    spoken = {name: f"s{person}" for name, person in zip(names, who.tolist(), strict=True)}
    recalls = evaluate_classes(classes, heard, speakers=spoken)
    return limits_of(row) | {"uar": limits_of(recalls[0])["uar"], "recall": limits_of(recalls[1])["recall"]}, {}


def attributes(cell, seed):
    """Bits about three classes of people, by posteriors that trust the scores a little too much."""
    from zeroevidence.protect.assessment.class_learning import ClassSample  # needs scikit-learn
    from zeroevidence.protect.assessment.rows import measure_class_bits

    rng = np.random.default_rng((81, cell.people, seed))
    whose = np.repeat(np.arange(cell.people), cell.recordings)
    of_people = rng.integers(0, 3, cell.people)
    of_people[:3] = np.arange(3)
    means = 0.8 * rng.standard_normal((cell.people, 3)) + 1.2 * np.eye(3)[of_people]
    logits = means[whose] + 0.8 * rng.standard_normal((len(whose), 3))
    posteriors = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    rows = ClassSample(logits, of_people[whose], whose)
    (result,) = measure_class_bits(rows, posteriors, Options(), Run(seed=seed)).values()
    return {"attribute_bits": [[float(result), float(result), result.low, result.high, result.bound, np.nan]]}, {}


def tandems(cell, seed):
    """A verifier behind a countermeasure."""
    from zeroevidence.evaluation.tandem import evaluate_tandem  # needs polars

    design, _ = cell.design.split(", ")
    (row,) = evaluate_tandem(
        tandem(DESIGNS[design], cell.people, int(cell.more), (8, cell.people, seed)), run=Run(seed=seed)
    )
    return limits_of(row), {}


@lru_cache(2)
def pooled_scores(cell):
    """Targets and non-targets of many samples together."""
    draw = list_sample if cell.part == "lists" else lambda cell, key: sample(cell, key).to_scores()
    pairs = [draw(cell, (97, i)) for i in range(POOLED * (3 if cell.design == "talkative" else 1))]
    return [np.concatenate([getattr(part, side) for part in pairs]) for side in ("target", "nontarget")]


def population(cell):
    """Measures of the comparisons of many samples together; nothing for parts whose truth is a mean."""
    if cell.part not in ("intervals", "lists"):
        return {}
    view = ScoreView(rank(*pooled_scores(cell)))
    return {measure.name: measure.compute(view) for measure in measures_of("one-to-one") if measure.name in POPULATION}
