"""The audit: original and protected embeddings in, an evaluation of every attacker out, the strongest as headline.

Every audit has two bounds [Šterns et al., sec. 3]: `plain`, original against original speech, shows that the attacker
can recognise people at all; `random`, noise against noise, shows what the same search finds where nothing is to find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.attack.adapter import Adapter
from zeroevidence.attack.backends import Backend, BackendLike, make_backend
from zeroevidence.attack.threat import (
    PLAIN,
    RANDOM,
    AttackerCard,
    ThreatModel,
    attacker_card,
    find_attacker,
)
from zeroevidence.data.embeddings import Embeddings, mated_rows
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Evaluation, Options, add_similarity, cross_flags, evaluate
from zeroevidence.uncertainty.draws import Progress

DEFAULT_ATTACKERS = ("ignorant", "lazy-informed", "semi-informed")
DEFAULT_BACKENDS = ("cosine", "plda")
_ALPHA = 0.05
_BOUNDS = ("unprotected", "random")
_MISLED = (
    "calibration-misled: this attacker calibrates on speech of another kind than the trials and trusts its scores too "
    "much; its negative disclosure is its own mistake and no privacy, so read D_ECE, or calibrate on matched speech."
)


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSets:
    """Embeddings of one kind of speech: training speakers, and enrolment and trials of development and evaluation.

    The three groups of speakers must not overlap, all vectors have one dimension, every set names its speakers, and no
    utterance is both enrolment and trial.
    """

    train: Embeddings
    dev_enrol: Embeddings
    dev_trial: Embeddings
    eval_enrol: Embeddings
    eval_trial: Embeddings

    def __post_init__(self) -> None:
        dimension = self.train.vectors.shape[1]
        for name, part in self.parts().items():
            if part.speakers is None:
                raise InputError(f"{name}: speakers are not known; an audit needs the speaker of every embedding")
            if part.vectors.shape[1] != dimension:
                raise InputError(f"{name}: {part.vectors.shape[1]} dimensions, but train has {dimension}")
        train, dev, held = self.speakers("train"), self.speakers("dev"), self.speakers("eval")
        for one, other, here, there in (
            ("training", "development", train, dev),
            ("training", "evaluation", train, held),
            ("development", "evaluation", dev, held),
        ):
            common = np.intersect1d(here, there)
            if len(common):
                raise InputError(
                    f"{one} and {other} share {len(common)} speaker(s), among them {str(common[0])!r}; an attacker "
                    "trained or calibrated on the evaluated people looks stronger than one is"
                )
        for split in ("dev", "eval"):
            enrol, trial = self.parts()[f"{split}_enrol"], self.parts()[f"{split}_trial"]
            common = np.intersect1d(enrol.ids, trial.ids)
            if len(common):
                raise InputError(f"{split}: utterance {str(common[0])!r} is both enrolment and trial")
            if len(np.unique(_speakers(enrol))) < 2:
                raise InputError(f"{split}: a search needs at least two enrolled speakers, got one")
            if not np.isin(_speakers(trial), _speakers(enrol)).any():
                raise InputError(f"{split}: no trial is of an enrolled speaker")

    @classmethod
    def from_roles(cls, embeddings: Embeddings, split: StrArray, role: StrArray) -> EmbeddingSets:
        """Sets out of one table: per vector a split (train, dev, eval) and, but for train, a role (enrol, trial)."""
        splits, roles = np.asarray(split, dtype=np.str_), np.asarray(role, dtype=np.str_)

        def part(name: str, wanted: str | None = None) -> Embeddings:
            chosen = splits == name if wanted is None else (splits == name) & (roles == wanted)
            if not chosen.any():
                raise InputError(f"no embedding is of {name}{'' if wanted is None else ', ' + wanted}")
            return embeddings.take(chosen)

        return cls(
            part("train"),
            part("dev", "enrol"),
            part("dev", "trial"),
            part("eval", "enrol"),
            part("eval", "trial"),
        )

    def parts(self) -> dict[str, Embeddings]:
        """The five sets by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def speakers(self, split: str) -> StrArray:
        """Distinct speakers of train, dev or eval."""
        found = [_speakers(part) for name, part in self.parts().items() if name.partition("_")[0] == split]
        return np.unique(np.concatenate(found))


@dataclass(frozen=True, slots=True)
class Audit:
    """What every attacker learned.

    Parameters
    ----------
    rows
        For each back-end the bounds `plain` and `random`, then the attackers.
    cards
        What each row's attacker wants, can reach and has.
    headline
        Number of the row of the strongest attacker.
    summary
        The finding in plain words.
    """

    rows: tuple[Evaluation, ...]
    cards: tuple[AttackerCard, ...]
    headline: int
    summary: str

    @property
    def strongest(self) -> Evaluation:
        """The row of the strongest attacker."""
        return self.rows[self.headline]


