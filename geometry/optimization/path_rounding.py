"""Paths from flows: the one that integral flows are, and random walks."""

from __future__ import annotations

__all__ = ["followed_path", "sampled_paths"]

from merganser.framework.core.random_values import RandomGenerator
from merganser.geometry.optimization.graph_options import GraphOfConvexSetsOptions
from merganser.geometry.optimization.graph_parts import Edge, Vertex


def followed_path(source: Vertex, target: Vertex, flows: dict[Edge, float], tolerance: float) -> list[Edge] | None:
    """A path of edges with a flow of at least 1 - tolerance, by depth-first search, greatest flows first."""
    path: list[Edge] = []
    visited = {source}
    at = source
    while at is not target:
        choices = [
            edge
            for edge in at.outgoing
            if edge.v() not in visited and flows.get(edge, 0.0) >= 1.0 - tolerance and flows.get(edge, 0.0) > 0.0
        ]
        if choices:
            edge = max(choices, key=lambda each: flows[each])
            path.append(edge)
            at = edge.v()
            visited.add(at)
        elif path:
            at = path.pop().u()
        else:
            return None
    return path


def sampled_paths(
    source: Vertex, target: Vertex, flows: dict[Edge, float], options: GraphOfConvexSetsOptions, most: int
) -> list[list[Edge]]:
    """Different paths by random walks, whose steps are as likely as flows are great.

    A walk goes to no vertex twice, and back where it can go no further (Marcucci, Petersen, von Wrangel, Tedrake,
    Motion planning around obstacles with convex optimization, Science Robotics 2023, section 4.2).
    """
    generator = RandomGenerator(options.rounding_seed)
    found: dict[tuple[Edge, ...], None] = {}
    for _ in range(options.max_rounding_trials):
        if len(found) >= most:
            break
        path = _walk(source, target, flows, options.flow_tolerance, generator)
        if path is None:
            break  # there is none
        found[tuple(path)] = None
    return [list(path) for path in found]


def _walk(
    source: Vertex, target: Vertex, flows: dict[Edge, float], tolerance: float, generator: RandomGenerator
) -> list[Edge] | None:
    path: list[Edge] = []
    visited = {source}
    at = source
    while at is not target:
        choices = [edge for edge in at.outgoing if edge.v() not in visited and flows.get(edge, 0.0) > tolerance]
        if choices:
            edge = choices[0] if len(choices) == 1 else _drawn(choices, flows, generator)
            path.append(edge)
            at = edge.v()
            visited.add(at)
        elif path:
            at = path.pop().u()
        else:
            return None
    return path


def _drawn(choices: list[Edge], flows: dict[Edge, float], generator: RandomGenerator) -> Edge:
    left = generator.uniform() * sum(flows[edge] for edge in choices)
    for edge in choices:
        left -= flows[edge]
        if left < 0.0:
            return edge
    return choices[-1]
