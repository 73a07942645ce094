"""What the example scripts share: their options, the data they draw, and where figures and tables go."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from zeroevidence import plot
from zeroevidence.attack.backends import make_backend
from zeroevidence.auditing import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings, mated_rows
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.matrix import ScoreMatrix, closed_set_search
from zeroevidence.data.threat import RANDOM, UNPROTECTED, Training, threat_from_sides
from zeroevidence.errors import UsageError, ZeroEvidenceError
from zeroevidence.evaluation import About, Evaluation, Options
from zeroevidence.evaluation.rows.measure_result import NO_VALUE
from zeroevidence.evaluation.score_files import ScoreFile, evaluate_files
from zeroevidence.sample import sample_rows, sample_sets

_DIMENSIONS = 192  # of random embeddings
# Set-ups of VoicePrivacy 2020 and what the attacker learned from; what is compared.
SET_UPS: dict[str, Training] = {
    "samegender_f0orig": "original",
    "samegender_f0mod": "original",
    "samegender_f0orig_retrained": "anonymised",
    "samegender_f0mod_retrained": "anonymised",
}
CONDITIONS: dict[str, tuple[Training, Training]] = {
    "oo": ("original", "original"),
    "oa": ("original", "anonymised"),
    "aa": ("anonymised", "anonymised"),
}


class Sheet:
    """A folder for figures and tables; what another run wrote there is not replaced unasked."""

    def __init__(self, home: Path, ending: str, overwrite: bool) -> None:
        self.home, self.ending, self.overwrite = home, ending, overwrite
        self.written: set[Path] = set()
        home.mkdir(parents=True, exist_ok=True)

    def figure(self, name: str, kind: str, rows: Evaluation | Sequence[Evaluation], **options: object) -> None:
        """Draw and write a figure."""
        self._write(f"{name}.{self.ending}", plot.to_bytes(kind, rows, format=self.ending, **options))

    def table(self, name: str, head: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
        """Write a Markdown table."""
        cells = [head, ["---"] * len(head), *lines]
        text = "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in cells)
        self._write(f"{name}.md", text.encode())

    def refuse_existing(self, *names: str) -> None:
        """Say now what could not be written later, before work that takes a while."""
        for name in names:
            path = self.home / name
            if path.exists() and path not in self.written and not self.overwrite:
                raise UsageError(f"{path}: exists; --overwrite replaces it")

    def _write(self, name: str, content: bytes) -> None:
        self.refuse_existing(name)
        path = self.home / name
        path.write_bytes(content)
        if path not in self.written:
            print(path)
        self.written.add(path)


def run(what: str, make: Callable[[Sheet, Path | None], None]) -> None:
    """The command line of a script: ``-o`` and, where there is more data than the bundled sample, ``--data``."""
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for figures and tables")
    parser.add_argument("--data", type=Path, help="folder of public scores (see docs/gallery.md); else bundled data")
    parser.add_argument(
        "-f", "--output-format", choices=("svg", "pdf", "png"), default="svg", help="format of the figures [svg]"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace figures and tables that exist")
    given = parser.parse_args()
    try:
        if given.data is not None and not given.data.is_dir():
            raise UsageError(f"{given.data}: no such folder")
        sheet = Sheet(given.output, given.output_format, given.overwrite)
        written = sorted(given.output.glob(f"{Path(sys.argv[0]).stem}-*"))
        sheet.refuse_existing(*(path.name for path in written if path.suffix in (f".{sheet.ending}", ".md")))
        make(sheet, given.data)
    except ZeroEvidenceError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def number(row: Evaluation, name: str, digits: int = 2, scale: float = 1.0) -> str:
    """A measure for a table."""
    value = row.metrics[name].value
    if value != value:
        return NO_VALUE
    return f"{scale * value:.{digits}f}" if isinstance(value, float) else str(value)


def evaluated(data: Path | None) -> list[Evaluation]:
    """Scores of pairs, one row for each file: VoicePrivacy 2020 set-ups, or the bundled scores."""
    options = Options(intervals=0, null=0)
    if data is None:
        return evaluate_files([row for split in ("dev", "eval") for row in sample_rows(split)], options=options)
    home = data / "scores" / "vpc2020"
    return evaluate_files(
        [
            ScoreFile(
                str(home / set_up / f"{condition}_{sex}.scores"),
                str(home / f"trials_{sex}"),
                labels={"system": set_up, "sex": sex},
                about=About.against(threat_from_sides(*sides, trained_on)),
            )
            for set_up, trained_on in SET_UPS.items()
            for condition, sides in CONDITIONS.items()
            for sex in ("f", "m")
        ],
        options=options,
    )


def searches(data: Path | None) -> dict[str, tuple[ScoreMatrix, ScoreMatrix]]:
    """Searches by name, each with one of other speakers to calibrate on; `unprotected` and `random` bound the rest."""
    matrices = _bundled_searches() if data is None else _published_searches(data)
    rng = np.random.default_rng(0)
    here, development = matrices[UNPROTECTED]
    return {**matrices, RANDOM: (_random_embeddings(here, rng), _random_embeddings(development, rng))}


def _random_embeddings(like: ScoreMatrix, rng: np.random.Generator) -> ScoreMatrix:
    """The same search with an embedding of independent noise for every recording and every enrolment."""
    trials, enrolments = (rng.standard_normal((number, _DIMENSIONS)) for number in like.scores.shape)
    lengths = np.linalg.norm(trials, axis=1)[:, None] * np.linalg.norm(enrolments, axis=1)
    return ScoreMatrix(
        trials @ enrolments.T / lengths,
        like.mated,
        trials=like.trial_names,
        enrolments=like.enrolment_names,
        trial_speakers=like.trial_speakers,
        enrolment_speakers=like.enrolment_speakers,
    )


def _bundled_searches() -> dict[str, tuple[ScoreMatrix, ScoreMatrix]]:
    """Attackers whose back-end learned from the same speech, and the bundled scores of embedding noise."""
    matrices = {}
    for name, kind in ((UNPROTECTED, "original"), ("mcadams", "mcadams"), ("pitch", "pitch")):
        sets = sample_sets(kind)
        matrices[name] = _scored(sets, sets.eval_enrol, sets.eval_trial), _scored(sets, sets.dev_enrol, sets.dev_trial)
    noisy = [next(row for row in sample_rows(split) if _is_informed(row.about)) for split in ("eval", "dev")]
    noise = [closed_set_search(read_scores(row.scores, row.key).data)[0] for row in noisy]
    assert noise[0] is not None
    assert noise[1] is not None
    matrices["noise on embeddings"] = noise[0], noise[1]
    return matrices


def _is_informed(about: About) -> bool:
    return about.threat is not None and about.threat.enrolment == "anonymised"


def _scored(sets: EmbeddingSets, enrol: Embeddings, trial: Embeddings) -> ScoreMatrix:
    train = np.asarray(sets.train.vectors, dtype=float)
    backend = make_backend("cosine").fit(train, sets.train.speakers)
    profiles = enrol.profiles()
    return ScoreMatrix(
        backend.score(np.asarray(profiles.vectors, dtype=float), np.asarray(trial.vectors, dtype=float)),
        mated_rows(trial, profiles),
        trials=trial.ids,
        enrolments=profiles.ids,
        trial_speakers=trial.speakers,
        enrolment_speakers=profiles.speakers,
    )


def _published_searches(data: Path) -> dict[str, tuple[ScoreMatrix, ScoreMatrix]]:
    """VoicePrivacy 2020: searches through female speakers, calibrated on male ones."""
    home = data / "scores" / "vpc2020"

    def matrix(set_up: str, side: str, sex: str) -> ScoreMatrix:
        rows, _ = closed_set_search(read_scores(home / set_up / f"{side}_{sex}.scores", home / f"trials_{sex}").data)
        assert rows is not None
        return rows

    first = next(iter(SET_UPS))
    matrices = {UNPROTECTED: (matrix(first, "oo", "f"), matrix(first, "oo", "m"))}
    for set_up in SET_UPS:
        matrices[set_up.removeprefix("samegender_")] = matrix(set_up, "aa", "f"), matrix(set_up, "aa", "m")
    return matrices
