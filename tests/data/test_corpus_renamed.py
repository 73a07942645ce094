"""Names that an anonymiser changed in the same way."""

from pathlib import PurePath

import pytest

from zeroevidence.data.corpus import Affix, find_affix

NAMES = [PurePath("ann/one"), PurePath("ann/two"), PurePath("bob/one")]


@pytest.mark.parametrize("affix", [Affix(after="_anon"), Affix("vpc-"), Affix("a_", "_b"), Affix(after="one")])
def test_a_common_affix_is_found(affix):
    files = {affix.renamed(name) for name in NAMES} | {PurePath("ann/other")}
    assert find_affix(NAMES, files) == affix


@pytest.mark.parametrize(
    "files",
    [
        [],
        ["ann/one_anon", "ann/two_anon"],  # one is missing
        ["ann/one_anon", "ann/two_anon", "bob/one_a"],  # not the same for all
        ["bob/one_anon", "ann/two_anon", "ann/one"],
        [*(f"{name}_a" for name in NAMES), *(f"{name}_b" for name in NAMES)],  # two that fit
    ],
)
def test_anything_else_is_not(files):
    assert find_affix(NAMES, {PurePath(file) for file in files}) is None


def test_names_that_no_file_has():
    assert find_affix([], {PurePath("a")}) is None
    assert find_affix([PurePath()], {PurePath("a")}) is None
    assert str(Affix("a_", "_b")) == "'a_' before and '_b' behind"
