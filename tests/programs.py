"""Python programs that tests start."""

import subprocess
import sys


def printed_by(code: str) -> str:
    """Return what a program prints, which must end well."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def modules_after(code: str) -> set[str]:
    """Return the modules that are loaded once a program has run."""
    return set(printed_by(f"{code}\nimport sys; print(*sys.modules)").split())
