"""How a row is computed, and the one line that makes its numbers reproducible."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from zeroevidence import __version__
from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.rows import CalibrationMethod, RowCalibration, RowFit, RowScalingChoice
from zeroevidence.data.loaded_scores import RelaxedRule, SameSession
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import UsageError
from zeroevidence.measure.measures import Family
from zeroevidence.measure.views import LinkabilityMethod, PairSettings
from zeroevidence.run import LEVEL, check_whole, setting

_DIGITS = 16  # of a digest that a signature shows
_COUNTED = ("target", "nontarget", "spoof")
_PUBLISHED = "standardise"  # the row scaling of the definition, which goes without saying
# By the marks of signatures: where the values are that a part shows; those of others are in `setup`.
_SHOWN = {"n": "counts.target", "spk": "counts.speakers", "search": "counts.trials", "v": "setup.version"}
_SHOWN |= {"dcf": "setup.dcf_prior", "ci": "setup.intervals", "same-session": "setup.same_session"}
_SHOWN |= {mark: f"setup.{mark}" for mark in ("linkability", "omega", "dev", "null", "level", "seed", "data", "llr")}
_SHOWN |= dict.fromkeys(("rows", "scoring", "ddof", "row-scaling", "l2", "folds", "splits"), "setup.search")
_SHOWN |= dict.fromkeys(("preset", "form", "eer", "attack", "phase", "asv-at", "cm-at"), "setup.tandem")
_ELSEWHERE = ("speakers", "trials", "identities", "most_trials", "incomplete", "not_enrolled", "same_session")


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure; all of it is in the signature, with the seed and the level of the `Run`.

    Parameters
    ----------
    linkability
        Estimator of linkability.
    omega
        Ratio of the priors of mated and non-mated pairs that linkability supposes.
    dcf_prior
        Prior of a target for the detection costs.
    calibration
        Method of the calibration of a search.
    ddof
        Divisor of the row deviation: 0 population, 1 sample.
    l2
        Penalty of the logistic fit.
    balanced
        Whether classes have equal weight in the logistic fit.
    row_scaling
        What is done to each row of a search before it is calibrated: ``standardise``, ``centre`` or ``none``, or
        ``auto`` for the one with the least log-loss on other people.
    intervals
        How many groups of people are left out in turn at most, 0 for no intervals. Fewer people are left out one by
        one.
    null
        Permutations of the null, 0 for none.

    Examples
    --------
    >>> Options(intervals=0, linkability="pav").linkability
    'pav'
    >>> Options(dcf_prior=2.0)
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: dcf_prior: expected a number between 0 and 1, got 2.0
    """

    linkability: LinkabilityMethod = setting("density", "Estimator of linkability.")
    omega: float = setting(1.0, "Ratio of the priors of mated and non-mated pairs that linkability assumes.")
    dcf_prior: float = setting(0.05, "Prior of a target in the detection cost.")
    calibration: CalibrationMethod = setting("logistic", "Calibration of the scores of a search.")
    ddof: int = setting(0, "Standard deviation of a row of scores: 0 population, 1 sample.")
    l2: float = setting(0.0, "L2 penalty of the logistic regression.")
    balanced: bool = setting(False, "Give mated and non-mated pairs the same total weight in the logistic regression.")
    row_scaling: RowScalingChoice = setting(
        "standardise", "Scale of each row of a search before calibration; auto: the best on other people."
    )
    intervals: int = setting(
        200, "Groups of people that are left out in turn for the intervals, at most; 0 for no intervals."
    )
    null: int = setting(200, "Permutations of the null distribution, to test against chance; 0 for no test.")

    def __post_init__(self) -> None:
        for name, choices in (
            ("linkability", get_args(LinkabilityMethod)),
            ("calibration", get_args(CalibrationMethod)),
            ("ddof", (0, 1)),
            ("balanced", (False, True)),
            ("row_scaling", get_args(RowScalingChoice)),
        ):
            if getattr(self, name) not in choices:
                expected = ", ".join(map(str, choices))
                raise UsageError(f"{name}: expected one of {expected}, got {getattr(self, name)!r}")
        for name in ("intervals", "null"):
            check_whole(name, getattr(self, name), 0)
        if not isinstance(self.dcf_prior, (int, float)) or not 0.0 < self.dcf_prior < 1.0:
            raise UsageError(f"dcf_prior: expected a number between 0 and 1, got {self.dcf_prior!r}")
        if not isinstance(self.omega, (int, float)) or not 0.0 < self.omega < float("inf"):
            raise UsageError(f"omega: expected a positive, finite number, got {self.omega!r}")
        if not isinstance(self.l2, (int, float)) or not 0.0 <= self.l2 < float("inf"):
            raise UsageError(f"l2: expected a finite number from 0 on, got {self.l2!r}")

    def row_fit(self, seed: int) -> RowFit:
        """Return how the calibration of a search is fitted."""
        return RowFit(self.calibration, self.row_scaling, self.ddof, self.l2, self.balanced, seed)

    def pairs(self, seed: int) -> PairSettings:
        """Return the settings of the one-to-one measures."""
        return PairSettings(self.linkability, self.dcf_prior, seed, omega=self.omega)


