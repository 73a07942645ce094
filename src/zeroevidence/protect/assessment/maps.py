"""Maps of vectors to a plane, and training curves, for figures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import MissingExtra
from zeroevidence.evaluation import Curve, Points
from zeroevidence.protect.assessment.labels import attribute_labels

MapMethod: TypeAlias = Literal["pca", "umap", "none"]
MU_OVER_EPOCHS = "mu_over_epochs"
_MAPPED_POINTS = 2000


@dataclass(frozen=True, slots=True)
class FigureData:
    """Data of figures: vectors in two dimensions, and training curves of a flow."""

    maps: Mapping[str, Points] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)


def figure_data(
    test: Embeddings, attribute: str, method: MapMethod, seed: int, protector: Any, original: Embeddings
) -> FigureData:
    """Return test vectors in two dimensions and, of a flow, its first two latent coordinates and its training."""
    curves = training_curves(protector)
    if method == "none":
        return FigureData(curves=curves)
    some = np.random.default_rng(seed).permutation(len(test))[:_MAPPED_POINTS]
    labels = tuple(str(label) for label in attribute_labels(test, attribute)[some])

    def points(plane: FloatArray, mu: float | None = None) -> Points:
        return Points(tuple(float(v) for v in plane[:, 0]), tuple(float(v) for v in plane[:, 1]), labels, mu)

    maps = {"vectors": points(project_to_plane(np.asarray(test.vectors)[some], method, seed))}
    if hasattr(protector, "to_latent"):
        plane = protector.to_latent(np.asarray(original.vectors, dtype=np.float64)[some])[:, :2]
        maps["latent"] = points(plane, getattr(protector, "llr_mean_", None))
    return FigureData(maps, curves)


def training_curves(protector: Any) -> dict[str, Curve]:
    """Return the mean evidence before training and after each epoch, of a flow that was just trained."""
    mus = getattr(getattr(protector, "history_", None), "mus", ())
    return {MU_OVER_EPOCHS: Curve(tuple(map(float, range(len(mus)))), mus)} if mus else {}


def project_to_plane(vectors: FloatArray, method: MapMethod = "pca", seed: int = 0) -> FloatArray:
    """Return vectors in two dimensions: first principal components, or UMAP (30 neighbours, as in the paper)."""
    if method == "umap":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import umap

                reducer = umap.UMAP(n_neighbors=min(30, len(vectors) - 1), random_state=seed, n_jobs=1)
                plane: FloatArray = reducer.fit_transform(vectors).astype(np.float64)
        except ImportError as error:
            raise MissingExtra("umap", "a map by UMAP") from error
        return plane
    centred = vectors - vectors.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    u = u[:, :2] * s[:2]
    signs = np.sign(u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])])  # the library's signs are arbitrary
    components: FloatArray = u * np.where(signs == 0.0, 1.0, signs)
    return components
