"""Scores as what they compare, and files of them."""

from pathlib import Path


def trials(data):
    """Return score and label of each pair of names."""
    both = ((data.target, data.target_pairs, True), (data.nontarget, data.nontarget_pairs, False))
    return {
        (str(data.enrolments[enrolment]), str(data.trials[trial])): (float(score), label)
        for scores, pairs, label in both
        for score, enrolment, trial in zip(scores, pairs.enrolment, pairs.trial, strict=True)
    }


def put(folder: Path, name: str, content: str | bytes | list[str]) -> Path:
    """Write a file, of lines where there is a list, and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(content) + "\n" if isinstance(content, list) else content
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
