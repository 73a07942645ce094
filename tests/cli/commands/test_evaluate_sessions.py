"""`--sessions`: comparisons of one session are left out."""

import pytest

from tests.data.test_preparing_sessions import recorded

QUICK = ("--intervals", "0", "--null", "99", "--linkability", "pav")


@pytest.fixture
def files(tmp_path):
    """A list in which only the session is shared: scores, key and speakers, and the sessions."""
    scores, sessions = recorded(room=3.0)
    lines, labels = [], []
    classes = (("target", scores.target, scores.target_pairs), ("nontarget", scores.nontarget, scores.nontarget_pairs))
    for label, values, pairs in classes:
        for value, enrolment, trial in zip(values, pairs.enrolment, pairs.trial, strict=True):
            pair = f"{scores.enrolments[enrolment]} {scores.trials[trial]}"
            lines.append(f"{pair} {value:.6f}")
            labels.append(f"{pair} {label}")
    speakers = [f"{name} {name.split('-')[1]}" for name in sessions]
    texts = {"scores": lines, "trials": labels, "utt2spk": speakers}
    texts["sessions"] = [f"{name} {session}" for name, session in sessions.items()]
    for name, text in texts.items():
        (tmp_path / name).write_text("\n".join(text) + "\n")
    arguments = [tmp_path / "scores", "--key", tmp_path / "trials", "--speakers", tmp_path / "utt2spk"]
    return arguments, tmp_path / "sessions"


def test_a_leak_of_the_room_is_none_of_the_voice(run, files):
    arguments, sessions = files
    unknown, known = (run.rows("evaluate", *arguments, *more, *QUICK)[0] for more in ((), ("--sessions", sessions)))
    assert unknown["metrics"]["d_ece"]["p_value"] == 0.01
    assert known["metrics"]["d_ece"]["p_value"] > 0.05
    assert known["setup"]["same_session"] == {"target": 40, "nontarget": 0}
    assert "same_session" not in unknown["setup"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("\n", " x\n", 1), ":1: 3 column(s); expected 2: identifier session"),
        (lambda text: text.split("\n", 1)[1], ": no session for enrolment 'e-p00-0'; expected one for every enrolment"),
        (lambda text: "".join(f"{line[:5]}{line[5:7]} all\n" for line in text.splitlines()), "all 80 target pairs are"),
    ],
)
def test_lists_of_sessions_that_cannot_be_used(run, files, change, message):
    arguments, sessions = files
    sessions.write_text(change(sessions.read_text()))
    code, _, error = run("evaluate", *arguments, "--sessions", sessions, *QUICK)
    assert code == 3
    assert f"{sessions}" in error
    assert message in " ".join(error.split())
