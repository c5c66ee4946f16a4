"""The spanning forest: which body each joint mobilizes, and in which order.

The bodies and joints of a model are a graph. Its connected parts must be trees; they hang on the world by a
joint of the user, or by an implicit floating joint at a base body. The order of the mobilizers decides the
order of all coordinates:

1. the tree of the world, depth first, the joints of a body in order of their indices;
2. part by part, a floating base and its tree. Bases are bodies that are no joint's child, those with the most
joints
   first, then by index;
3. bodies without any joint, by index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx

__all__ = ["JointLoopError", "Mobilizer", "spanning_forest"]

WORLD = 0


@dataclass(frozen=True)
class Mobilizer:
    """Motion of an outboard body B in its inboard body P.

    Attributes:
        inboard: index of P, the body nearer the world.
        outboard: index of B.
        joint: index of the joint between them, None for an implicit floating joint.
        is_reversed: whether P is the child of the joint, not its parent.
    """

    inboard: int
    outboard: int
    joint: int | None
    is_reversed: bool = False


class JointLoopError(Exception):
    """Joints form a loop.

    Args:
        joints: indices of the joints of the loop.
    """

    def __init__(self, joints: list[int]) -> None:
        super().__init__(f"joints {joints} form a loop")
        self.joints = joints


def spanning_forest(num_bodies: int, joints: Mapping[int, tuple[int, int]]) -> list[Mobilizer]:
    """Orders bodies and joints into mobilizers, parents before children and subtrees contiguous.

    Args:
        num_bodies: number of bodies, the world (body 0) included.
        joints: parent and child body of each joint, by its index, ascending; no two joints connect the same bodies.

    Returns:
        One mobilizer for each body but the world.

    Raises:
        JointLoopError: if the joints form a loop.
    """
    graph = nx.Graph()
    graph.add_nodes_from(range(num_bodies))
    for index, (parent, child) in joints.items():
        graph.add_edge(parent, child, joint=index)
    loops = nx.cycle_basis(graph)
    if loops:
        loop = loops[0]
        raise JointLoopError([graph.edges[edge]["joint"] for edge in zip(loop, loop[1:] + loop[:1])])

    mobilizers: list[Mobilizer] = []
    reached = {WORLD}

    def grow_tree(root: int) -> None:
        for inboard, outboard in nx.dfs_edges(graph, root):
            joint = graph.edges[inboard, outboard]["joint"]
            mobilizers.append(Mobilizer(inboard, outboard, joint, is_reversed=joints[joint][0] != inboard))
            reached.add(outboard)

    grow_tree(WORLD)
    for base in _base_candidates(graph, {child for _, child in joints.values()}):
        if base not in reached:
            mobilizers.append(Mobilizer(WORLD, base, joint=None))
            reached.add(base)
            grow_tree(base)
    return mobilizers


def _base_candidates(graph: nx.Graph, children: set[int]) -> list[int]:
    """Bodies that are no joint's child, in the order in which they become bases.

    A part of n bodies that does not hold the world has n - 1 joints, so one of its bodies is no joint's
    child.
    """
    candidates = [body for body in graph if body not in children]
    return sorted(
        candidates, key=lambda body: -graph.degree[body]
    )  # stable: equal degrees stay in order of index
