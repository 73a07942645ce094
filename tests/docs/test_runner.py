"""The runner of the documentation: what it runs, what it leaves, and that it notices what is wrong."""

import pytest

PAGE = """
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

```sh
zeroevidence evaluate none.json --fail-if 'alid>1.0' # exits with 3
```
"""


def test_blocks_outputs_and_lines(parse_blocks):
    blocks = parse_blocks(PAGE)
    assert [block.runs for block in blocks] == [True, False, True, True, True]
    assert [block.output is None for block in blocks] == [False, True, True, False, True]
    assert PAGE.splitlines()[blocks[3].line - 1] == "print(x + 1)" == blocks[3].text.strip()


def test_a_good_page_passes(page, parse_blocks):
    opened = page("README.md")
    opened.run(parse_blocks(PAGE))
    assert opened.names["x"] == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("```text\n2\n", "```text\n3\n", "but the block gives\n2"),
        ("metrics d_ece", "metrics no_such", "ended with 2 instead of 0"),
        ("metrics d_ece", "metrics d_ece | grep nothing", "ended with 1 instead of 0"),
    ],
)
def test_notices_what_is_wrong(page, parse_blocks, old, new, message):
    with pytest.raises(pytest.fail.Exception, match=message):
        page("README.md").run(parse_blocks(PAGE.replace(old, new)))
