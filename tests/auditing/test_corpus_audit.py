"""Audits from folders of speech: what is refused before any work."""

import numpy as np
import pytest

from zeroevidence.auditing import audit_corpora
from zeroevidence.errors import InputError

soundfile = pytest.importorskip("soundfile")


def test_a_corpus_without_training_people_is_refused_first(tmp_path):
    rows = ["utterance\tspeaker\tpath\trole"]
    for k in range(6):
        for i, role in enumerate(("enrol", "trial")):
            name = f"p{k}u{i}"
            soundfile.write(tmp_path / f"{name}.wav", 0.1 * np.random.default_rng(k).normal(size=8000), 16_000)
            rows.append(f"{name}\tp{k}\t{name}.wav\t{role}")
    table = tmp_path / "utterances.tsv"
    table.write_text("\n".join(rows) + "\n")
    with pytest.raises(InputError, match=r"utterances.tsv: every utterance has a role and none is train"):
        audit_corpora(table, protect="mcadams", cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(("people", "words"), [(4, "4 speakers, .* expected more speakers"), (5, "needs at least 6")])
def test_too_few_people_are_refused_first(tmp_path, people, words):
    for k in range(people):
        (tmp_path / "speech" / f"p{k}").mkdir(parents=True)
        for i in range(4):
            wave = 0.1 * np.random.default_rng(k).normal(size=8000)
            soundfile.write(tmp_path / "speech" / f"p{k}" / f"p{k}u{i}.wav", wave, 16_000)
    with pytest.raises(InputError, match=words):
        audit_corpora(tmp_path / "speech", protect="mcadams", cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
