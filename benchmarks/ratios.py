"""Every cost that has a floor, one after the other: what `docs/speed.md` and `docs/scale.md` show, in one run.

python benchmarks/ratios.py [--only NAME ...]

Takes about seven minutes on two cores. The search on a GPU is measured where there is one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = (
    "one_to_one",
    "intervals",
    "search",
    "tandem",
    "reading",
    "startup",
    "commands",
    "link",
    "link_dask",
    "link_gpu",
)


def has_gpu() -> bool:
    """Whether torch is there and sees one."""
    seen = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", seen], stderr=subprocess.DEVNULL, check=False).returncode == 0


def main() -> None:
    """Run them; those that fail are named at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=BENCHMARKS, default=[])
    chosen = parser.parse_args().only or BENCHMARKS
    failed = []
    for name in chosen:
        print(f"## {name}", flush=True)
        if name == "link_gpu" and not has_gpu():
            print("no GPU here", flush=True)
            continue
        if subprocess.run([sys.executable, HERE / f"{name}.py"], check=False).returncode:
            failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
