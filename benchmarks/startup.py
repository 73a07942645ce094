"""Time of `zeroevidence --help` against an empty click program, both in new processes.

python benchmarks/startup.py
"""

from __future__ import annotations

import subprocess
import sys

from timing import best_of_each

EMPTY = "import click\n@click.command()\ndef main():\n    pass\nmain(['--help'], standalone_mode=False)"
OURS = "from zeroevidence.cli import cli\ncli(['--help'], standalone_mode=False)"


def main():
    def run(code):
        return lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    times = best_of_each({"empty": run(EMPTY), "ours": run(OURS)}, repeats=15)
    ratio = times["ours"] / times["empty"]
    print(f"empty click program {1e3 * times['empty']:.0f} ms; zeroevidence --help {ratio:.2f} times that")


if __name__ == "__main__":
    main()
