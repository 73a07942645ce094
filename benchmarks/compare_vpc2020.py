"""Two attackers and two f0 settings of VoicePrivacy 2020, compared on the same trials.

    python benchmarks/compare_vpc2020.py [FOLDER]

FOLDER holds the public x-vector scores (a folder per set-up, `trials_f`, `trials_m`); without it they are looked for in
`../shared/data/scores/vpc2020` beside the project. Female speakers are evaluated, the calibration of the search is
fitted on male ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

from zeroevidence import Options
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.evaluation import compare, evaluate
from zeroevidence.report.comparisons import render_comparisons

SYSTEMS = {
    "f0orig, lazy-informed": "samegender_f0orig",
    "f0mod, lazy-informed": "samegender_f0mod",
    "f0orig, retrained": "samegender_f0orig_retrained",
    "f0mod, retrained": "samegender_f0mod_retrained",
}


def main():
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "scores" / "vpc2020"
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not home.is_dir():
        sys.exit(f"{home}: no such folder; name the one that holds the scores")

    def read(folder, sex):
        return read_scores(home / folder / f"aa_{sex}.scores", home / f"trials_{sex}")

    rows = [
        evaluate(read(folder, "f"), dev=read(folder, "m"), labels={"system": name}, options=Options(null=0))
        for name, folder in SYSTEMS.items()
    ]
    print(render_comparisons(compare(rows, ("eer", "d_ece", "alid")), "md"))


if __name__ == "__main__":
    main()
