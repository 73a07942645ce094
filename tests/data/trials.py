"""Scores as what they compare."""


def trials(data):
    """Return score and label of each pair of names."""
    both = ((data.target, data.target_pairs, True), (data.nontarget, data.nontarget_pairs, False))
    return {
        (str(data.enrolments[enrolment]), str(data.trials[trial])): (float(score), label)
        for scores, pairs, label in both
        for score, enrolment, trial in zip(scores, pairs.enrolment, pairs.trial, strict=True)
    }