@dataclass(frozen=True, slots=True)
class SearchSetup:
    """How the scores of a search became likelihood ratios.

    Parameters
    ----------
    calibration
        The method that was fitted, or ``given`` for a weight that the caller named.
    cross_fitted
        Whether it was fitted on the other speakers of the same data instead of development data.
    ddof
        As in `Options`.
    l2
        As in `Options`.
    balanced
        As in `Options`.
    scoring
        How embeddings were compared, where the search started from these.
    prior_given
        Whether the identities had other probabilities than equal ones before.
    folds
        Where people were cross-validated, how many each fold has: people are searched, and exchanged under the null,
        within their fold.
    splits
        How often people were dealt to folds; `folds` are those of the first split.
    row_scaling
        What was done to each row before: ``standardise``, ``centre`` or ``none``; after ``auto:`` what other people
        chose, of several folds all that were chosen with + between them.
    """

    calibration: str
    cross_fitted: bool = False
    ddof: int = 0
    l2: float = 0.0
    balanced: bool = False
    scoring: str | None = None
    prior_given: bool = False
    folds: tuple[int, ...] = ()
    splits: int = 1
    row_scaling: str = "standardise"

    @classmethod
    def fitted(
        cls, calibrations: Sequence[RowCalibration], options: Options, *, cross_fitted: bool, prior: bool
    ) -> SearchSetup:
        """The set-up of calibrations, one or one per fold, that were fitted with these options."""
        scaling = "+".join(sorted({calibration.scaling for calibration in calibrations}))
        scaling = f"auto:{scaling}" if options.row_scaling == "auto" else scaling
        fit = calibrations[0].name, cross_fitted, options.ddof, options.l2, options.balanced
        return cls(*fit, prior_given=prior, row_scaling=scaling)

    def __str__(self) -> str:
        if self.calibration == "given":
            return "weight given" + ("" if self.row_scaling == _PUBLISHED else f", row scaling {self.row_scaling}")
        folds = f", {len(self.folds)} folds of people" if self.folds else ""
        folds += f" in {self.splits} splits" if self.splits > 1 else ""
        scaling = "" if self.row_scaling == _PUBLISHED else f", row scaling {self.row_scaling}"
        return self.calibration + scaling + (", cross-fitted by speaker" if self.cross_fitted else "") + folds


