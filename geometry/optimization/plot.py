"""Pictures of planar sets and of graphs of them, by matplotlib."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.geometry.optimization.sets import set_programs
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.sets.vpolytope import VPolytope

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.result import MathematicalProgramResult
    from merganser.geometry.optimization.graph.graph_of_convex_sets import GraphOfConvexSets

_NUM_DIRECTIONS = 48  # in which farthest points are looked for, of sets without corners


def _outline(set: ConvexSet) -> Array:
    """Points around a bounded set in the plane, shape [2, k]."""
    if set.ambient_dimension() != 2:
        raise ValueError(f"plot_sets: expected sets of dimension 2, got {set.ambient_dimension()}.")
    point = set.MaybeGetPoint()
    if point is not None:
        return point[:, np.newaxis]
    if isinstance(set, (HPolyhedron, VPolytope)):
        corners = VPolytope(set).GetMinimalRepresentation().vertices()
        center = corners.mean(axis=1)
        return corners[:, np.argsort(np.arctan2(*(corners - center[:, np.newaxis])[::-1]))]
    angles = np.linspace(0.0, 2.0 * np.pi, _NUM_DIRECTIONS, endpoint=False)
    directions = np.column_stack((np.cos(angles), np.sin(angles)))
    found = [extreme.point for extreme in set_programs.extremes(set, directions, "plot_sets")]
    if any(point is None for point in found):
        raise ValueError("plot_sets: expected sets that are bounded and not empty.")
    return np.array(found).T


def plot_sets(sets: Iterable[ConvexSet], ax: Any = None, **style: Any) -> Any:
    """Draws bounded sets of the plane.

    Args:
        sets: of dimension 2.
        ax: axes of matplotlib to draw into; by default those of a new figure.
        style: of matplotlib's patches, such as facecolor and alpha.

    Returns:
        The axes.

    Raises:
        ValueError: a set is of another dimension, empty or unbounded.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure().subplots()
    for each in sets:
        points = _outline(each)
        if points.shape[1] == 1:
            ax.plot(*points, "o", color=style.get("edgecolor", "k"))
        else:
            ax.fill(*points, **{"facecolor": "C0", "edgecolor": "k", "alpha": 0.3, **style})
    ax.set_aspect("equal")
    return ax


def plot_graph(gcs: GraphOfConvexSets, result: MathematicalProgramResult | None = None, ax: Any = None) -> Any:
    """Draws the sets of a graph in the plane, and from vector to vector the edges that have flow in a result.

    Args:
        gcs: a graph whose vertices are bounded sets of dimension 2.
        result: of SolveShortestPath or SolveConvexRestriction.
        ax: axes of matplotlib to draw into; by default those of a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: a set is of another dimension, empty or unbounded.
    """
    ax = plot_sets([vertex.set() for vertex in gcs.Vertices()], ax)
    if result is None:
        return ax
    for edge in gcs.Edges():
        flow = float(result.GetSolution(edge.phi())) if result.has_variable(edge.phi()) else 0.0
        begin, end = edge.u().GetSolution(result), edge.v().GetSolution(result)
        if flow > 1e-3 and begin is not None and end is not None:
            ax.plot(*np.column_stack((begin, end)), "C3.-", alpha=min(flow, 1.0))
    return ax
