"""An audit and an anonymisation by one worker of a Dask cluster and by two, each a process with one thread.

    python benchmarks/audit_dask.py [--people 12] [--utterances 4] [--protect NAME]

Prints how much faster two workers are, whether the results are the same bytes, and, where one of the two is killed on
the way, how long it takes and whether they still are. Both commands run in this process, which only waits.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client
from link_dask import cluster

from zeroevidence.auditing import AuditOptions, audit_corpora, read_speech
from zeroevidence.evaluation.results import to_json
from zeroevidence.protect.anonymise import AnonymiseOptions, anonymise
from zeroevidence.run import Run

_SPEECH = Path(__file__).resolve().parents[1] / "scripts" / "make_speech.py"


def killing(client, killed):
    """Progress that kills one of two workers once a quarter of a stage is done."""

    def progress(*_):
        def step(done, total):
            if not killed and total > 8 and total // 4 <= done < total:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        return step

    return progress


def anonymised(speech, out, protect, run):
    """The bytes of the recordings."""
    anonymise(speech, out, protect, AnonymiseOptions(seed=0), run=run)
    return {file.relative_to(out): file.read_bytes() for file in out.rglob("*") if file.is_file()}


def audited(speech, out, protect, run):
    """The rows of a quick audit."""
    run = Run(cache=out, scheduler=run.scheduler, progress=run.progress)
    return to_json(audit_corpora(read_speech(speech, protector=protect), AuditOptions(effort="quick"), run).rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--utterances", type=int, default=4)
    parser.add_argument("--protect", default="mcadams:0.5..0.9:utterance+pitch:-6..6:utterance", metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [str(_SPEECH), str(folder), "--people", str(options.people), "--utterances", str(options.utterances)]
        subprocess.run([sys.executable, *made], check=True, stdout=subprocess.DEVNULL)
        for title, compute in (("anonymise", anonymised), ("audit --effort quick", audited)):
            times, results = {}, {}
            for case, workers in (("one", 1), ("two", 2), ("two, one killed", 2)):
                home = folder / f"{title} {case}"
                home.mkdir()
                with cluster(home, workers) as address, Client(address) as client:
                    client.wait_for_workers(workers)
                    client.run(__import__, "zeroevidence.auditing.corpus_audit")
                    killed = []
                    run = Run(scheduler=client, progress=killing(client, killed)) if "killed" in case else None
                    begun = time.perf_counter()
                    results[case] = compute(
                        folder / "original", home / "out", options.protect, run or Run(scheduler=client)
                    )
                    times[case] = time.perf_counter() - begun
            same = "identical" if len({repr(result) for result in results.values()}) == 1 else "DIFFERENT"
            print(
                f"{title}: one worker {times['one']:.1f} s, two {times['two']:.1f} s, "
                f"{times['one'] / times['two']:.2f} times as fast, one of two killed {times['two, one killed']:.1f} s; "
                f"results {same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
