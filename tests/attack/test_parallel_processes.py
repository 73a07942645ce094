"""Functions in processes of their own."""

import os
from functools import partial

import pytest

from zeroevidence.attack.parallel import compute_ahead, in_processes
from zeroevidence.errors import InputError, ZeroEvidenceError


def test_results_come_from_other_processes_in_order():
    with in_processes(partial(partial, os.path.join, "a")) as compute:
        assert list(compute_ahead(compute, ["b", "c", "d"], 2)) == ["a/b", "a/c", "a/d"]
    with in_processes(partial(partial, eval)) as compute:
        assert compute("__import__('os').getpid()") != os.getpid()
        # what is printed there is no answer
        assert compute("print('words', flush=True) or 7") == 7


def test_an_error_is_raised_here():
    raising = "(_ for _ in ()).throw(__import__('zeroevidence.errors').errors.InputError('wrong', path='a.wav'))"
    with in_processes(partial(partial, eval)) as compute:
        with pytest.raises(InputError, match=r"a\.wav: wrong"):
            compute(raising)
        assert compute("1 + 1") == 2
        with pytest.raises(ZeroEvidenceError, match="a process that reads speech ended with code 3"):
            compute("__import__('os')._exit(3)")