@dataclass(frozen=True, slots=True)
class LlrSetup:
    """How scores became LLRs: by a calibration on other people, or because they are LLRs.

    Parameters
    ----------
    calibration
        The method that was fitted, or ``given`` for scores that are LLRs.
    data
        SHA-256 of the scores that it was fitted on; None where these are the development scores.
    l2
        As in `Options`.
    balanced
        As in `Options`.
    weights
        The LLR is weight times score plus bias; of several folds, the weight of each.
    biases
        The bias, or the biases.
    """

    calibration: Literal["logistic", "given"]
    data: str | None = None
    l2: float = 0.0
    balanced: bool = False
    weights: tuple[float, ...] = ()
    biases: tuple[float, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether the scores are LLRs themselves."""
        return self.calibration == "given"


GIVEN = LlrSetup("given", weights=(1.0,), biases=(0.0,))


@dataclass(frozen=True, slots=True)
class TandemSetup:
    """The costs of a tandem: the preset or its numbers, the form of the t-DCF and the convention for equal errors.

    Thresholds are those that were set beforehand.
    """

    preset: str
    form: str
    convention: str
    attack: str
    phase: str | None = None
    asv_threshold: float | None = None
    cm_threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Resampling:
    """What was left out or exchanged (speaker, identifier, score, ...) and how often."""

    unit: str
    times: int


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a number depends on beside the code.

    Parameters
    ----------
    families
        Which families of measures were computed.
    linkability
        Estimator of linkability.
    dcf_prior
        Prior of a target for the detection costs.
    omega
        Ratio of priors for linkability, where it is not 1.
    search
        How the scores of a search became likelihood ratios.
    tandem
        Costs of a tandem.
    llr
        How the scores became LLRs; None where scores that nobody said to be LLRs are taken for them.
    intervals
        What intervals rest on; None where there are none.
    level
        Confidence level of intervals, bounds and tests.
    null
        What the null rests on; None where there is none.
    seed
        Seed of all random choices.
    relaxed
        Rules of reading that were relaxed.
    data
        SHA-256 of the evaluated scores.
    dev
        SHA-256 of the development scores.
    version
        Of this package.
    recorded
        The signature as a file of an older format has it, where nothing else is known.
    same_session
        Comparisons of one session, which were left out; None where sessions are not known.
    """

    families: tuple[Family, ...] = ()
    linkability: LinkabilityMethod | None = None
    dcf_prior: float | None = None
    omega: float | None = None
    search: SearchSetup | None = None
    tandem: TandemSetup | None = None
    intervals: Resampling | None = None
    level: float = LEVEL
    null: Resampling | None = None
    seed: int = 0
    relaxed: tuple[RelaxedRule, ...] = ()
    data: str | None = None
    dev: str | None = None
    version: str = field(default_factory=lambda: __version__)  # no default, so that files always hold it
    recorded: str | None = None
    llr: LlrSetup | None = None
    same_session: SameSession | None = None


def exact_number(value: float) -> str:
    """A number as signatures have it: short where that is exact, with all of its digits otherwise.

    Examples
    --------
    >>> exact_number(10.0), exact_number(0.1), exact_number(1.00000001)
    ('10', '0.1', '1.00000001')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def signature(setup: Setup, counts: Mapping[str, int]) -> str:
    """One line: what was computed, how, on which data, by which version."""
    if setup.recorded is not None:
        return setup.recorded
    parts = ["ZE", "+".join(setup.families) or "nothing"]
    if setup.linkability is not None:
        parts += ["cal:pav", "ties:pooled", f"linkability:{setup.linkability}"]
        parts += [] if setup.dcf_prior is None else [f"dcf:{exact_number(setup.dcf_prior)}"]
        parts += [] if setup.omega is None else [f"omega:{exact_number(setup.omega)}"]
    if setup.llr is not None and not setup.llr.is_given:  # the rules of reading name the unit of others
        fitted_on = "dev" if setup.llr.data is None else f"sha256:{setup.llr.data[:_DIGITS]}"
        parts.append(f"llr:{setup.llr.calibration}:{fitted_on}")
        parts += [f"llr-l2:{exact_number(setup.llr.l2)}"] * (setup.llr.l2 != 0.0)
        parts += ["llr-balanced"] * setup.llr.balanced
    if setup.search is not None:
        parts += _search_parts(setup.search)
        parts += [f"search:{counts['trials']}x{counts['identities']}"]
    if setup.tandem is not None:
        costs = setup.tandem
        parts += [f"preset:{costs.preset}", f"form:{costs.form}", f"eer:{costs.convention}", f"attack:{costs.attack}"]
        parts += [] if costs.phase is None else [f"phase:{costs.phase}"]
        set_before = (("asv-at", costs.asv_threshold), ("cm-at", costs.cm_threshold))
        parts += [f"{name}:{exact_number(value)}" for name, value in set_before if value is not None]
    parts += [] if setup.dev is None else [f"dev:sha256:{setup.dev[:_DIGITS]}"]
    parts += ["n:" + "+".join(str(counts[kind]) for kind in _COUNTED if kind in counts)] if "target" in counts else []
    parts += [f"{kind}:{n}" for kind, n in counts.items() if kind not in (*_COUNTED, *_ELSEWHERE)]
    parts += [f"spk:{counts.get('speakers', 'unknown')}"]
    parts += ["ci:none"] if setup.intervals is None else [f"ci:{setup.intervals.unit}{setup.intervals.times}"]
    parts += [] if setup.null is None else [f"null:{setup.null.unit}{setup.null.times}"]
    parts += [] if setup.intervals is None and setup.null is None else [f"level:{exact_number(setup.level)}"]
    parts += [f"seed:{setup.seed}", *map(str, setup.relaxed)]
    same = setup.same_session
    parts += [] if same is None else [f"same-session:{same.target}+{same.nontarget}"]
    parts += [] if setup.data is None else [f"data:sha256:{setup.data[:_DIGITS]}"]
    return "|".join(part.replace("|", "/").replace("\n", " ") for part in [*parts, f"v:{setup.version}"])


def changed_field(before: str, now: str) -> tuple[str, str, str]:
    """The field that tells two signatures of a row apart, and what each of them says of it.

    Examples
    --------
    >>> changed_field("ZE|pairs|n:3+9|spk:30|v:1", "ZE|pairs|n:3+9|spk:300|v:1")
    ('counts.speakers', 'spk:30', 'spk:300')
    """
    parts = before.split("|"), now.split("|")
    was, shows = ([part for part in parts[i] if part not in parts[1 - i]] for i in (0, 1))
    mark = (shows or was or [""])[0].partition(":")[0]
    first, second = (next((part for part in side if part.startswith(mark)), "nothing") for side in (was, shows))
    return _SHOWN.get(mark, "setup"), first, second


def _search_parts(search: SearchSetup) -> list[str]:
    parts = [] if search.scoring is None else [f"scoring:{search.scoring}"]
    parts += [f"rows:{search.calibration}{'+cross-fitted' if search.cross_fitted else ''}", f"ddof:{search.ddof}"]
    parts += [f"row-scaling:{search.row_scaling}"] * (search.row_scaling != _PUBLISHED)
    parts += [f"l2:{exact_number(search.l2)}"] * (search.l2 != 0.0) + ["balanced"] * search.balanced
    if search.folds:  # the scores of each were brought to mean 0 and deviation 1
        parts += [f"folds:{'+'.join(map(str, search.folds))}", *[f"splits:{search.splits}"] * (search.splits > 1)]
        parts.append("scale:fold")
    return parts + ["prior:given"] * search.prior_given


def joint_signature(signatures: Sequence[str], *more: str) -> str:
    """One line for several rows: the row's own when there is one, else a digest of all; then what was done to them."""
    if len(signatures) == 1 and not more:
        return signatures[0]
    together = hashlib.sha256("\n".join(signatures).encode()).hexdigest()
    rows = [f"rows:{len(signatures)}", f"signatures:sha256:{together[:_DIGITS]}"]
    return "|".join(["ZE", *rows, *more, f"v:{__version__}"])


def digest(arrays: Iterable[FloatArray | IntArray | StrArray | None]) -> str:
    """SHA-256 of numbers as little-endian doubles, of names, and of None. Their order matters."""
    hasher = hashlib.sha256()
    for values in arrays:
        if values is None:
            hasher.update(b"none")
            continue
        if values.dtype.kind == "U":
            names = "\0".join(values.tolist()).encode("utf-8", "surrogatepass")
            hasher.update(len(values).to_bytes(8, "little") + len(names).to_bytes(8, "little") + names)
            continue
        hasher.update(len(values).to_bytes(8, "little"))
        for start in range(0, len(values), 1 << 16):
            part = values[start : start + (1 << 16)].astype("<f8") + 0.0  # -0.0 and 0.0 are one score
            hasher.update(part.data)
    return hasher.hexdigest()


def score_digest(*parts: Scores | ScoreMatrix, prior: FloatArray | None = None) -> str:
    """SHA-256 of scores, of who was compared with whom, and of the names, whose order decides about folds and halves.

    Parameters
    ----------
    parts
        Scores in the order of their names; those without names are put in ascending order here.
    prior
        Probability of each identity before the trial is heard, where it is not the same for all.

    Examples
    --------
    >>> from zeroevidence.data.scores import Pairs
    >>> pairs = Pairs([0], [0]), Pairs([1], [0])
    >>> of = lambda *people: score_digest(Scores([2.0], [1.0], *pairs, enrolments=list(people), trials=["t"]))
    >>> of("ann", "bob") == of("ann", "bob"), of("ann", "bob") == of("eve", "bob")
    (True, False)
    """
    return digest(_arrays(parts, prior))


def _arrays(
    parts: tuple[Scores | ScoreMatrix, ...], prior: FloatArray | None
) -> Iterator[FloatArray | IntArray | StrArray | None]:
    yield prior
    for part in parts:
        scores = part.to_scores()
        for values, pairs in ((scores.target, scores.target_pairs), (scores.nontarget, scores.nontarget_pairs)):
            if pairs is None or scores.trials is None:
                yield np.sort(values)
            else:
                yield values
                yield pairs.enrolment * len(scores.trials) + pairs.trial
        yield from (scores.enrolments, scores.trials, scores.enrolment_speakers, scores.trial_speakers)
