"""Paths from flows: the one that integral flows are, and random walks."""

from __future__ import annotations

__all__ = ["followed_path", "sampled_paths"]

from collections.abc import Callable

from merganser.framework.core.system.random_values import RandomGenerator
from merganser.geometry.optimization.graph_options import GraphOfConvexSetsOptions
from merganser.geometry.optimization.graph_parts import Edge, Vertex


def followed_path(source: Vertex, target: Vertex, flows: dict[Edge, float], tolerance: float) -> list[Edge] | None:
    """A path of edges with a flow of at least 1 - tolerance, by depth-first search, greatest flows first."""

    def greatest(edges: list[Edge]) -> Edge | None:
        edge = max(edges, key=lambda each: flows.get(each, 0.0), default=None)
        return edge if edge is not None and 0.0 < flows.get(edge, 0.0) >= 1.0 - tolerance else None

    return _walk(source, target, greatest)


def sampled_paths(
    source: Vertex, target: Vertex, flows: dict[Edge, float], options: GraphOfConvexSetsOptions, most: int
) -> list[list[Edge]]:
    """Different paths by random walks, whose steps are as likely as flows are great.

    A walk goes to no vertex twice, and back where it can go no further (Marcucci, Petersen, von Wrangel, Tedrake,
    Motion planning around obstacles with convex optimization, Science Robotics 2023, section 4.2).
    """
    generator = RandomGenerator(options.rounding_seed)

    def drawn(edges: list[Edge]) -> Edge | None:
        return _drawn([edge for edge in edges if flows.get(edge, 0.0) > options.flow_tolerance], flows, generator)

    found: dict[tuple[Edge, ...], None] = {}
    for _ in range(options.max_rounding_trials):
        if len(found) >= most:
            break
        path = _walk(source, target, drawn)
        if path is None:
            break  # there is none
        found[tuple(path)] = None
    return [list(path) for path in found]


def _walk(source: Vertex, target: Vertex, chosen: Callable[[list[Edge]], Edge | None]) -> list[Edge] | None:
    """A path by depth-first search, that goes on along what is chosen of the edges to vertices not visited yet."""
    path: list[Edge] = []
    visited = {source}
    at = source
    while at is not target:
        edge = chosen([edge for edge in at.outgoing if edge.v() not in visited])
        if edge is not None:
            path.append(edge)
            at = edge.v()
            visited.add(at)
        elif path:
            at = path.pop().u()
        else:
            return None
    return path


def _drawn(edges: list[Edge], flows: dict[Edge, float], generator: RandomGenerator) -> Edge | None:
    if len(edges) < 2:
        return edges[0] if edges else None
    left = generator.uniform() * sum(flows[edge] for edge in edges)
    for edge in edges:
        left -= flows[edge]
        if left < 0.0:
            return edge
    return edges[-1]
