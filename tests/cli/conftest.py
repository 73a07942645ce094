"""The command line in this process."""

import pytest

from zeroevidence.cli import main


@pytest.fixture
def run(capsys):
    """Run a command in this process: exit code, stdout, stderr."""

    def runner(*args):
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in args])
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return runner
