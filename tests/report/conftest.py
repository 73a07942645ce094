"""Small results of every kind that a report may get."""

from types import SimpleNamespace

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.attack.attackers import RANDOM_VECTORS, UNPROTECTED_SPEECH, find_attacker
from zeroevidence.data.threat import threat_from_sides
from zeroevidence.sample import sample_audit

OPTIONS, RUN = ze.Options(intervals=20, null=19), ze.Run()
THREATS = {
    "control": ze.About.against(UNPROTECTED_SPEECH),
    "floor": ze.About.against(RANDOM_VECTORS),
    "ignorant": ze.About.against(find_attacker("ignorant")),
    "lazy": ze.About.against(find_attacker("lazy-informed")),
    "informed": ze.About.against(find_attacker("semi-informed")),
    "backend": ze.About.against(find_attacker("backend-informed")),
    "adapter": ze.About.against(find_attacker("backend-informed-adapter")),
    "nameless": ze.About.against(threat_from_sides("original", "anonymised", "anonymised")),
    "own": ze.About.against(ze.ThreatModel("patient", "anonymised", "anonymised")),
}


def named_search(shift, each=4, *, seed=0, people=20, name="p", raised=0.0, **options):
    """Evaluate a search through numbered people: how far each stands out, how often, and who comes up for everybody."""
    mated = np.repeat(np.arange(people), each)
    scores = np.random.default_rng(seed).normal(size=(len(mated), people)) + raised
    scores[np.arange(len(mated)), mated] += np.broadcast_to(shift, people)[mated]
    names = np.array([f"{name}{i:03d}" for i in range(people)])
    trials = np.array([f"utt{i:03d}" for i in range(len(mated))])
    return ze.evaluate(ze.ScoreMatrix(scores, mated, trials, names, names[mated], names), **options)


def make_search(shift, *, seed=0, people=20, name="p", options=OPTIONS, run=RUN, about=None, **labels):
    """A search through people whose voices stand out by `shift`."""
    how = {"labels": labels, "about": about, "options": options, "run": run}
    return named_search(shift, seed=seed, people=people, name=name, **how)


def make_pairs(shift, *, seed=0, options=OPTIONS, about=None, **labels):
    """Single comparisons."""
    rng = np.random.default_rng(seed)
    scores = ze.Scores(rng.normal(shift, 1.0, 60), rng.normal(0.0, 1.0, 600))
    return ze.evaluate(scores, labels=labels, about=about, options=options)


@pytest.fixture(scope="session")
def against():
    """What rows are about, by a short word for the attacker."""
    return SimpleNamespace(**THREATS)


@pytest.fixture(scope="session")
def audit_rows():
    """A strong and a weak attacker on one system, and both bounds."""
    setting = {"dataset": "d", "backend": "cosine"}
    return [
        make_search(6.0, system="unprotected", about=THREATS["control"], **setting),
        make_search(0.0, seed=1, system="random", about=THREATS["floor"], **setting),
        make_search(0.8, seed=2, system="sys", about=THREATS["ignorant"], **setting),
        make_search(2.5, seed=3, system="sys", about=THREATS["lazy"], **setting),
    ]


@pytest.fixture(scope="session")
def demo_audits():
    """The bundled audits of two protections, without a test against chance."""
    return [sample_audit(kind, options=ze.Options(intervals=10, null=0)) for kind in ("mcadams", "pitch")]


@pytest.fixture(scope="session")
def audit(demo_audits):
    """One of the bundled audits."""
    return demo_audits[0]


@pytest.fixture(scope="session")
def hub():
    """A search in which one name comes up for half of everybody's recordings."""
    return named_search(1.5, 10, seed=4, raised=2.5 * np.eye(20)[0], labels={"system": "sys"}, options=OPTIONS)


@pytest.fixture
def only_figure(monkeypatch):
    """Pages with one kind of figure; for tests of that figure."""

    def only(kind):
        monkeypatch.setattr("zeroevidence.report.figures.available", lambda rows: [kind])

    return only


@pytest.fixture(scope="session")
def search():
    """Makes a search."""
    return make_search


@pytest.fixture(scope="session")
def pairs():
    """Makes an evaluation of single comparisons."""
    return make_pairs
