"""Files of the field, given to commands in this process."""

import pytest

QUICK = ("--intervals", 0, "--null", 0)


@pytest.fixture
def put(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


@pytest.fixture
def eer(run):
    def measured(*arguments):
        return run.rows("evaluate", *arguments, *QUICK)[0]["metrics"]["eer"]["value"]

    return measured


@pytest.fixture
def refused(run):
    """The line about a file, which `evaluate` and `doctor` both print."""

    def message(*arguments):
        code, _, err = run("evaluate", *arguments, *QUICK)
        checked, out, _ = run("doctor", *arguments)
        assert (code, checked) == (3, 3)
        assert out.splitlines()[0] in err
        assert len(err.splitlines()) == 1
        return err.strip()

    return message
