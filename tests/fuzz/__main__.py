"""`python -m tests.fuzz --cases 100000 --workers 8`: every fault, and counts by command."""

import argparse
import sys
import time

from tests.fuzz.running import case_files, run_case, run_cases, summary
from tests.fuzz.seeds.targets import targets


def main() -> int:
    """Run cases; 1 where there are faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes; any number gives the same")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", help="only cases of this command")
    parser.add_argument("--show", type=int, metavar="CASE", help="write the files of one case here, and run it")
    arguments = parser.parse_args()
    commands = [target for target in targets() if arguments.command in (None, target.command)]
    if arguments.show is not None:
        target, files, refused = case_files(commands, arguments.seed, arguments.show)
        print(ascii((target.command, *target.arguments)), "must be refused" if refused else "")
        print({name: data[:2000] for name, data in files.items() if data != target.files[name]})
        print(run_case(commands, arguments.seed, arguments.show))
        return 0
    start, outcomes = time.monotonic(), []
    try:
        cases = range(arguments.first, arguments.first + arguments.cases)
        for outcome in run_cases(commands, arguments.seed, cases, arguments.workers):
            outcomes.append(outcome)
            if outcome.is_fault:
                print(f"case {outcome.case}: {outcome.command}: {outcome.kind}\n{outcome.message}", flush=True)
            if len(outcomes) % 1000 == 0:
                print(f"{len(outcomes)} cases, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        done = len(outcomes)
        rest = f"--first {arguments.first + done} --cases {arguments.cases - done}"
        print(f"interrupted; the rest: {rest}", file=sys.stderr)
    print(f"{len(outcomes)} cases, {time.monotonic() - start:.0f} s\n\n{summary(outcomes)}")
    return int(any(outcome.is_fault for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
