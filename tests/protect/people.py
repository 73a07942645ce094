"""People whose sex shows in their vectors, for tests of fitting and choosing protectors."""

import numpy as np

from zeroevidence.data.embeddings import Embeddings


def voices(people=24, each=8, dimension=8, start=0, **attributes):
    """Vectors of people whose sex shows in the mean of one entry and in the spread of the others."""
    rng = np.random.default_rng(start)
    who = np.repeat(np.arange(people), each)
    sex = np.arange(people) % 2
    centres = 3.0 * rng.normal(size=(people, dimension)) * np.where(sex, 1.6, 0.8)[:, None]
    centres[:, 0] += 5.0 * sex
    vectors = centres[who] + rng.normal(size=(len(who), dimension))
    labels = {"sex": np.array(["f", "m"])[sex[who]], **{name: np.asarray(of)[who] for name, of in attributes.items()}}
    return Embeddings(vectors, np.arange(len(who)).astype(str), np.array([f"p{start + i}" for i in who]), labels)
