"""Real scores and embeddings that come with the package, with their audits; README.md is their data card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from zeroevidence.auditing import Audit, AuditOptions, EmbeddingSets, EncodedSpeech, FineTuningHistory, audit
from zeroevidence.auditing.row_flags import flag_attacks
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.vectors.read import write_arrays
from zeroevidence.data.threat import Material, threat_from_sides
from zeroevidence.data.writing import lock_folder, write_atomically, write_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import About, Options
from zeroevidence.evaluation.rows.about import Protection
from zeroevidence.evaluation.score_files import ScoreFile
from zeroevidence.measure.pairs.zebra import LN10
from zeroevidence.protect.release import protector_card
from zeroevidence.run import Run

_HOME = Path(__file__).parent / "scores"
_EMBEDDINGS = Path(__file__).parent / "audiomnist_ecapa.npz"
_SENTENCES = Path(__file__).parent / "speechocean_campplus.npz"
_CASCADE = Path(__file__).parent / "speechocean_cascade.npz"
EXTRACTOR = "ECAPA-TDNN (VoxCeleb)"
# Name in the file, and the protector as the command line knows it.
PROTECTIONS = {"mcadams": "mcadams-random", "pitch": "pitch:4"}
THREEFOLD = "mcadams+pitch+formant"  # of sentences
CASCADE = "cascade"  # of the same sentences, as far as a recogniser understands them
SPLITS = ("dev", "eval")
_CONDITIONS: dict[str, tuple[Material, Material]] = {
    "oo": ("original", "original"),
    "oa": ("original", "anonymised"),
    "aa": ("anonymised", "anonymised"),
}


def sample_rows(split: str = "eval") -> list[ScoreFile]:
    """The three conditions of one split, ``dev`` or ``eval``: score files with their key, labels and attacker."""
    folder = _HOME / split
    labels = {"system": "embedding noise", "dataset": "audiomnist", "split": split}
    return [
        ScoreFile(
            str(folder / f"{condition}.scores"),
            str(folder / "trials"),
            labels=labels,
            about=About.against(threat_from_sides(*sides, "original")),
        )
        for condition, sides in _CONDITIONS.items()
    ]


def sample_sets(kind: str) -> EmbeddingSets:
    """Bundled embeddings of AudioMNIST speech: ``original``, or protected by ``mcadams`` or ``pitch``."""
    return _sets(_EMBEDDINGS, kind)


def sentence_sets(kind: str) -> EmbeddingSets:
    """Bundled embeddings of speechocean762 sentences: ``original``, ``protected``, or ``trained``.

    The last are of protected speech too, by an encoder that was fine-tuned on protected speech of other people.
    """
    return _sets(_SENTENCES, kind)


def cascade_sets(kind: str) -> EmbeddingSets:
    """Bundled embeddings of the sentences that a cascade understood: ``original``, ``protected``, or ``trained``."""
    if kind != "original":
        return _sets(_CASCADE, kind)
    with np.load(_CASCADE) as data:
        return _sets(_SENTENCES, kind, data["utterance"])


def _sets(file: Path, kind: str, only: np.ndarray | None = None) -> EmbeddingSets:
    """Read embeddings of a kind; those of some utterances alone where `only` names them."""
    with np.load(file) as data:
        at = slice(None) if only is None else np.isin(data["utterance"], only)
        vectors, sex = data[kind][at].astype(np.float32), data["sex"][at]
        embeddings = Embeddings(vectors, data["utterance"][at], data["speaker"][at], {"sex": sex})
        return EmbeddingSets.from_roles(embeddings, data["split"][at], data["role"][at])


DEMO_OPTIONS = Options(intervals=400, null=100)  # done in seconds


def sample_audit(protection: str = "mcadams", *, options: Options = Options(), run: Run = Run()) -> Audit:
    """Return the audit of the bundled embeddings, protected by one of `PROTECTIONS`, with every attacker."""
    sides = sample_sets("original"), sample_sets(protection)
    asked = AuditOptions(backends=("cosine",), measuring=options, system=PROTECTIONS[protection], dataset="audiomnist")
    return _audit(sides, asked, run, EXTRACTOR)


def trained_audit(*, options: Options = Options(), run: Run = Run()) -> Audit:
    """Return the audit of sentences under three voice changes, with a pretrained and a fine-tuned encoder.

    Examples
    --------
    >>> result = trained_audit(options=Options(intervals=0, null=0))
    >>> lazy = max(row.number("top1") for row in result.rows if row.about.threat.name == "lazy-informed")
    >>> result.strongest.about.threat.name, result.strongest.number("top1") > 1.5 * lazy
    ('semi-informed', True)
    """
    history = FineTuningHistory(people=60, recordings=480, epochs=30)
    return _sentences_audit(sentence_sets, history, THREEFOLD, options, run)


def cascade_audit(*, options: Options = Options(), run: Run = Run()) -> Audit:
    """Return the audit of the same sentences as a cascade reads them, with the same attackers.

    Examples
    --------
    >>> result = cascade_audit(options=Options(intervals=0, null=0))
    >>> result.strongest.number("alid") < 0.25
    True
    """
    return _sentences_audit(cascade_sets, FineTuningHistory(people=59, recordings=389, epochs=8), CASCADE, options, run)


def _sentences_audit(
    sets: Callable[[str], EmbeddingSets], history: FineTuningHistory, protection: str, options: Options, run: Run
) -> Audit:
    trained = EncodedSpeech("campplus-trained", None, sets("trained"), trained_on="anonymised", learned=history)
    asked = AuditOptions(effort="quick", measuring=options, system=protection, dataset="speechocean762")
    return _audit((sets("original"), sets("protected")), asked, run, "campplus", trained)


def _audit(
    sides: tuple[EmbeddingSets, EmbeddingSets], options: AuditOptions, run: Run, extractor: str, *further: EncodedSpeech
) -> Audit:
    named = replace(run, progress=lambda *_: run.progress(options.system, "attackers"))
    result = audit(*sides, options, encoders=further, extractor=extractor, run=named)
    card = protector_card(options.system)
    rows = tuple(flag_attacks(result.rows, protection=Protection(card.name, recognises=card.recognises)))
    return replace(result, rows=rows, protector=card)


ORIGINAL = "original"
_RATIOS = "likelihood_ratios.csv"


def write_sample(folder: str | Path, *, overwrite: bool = False) -> list[str]:
    """Write the bundled scores with their keys, and the embeddings of each part; return lines that describe the files.

    A folder that holds anything is refused unless `overwrite`; then the bundled files in it are replaced, others stay.
    """
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise UsageError(f"{folder}: is a file; expected a folder")
    sets = {kind: sample_sets(kind).parts() for kind in (ORIGINAL, *PROTECTIONS)}
    scored = [(split, file) for split in SPLITS for row in sample_rows(split) for file in (row.scores, str(row.key))]
    copied = {Path("scores", split, Path(file).name): file for split, file in scored}
    parts = {Path("embeddings", kind, f"{name}.npz"): part for kind in sets for name, part in sets[kind].items()}
    with lock_folder(home):
        files = {path.relative_to(home) for path in home.rglob("*") if path.is_file()}
        if not overwrite and not files <= {*copied, *parts}:  # which are there where this was interrupted
            raise UsageError(f"{folder}: is not empty; --overwrite replaces the bundled files in it")
        for name, file in copied.items():
            write_file(home / name, Path(file).read_bytes())
        for name, part in parts.items():
            write_atomically(home / name, partial(write_arrays, part))
        write_file(home / _RATIOS, _likelihood_ratios())  # last
    conditions = ", ".join(Path(row.scores).stem for row in sample_rows())
    kinds = ",".join((ORIGINAL, *PROTECTIONS))
    return [
        f"{home}/scores/{{{','.join(SPLITS)}}}: trials (the key) and the scores {conditions} "
        "(original or anonymised enrolment against original or anonymised trials)",
        f"{home}/{_RATIOS}: likelihood ratios of the comparisons eval/oa, calibrated on dev/oa",
        f"{home}/embeddings/{{{kinds}}}: {', '.join(sets[ORIGINAL])} (.npz with vectors, utterance, speaker, sex)",
    ]


def _likelihood_ratios() -> str:
    """Return a table of likelihood ratios as laboratories keep them."""
    dev, case = (sample_rows(split)[list(_CONDITIONS).index("oa")].read().data.to_scores() for split in SPLITS)
    fit = fit_logistic(dev.target, dev.nontarget)
    lines = ["known,questioned,hypothesis,log10LR"]
    for label, scores, pairs in (
        ("same-source", case.target, case.target_pairs),
        ("different-source", case.nontarget, case.nontarget_pairs),
    ):
        assert pairs is not None
        assert case.enrolments is not None
        assert case.trials is not None
        names = zip(case.enrolments[pairs.enrolment], case.trials[pairs.trial], strict=True)
        ratios = (fit.llr(scores) / LN10).tolist()
        lines += [f"{one},{other},{label},{ratio:.4f}" for (one, other), ratio in zip(names, ratios, strict=True)]
    return "\n".join([*lines, ""])
