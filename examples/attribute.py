"""Sex taken out of embeddings: what a classifier still finds, what is left for verification (figures 1, 2; tables 1-4).

Speakers are cut into thirds: protectors learn from the first, classifiers from protected vectors of the second, and
the third tests them. Beside the strongest of three classifiers stands the one that people of the second third choose
from a ladder of attackers. Figure 1 shows vectors and their latent images, figure 2 vectors after each protection: by
principal components, or, with ``--data`` and where the extra `umap` is installed, by UMAP as in the paper. A last
figure trains the published flow from several values of mu, on two Gaussian classes whose mean LLR is known to be 6
(grey): after 60 epochs all lines are within 0.5 of it, that from 0.01 last. The tables are written after each set of
embeddings, before that figure.

A rerun gives the same numbers on the same machine. On another one networks learn a little differently: numbers differ
by up to a fifth or 0.05, whichever is more, counts of table 2 by up to 40, and another classifier may be strongest.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _shared import Sheet, number, run

import zeroevidence as ze
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.measure.measures import compute_family
from zeroevidence.measure.views import AttributeView
from zeroevidence.protect import (
    AdversarialAutoencoder,
    AttackOptions,
    LinearNuller,
    Roles,
    ZeroEvidenceFlow,
    assess,
)
from zeroevidence.protect.assessment.labels import attribute_labels
from zeroevidence.protect.assessment.rows import MapMethod, training_curves
from zeroevidence.sample import sample_sets

_TAGS = "0ABCDEF"
_THREE = ("logistic", "perceptron", "boosting")
_LADDER = ("logistic", "lda", "qda", "sphered", "kernel", "neighbours")  # all but those that train networks or trees
_MEAN_LLR = 6.0  # of two Gaussian classes
_PARTS = ("enrolls", "trials_f", "trials_m")
_ENCODERS = ("ecapa", "campplus", "resemblyzer")


def make(sheet: Sheet, data: Path | None) -> None:
    """Fit the three protectors to each set of embeddings, attack them, and show what is left."""
    sheet.refuse_existing(*(f"attribute-table{n}.md" for n in range(1, 5)))
    map_method = "pca" if data is None else _published_map()
    tables: dict[int, list[tuple[str, ...]]] = {1: [], 2: [], 3: [], 4: []}
    for place, (name, embeddings) in enumerate(_sets(data).items()):
        rows, stronger, fitted_on = _assessed(name, embeddings, map_method)
        _collect(tables, rows, stronger, fitted_on)
        _write(sheet, tables)
        if place == 0:
            _draw(sheet, rows)
    sheet.figure("attribute-mu", "over-epochs", _starts(), truth=_MEAN_LLR)


def _write(sheet: Sheet, tables: Mapping[int, Sequence[tuple[str, ...]]]) -> None:
    """Write the lines of the tables that are known so far."""
    measured = ("min Cllr", "D_ECE (bits)")
    head = ("data", "protection")
    sheet.table(
        "attribute-table1",
        (
            *(*head, "classifier"),
            *(f"{name}, trained on" for name in measured),
            *(f"{name}, test" for name in measured),
            *("chosen from the ladder", "its D_ECE (bits)"),
        ),
        tables[1],
    )
    sheet.table("attribute-table2", (*head, *_TAGS), tables[2])
    information = ("MI of people fitted on (0.01 bit per dimension)", "MI, test", "drop, test (%)")
    sheet.table("attribute-table3", (*head, *information), tables[3])
    sheet.table("attribute-table4", (*head, "EER (%)", "min Cllr"), tables[4])


def _published_map() -> MapMethod:
    """UMAP as in the paper; principal components, and a notice, where it is not installed."""
    if find_spec("umap") is not None:
        return "umap"
    print("UMAP is missing (pip install 'zeroevidence[umap]'): maps are by principal components", file=sys.stderr)
    return "pca"


def _assessed(
    name: str, embeddings: ze.Embeddings, map_method: MapMethod
) -> tuple[list[ze.Evaluation], Mapping[str, ze.Evaluation], Mapping[str, float]]:
    """Rows of three classifiers as they are; for each protection the row of the attacker chosen from all, and MI.

    Mutual information is that of the people that protectors were fitted on.
    """
    roles = Roles.split(embeddings, "sex")
    train = roles.train
    protectors = {"LDA": LinearNuller(), "adv-AE": AdversarialAutoencoder(), "flow": ZeroEvidenceFlow()}
    for protector in protectors.values():
        protector.fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
    options = ze.Options(intervals=0, null=0)
    rows = assess(
        protectors,
        roles,
        "sex",
        AttackOptions(_THREE, cross_validated=False, map_method=map_method, dataset=name),
        options,
    )
    stronger: dict[str, ze.Evaluation] = {}
    for row in assess(protectors, roles, "sex", AttackOptions(_LADDER, verification=False, map_method="none"), options):
        stronger.setdefault(row.labels["system"], row)  # the chosen one comes first
    sex = attribute_labels(train, "sex")
    x = np.asarray(train.vectors, dtype=np.float64)
    moved = {UNPROTECTED: x, **{kind: protector.transform(x) for kind, protector in protectors.items()}}
    told = {
        kind: compute_family("attribute", AttributeView(one, sex, 0))["mutual_information"]
        for kind, one in moved.items()
    }
    return rows, stronger, told


def _starts() -> list[ze.Evaluation]:
    """The flow as published, but for a faster mu, from several values of it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    x = rng.standard_normal((2000, 4))
    x[:, 0] += np.sqrt(_MEAN_LLR / 2.0) * (2 * y - 1)
    x = x @ (rng.standard_normal((4, 4)) + 2.0 * np.eye(4))
    rows = []
    for mu in (0.01, 2.0, 10.0, 30.0):
        flow = ZeroEvidenceFlow.paper(mu=mu, alpha=0.9, learning_rate=1e-3, hidden=64, epochs=60).fit(x, y)
        llr = flow.llr(x)
        row = ze.evaluate(
            llr[y == 1], llr[y == 0], labels={"system": f"from {mu:g}"}, options=ze.Options(intervals=0, null=0)
        )
        rows.append(replace(row, curves=training_curves(flow)))
    return rows


