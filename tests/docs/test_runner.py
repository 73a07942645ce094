"""The runner of the documentation: what it runs, what it leaves, and that it notices what is wrong."""

import pytest

PAGE = """
Words.

```sh
zeroevidence metrics d_ece
```

```text
d_ece  (D_ECE; one-to-one)
    Expected disclosure...
```

<!-- not run: for a reason -->
```sh
zeroevidence no-such-command
```

```python
x = 1
```

Between.

```python
print(x + 1)
```

```text
2
```
"""


@pytest.fixture
def run(page, row_blocks):
    """Run text as if it were a page."""

    def run(text):
        one = page("README.md")
        try:
            one.run(row_blocks(text))
            return one.ran, one.left
        finally:
            one.ran = one.left = 0  # no documentation: not to be counted as such

    return run


def test_blocks_outputs_and_reasons(row_blocks):
    blocks = row_blocks(PAGE)
    assert [block.language for block in blocks] == ["sh", "sh", "python", "python"]
    assert [block.not_run for block in blocks] == [None, "for a reason", None, None]
    assert [block.output is None for block in blocks] == [False, True, True, False]
    assert blocks[3].text == "print(x + 1)\n"
    assert PAGE.splitlines()[blocks[3].line - 1] == "print(x + 1)"


def test_runs_in_one_namespace_and_counts(run):
    assert run(PAGE) == (3, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("```text\n2\n", "```text\n3\n", "but the block gives\n2"),
        ("Expected disclosure...", "Something else...", "the page shows"),
        ("metrics d_ece", "metrics no_such", "ended with 2 instead of 0"),
        ("metrics d_ece", "metrics d_ece # exits with 1", "ended with 0 instead of 1"),
        ("metrics d_ece", "metrics d_ece | grep nothing", "ended with 1 instead of 0"),
    ],
)
def test_notices_what_is_wrong(run, old, new, message):
    with pytest.raises(pytest.fail.Exception, match=message):
        run(PAGE.replace(old, new))


def test_operators_between_quotes_need_no_shell(run):
    code = "```sh\nzeroevidence evaluate none.json --fail-if 'alid>1.0' # exits with 3\n```\n"
    assert run(code) == (1, 0)