def audit_embeddings(
    original: EmbeddingSets,
    protected: EmbeddingSets,
    *,
    attackers: Sequence[str | ThreatModel] = DEFAULT_ATTACKERS,
    backends: Sequence[BackendLike] = DEFAULT_BACKENDS,
    options: Options | None = None,
    seed: int = 0,
    system: str = "protected",
    dataset: str = "",
    extractor: str = "embeddings",
    adapter: Adapter | None = None,
    calibration: Literal["attacker", "matched"] = "matched",
    workers: int = 1,
    progress: Progress | None = None,
) -> Audit:
    """Attack protected embeddings with every attacker and back-end, beside the bounds `plain` and `random`.

    Parameters
    ----------
    original, protected
        Embeddings of the same people before and after protection, from one extractor.
    attackers
        Names (``ignorant``, ``lazy-informed``, ``semi-informed``, ``semi-informed-adapter``, which needs torch) or
        threat models.
    backends
        Names (``cosine``, ``plda``, ``cosine-snorm``, ``plda-snorm``) or unfitted estimators.
    options
        How to measure.
    seed
        Of the noise in `random` and of the adapter network.
    system, dataset, extractor
        Words for the labels and cards: the protection, the corpus, the embedding extractor.
    adapter
        The network of ``semi-informed-adapter``, unfitted; the default one with this seed unless given.
    calibration
        ``matched``: on the same sides as in the evaluation, whatever the attacker knows, which is what an auditor can
        take out of the scores, and what Local Information Disclosure was defined with; ``attacker``: on the development
        speech that the attacker has (see `ThreatModel`). They differ for the ignorant attacker alone.
    workers
        Processes for the resampling.
    progress
        Called with the number of rows done and wanted.
    """
    models = [find_attacker(attacker) for attacker in attackers]
    if calibration == "matched":
        models = [replace(model, calibration="matched") for model in models]
    engines = [make_backend(backend) for backend in backends]
    if not models or not engines:
        raise UsageError("an audit needs at least one attacker and one back-end")
    for kind, names in (("attacker", [str(m) for m in models]), ("back-end", [b.name for b in engines])):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise UsageError(f"{kind} {twice[0]!r} is named more than once")
    _check_pair(original, protected)
    material = {"original": original, "anonymised": protected, "noise": _noise(original, seed)}
    adapted = material
    if any(model.adapter for model in models):
        network = Adapter(random_state=seed) if adapter is None else deepcopy(adapter)
        adapted = {"anonymised": _adapted(protected, network)}
    total = len(engines) * (len(models) + 2)
    rows: list[Evaluation] = []
    cards: list[AttackerCard] = []
    for engine in engines:
        group = []
        trained: dict[tuple[str, bool], Backend] = {}
        for model in (PLAIN, RANDOM, *models):
            sets = adapted if model.adapter else material
            learned = model.trained_on, model.adapter
            if learned not in trained:
                training = sets[model.trained_on].train
                trained[learned] = deepcopy(engine).fit(_doubles(training), _speakers(training))
            row, matrix = _attacked(model, trained[learned], sets, options, (system, dataset), workers)
            group.append((row, matrix))
            cards.append(
                attacker_card(
                    model,
                    backend=engine.name,
                    extractor=extractor,
                    identities=matrix.scores.shape[1],
                    train_speakers=len(original.speakers("train")),
                    dev_speakers=len(original.speakers("dev")),
                )
            )
            if progress is not None:
                progress(len(rows) + len(group), total)
        rows += cross_flags(add_similarity([(row, matrix.to_scores()) for row, matrix in group]))
    headline = _headline(rows)
    return Audit(tuple(rows), tuple(cards), headline, _summary(rows, headline, len(models)))


def _attacked(
    model: ThreatModel,
    backend: Backend,
    material: dict[str, EmbeddingSets],
    options: Options | None,
    words: tuple[str, str],
    workers: int,
) -> tuple[Evaluation, ScoreMatrix]:
    dev_enrol, dev_trial = (material[side] for side in model.development)
    dev = _scored(backend, dev_enrol.dev_enrol, dev_trial.dev_trial)
    matrix = _scored(backend, material[model.enrolment].eval_enrol, material[model.trial].eval_trial)
    system, dataset = words
    labels = {
        "system": {"unprotected": "none", "random": "noise"}.get(model.name, system),
        "dataset": dataset,
        "split": "eval",
        "enrolment": model.enrolment,
        "trial": model.trial,
        "attacker": str(model),
        "backend": backend.name,
    }
    known = {name: value for name, value in labels.items() if value}
    row = evaluate(matrix, dev=dev, labels=known, options=options, workers=workers)
    if model.development != (model.enrolment, model.trial) and _value(row, "alid") < 0.0:
        row = replace(row, flags=(*row.flags, _MISLED))
    return row, matrix