def _collect(
    tables: dict[int, list[tuple[str, ...]]],
    rows: Sequence[ze.Evaluation],
    stronger: Mapping[str, ze.Evaluation],
    fitted_on: Mapping[str, float],
) -> None:
    """Add the lines of each table: the strongest classifier of each protection, which comes first, and verification."""
    told = set()
    for row in rows:
        head = (row.labels["dataset"], row.labels["system"])
        if row.about.role == "utility":
            tables[4].append((*head, number(row, "eer", 2, 100.0), number(row, "cllr_min", 3)))
        elif row.about.role != "training" and head not in told:
            told.add(head)
            seen = next(one for one in rows if one.about.role == "training" and _same_attack(one, row))
            both = [number(one, key, 3) for one in (seen, row) for key in ("cllr_min", "d_ece")]
            best = stronger[row.labels["system"]]
            chosen = best.labels["attacker"], number(best, "d_ece", 3)
            tables[1].append((*head, row.labels["attacker"], *both, *chosen))
            counts = row.metrics["tag_counts"].value
            assert isinstance(counts, Mapping)
            tables[2].append((*head, *(str(counts[tag]) for tag in _TAGS)))
            tables[3].append((*head, *_information(row, rows[0], fitted_on[row.labels["system"]])))


def _information(row: ze.Evaluation, unprotected: ze.Evaluation, fitted_on: float) -> tuple[str, str, str]:
    """Mutual information of the people fitted on and of the tested, and how far the latter fell."""
    left, before = (float(one["mutual_information"]) for one in (row, unprotected))
    drop = "" if row.about.role == "control" else f"{100.0 * (1.0 - left / before):.1f}"
    return f"{100.0 * fitted_on:.2f}", f"{100.0 * left:.2f}", drop


def _same_attack(row: ze.Evaluation, other: ze.Evaluation) -> bool:
    return all(row.labels[name] == other.labels[name] for name in ("dataset", "system", "attacker"))


def _draw(sheet: Sheet, rows: Sequence[ze.Evaluation]) -> None:
    map_method = {row.labels["system"]: row for row in rows if row.maps}
    original, flow = map_method[UNPROTECTED], map_method["flow"]
    both = {"original": original.maps["vectors"], "latent": flow.maps["latent"]}
    sheet.figure("attribute-fig1", "map", replace(flow, maps=both))
    panels = [
        replace(row, labels={"system": name}, maps={"vectors": row.maps["vectors"]}) for name, row in map_method.items()
    ]
    sheet.figure("attribute-fig2", "map", panels)


def _sets(data: Path | None) -> dict[str, ze.Embeddings]:
    """Embeddings that know the sex of each speaker: the bundled ones, or public x-vectors and three encoders."""
    if data is None:
        parts = list(sample_sets("original").parts().values())
        return {"AudioMNIST ecapa": _joined([(one.vectors, one.ids, one.speakers, one.attributes) for one in parts])}
    found = {}
    with np.load(data / "embeddings" / "vpc2020_xvectors" / "samegender_f0orig.npz") as arrays:
        sides = [{key: arrays[f"{part}_orig_{key}"] for key in ("x", "utt", "spk", "sex")} for part in _PARTS]
    found["VPC 2020 x-vectors"] = _joined([(one["x"], one["utt"], one["spk"], {"sex": one["sex"]}) for one in sides])
    for encoder in _ENCODERS:
        found[f"AudioMNIST {encoder}"] = read_embeddings(data / "embeddings" / f"audiomnist_{encoder}.npz")
    return found


def _joined(parts: Sequence[tuple[object, object, object, Mapping[str, object]]]) -> ze.Embeddings:
    vectors, ids, speakers, attributes = zip(*parts, strict=True)
    sex = np.concatenate([one["sex"] for one in attributes])
    return ze.Embeddings(np.concatenate(vectors), np.concatenate(ids), np.concatenate(speakers), {"sex": sex})


if __name__ == "__main__":
    run(__doc__ or "", make)