def _scored(backend: Backend, enrol: Embeddings, trial: Embeddings) -> ScoreMatrix:
    """Every trial against every enrolled speaker's mean vector."""
    profiles = enrol.profiles()
    return ScoreMatrix(
        backend.score(_doubles(profiles), _doubles(trial)),
        mated_rows(trial, profiles),
        trials=trial.ids,
        enrolments=profiles.ids,
        trial_speakers=trial.speakers,
        enrolment_speakers=profiles.speakers,
    )


def _check_pair(original: EmbeddingSets, protected: EmbeddingSets) -> None:
    for name, part in original.parts().items():
        other = protected.parts()[name]
        if part.vectors.shape[1] != other.vectors.shape[1]:
            raise InputError(
                f"{name}: {part.vectors.shape[1]} dimensions in original and {other.vectors.shape[1]} in protected "
                "speech; expected one extractor"
            )
        missing = np.setxor1d(_speakers(part), _speakers(other))
        if len(missing):
            raise InputError(f"{name}: speaker {str(missing[0])!r} is in only one of original and protected speech")


def _noise(sets: EmbeddingSets, seed: int) -> EmbeddingSets:
    """Independent normal vectors in the place of embeddings, with the mean and deviation that training vectors have."""
    rng = np.random.default_rng([seed, 0x6E6F6973])
    mean, deviation = sets.train.vectors.mean(axis=0, dtype=float), sets.train.vectors.std(axis=0, dtype=float)
    return _mapped(sets, lambda part: mean + deviation * rng.standard_normal(part.vectors.shape))


def _adapted(sets: EmbeddingSets, adapter: Adapter) -> EmbeddingSets:
    adapter.fit(_doubles(sets.train), _speakers(sets.train))
    return _mapped(sets, lambda part: adapter.transform(part.vectors))


def _mapped(sets: EmbeddingSets, change: Callable[[Embeddings], FloatArray]) -> EmbeddingSets:
    parts = sets.parts()
    return EmbeddingSets(
        **{name: Embeddings(change(part), part.ids, part.speakers, part.attributes) for name, part in parts.items()}
    )


def _doubles(embeddings: Embeddings) -> FloatArray:
    return np.asarray(embeddings.vectors, dtype=np.float64)


def _speakers(embeddings: Embeddings) -> StrArray:
    assert embeddings.speakers is not None
    return embeddings.speakers


def _headline(rows: Sequence[Evaluation]) -> int:
    """The attacker with the largest ALID among those that beat chance (of all where none does); D_ECE breaks ties."""

    def strength(number: int) -> tuple[bool, float, float]:
        row = rows[number]
        return _beats_chance(row), _value(row, "alid"), _value(row, "d_ece")

    return max((i for i, row in enumerate(rows) if _name(row) not in _BOUNDS), key=strength)


def _name(row: Evaluation) -> str:
    return row.labels["attacker"].partition(" (")[0]


def _value(row: Evaluation, name: str) -> float:
    value = row.metrics[name].value
    assert isinstance(value, float)
    return value


def _beats_chance(row: Evaluation) -> bool:
    """Whether ALID or D_ECE is beyond its null; taken for granted where no null was computed."""
    tested = [p for p in (row.metrics["alid"].p_value, row.metrics["d_ece"].p_value) if p is not None]
    return not tested or min(tested) <= _ALPHA


def _summary(rows: Sequence[Evaluation], headline: int, attackers: int) -> str:
    """The finding for a reader who decides about the data and not about the metrics."""
    row = rows[headline]
    same = [other for other in rows if other.labels["backend"] == row.labels["backend"]]
    plain = next(other for other in same if _name(other) == "unprotected")
    identities = row.counts["identities"]
    who = f"{row.labels['attacker']}, {row.labels['backend']} scores"
    tried = f"{attackers} kinds of attacker" if attackers > 1 else "the one kind of attacker"
    if not _beats_chance(plain):
        return (
            "This audit cannot say how private the protected speech is: the attackers do not recognise even "
            "unprotected speech better than chance, so their failure on protected speech would show nothing."
        )
    recognised = (
        f"it names the right person among {identities} for {_percent(_value(row, 'top1'))} of the recordings, where "
        f"guessing gives {_percent(1.0 / identities)} and unprotected speech {_percent(_value(plain, 'top1'))}"
    )
    if not _beats_chance(row):
        return (
            f"Of {tried} tried, none did better than chance on the protected speech; the strongest was {who}: "
            f"{recognised}. That these attackers fail is no proof that a stronger one would."
        )
    alid = row.metrics["alid"]
    between = "" if alid.low is None or alid.high is None else f" (95 % interval {alid.low:.2f} to {alid.high:.2f})"
    return (
        f"Of {tried} tried, the strongest is {who}: {recognised}. A recording gives away on average "
        f"{_value(row, 'alid'):.2f} bits{between}, and at most {_value(row, 'lid_max'):.2f}, of the "
        f"{np.log2(identities):.2f} bits that single out one of {identities} people; without protection it is "
        f"{_value(plain, 'alid'):.2f} bits on average. Other attackers may learn more."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
