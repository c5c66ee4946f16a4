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

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

WORLD = 0


@dataclass(frozen=True)
class ForestEdge:
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


def spanning_forest(num_bodies: int, joints: Mapping[int, tuple[int, int]]) -> list[ForestEdge]:
    """Orders bodies and joints into mobilizers, parents before children and subtrees contiguous.

    Args:
        num_bodies: number of bodies, the world (body 0) included.
        joints: parent and child body of each joint, by its index, ascending; no two joints connect the same bodies.

    Returns:
        One mobilizer for each body but the world.

    Raises:
        JointLoopError: if the joints form a loop.
    """
    groups = connected_groups(joints.values())
    if sum(len(group) - 1 for group in groups) < len(joints):  # as many joints as that make trees
        raise JointLoopError(_loop_of(joints))
    joints_of: list[list[int]] = [[] for _ in range(num_bodies)]
    for index, bodies in joints.items():
        for body in bodies:
            joints_of[body].append(index)
    mobilizers: list[ForestEdge] = []
    reached = {WORLD}

    def grow_tree(root: int) -> None:
        """Grows a tree depth first; the next joint is the last one that waits."""
        waiting = [(root, joint) for joint in reversed(joints_of[root])]
        while waiting:
            inboard, joint = waiting.pop()
            parent, child = joints[joint]
            outboard = child if inboard == parent else parent
            if outboard in reached:
                continue  # that is where the tree came from
            mobilizers.append(ForestEdge(inboard, outboard, joint, is_reversed=parent != inboard))
            reached.add(outboard)
            waiting.extend((outboard, next_joint) for next_joint in reversed(joints_of[outboard]))

    grow_tree(WORLD)
    # A part of n bodies that does not hold the world has n - 1 joints, so one of its bodies is not a joint's child.
    children = {child for _, child in joints.values()}
    candidates = [body for body in range(num_bodies) if body not in children]
    for base in sorted(candidates, key=lambda body: -len(joints_of[body])):  # stable: equal ones in order of index
        if base not in reached:
            mobilizers.append(ForestEdge(WORLD, base, joint=None))
            reached.add(base)
            grow_tree(base)
    return mobilizers


def _loop_of(joints: Mapping[int, tuple[int, int]]) -> list[int]:
    """The joints of a loop."""
    import networkx as nx  # it takes 0.1 s

    graph = nx.Graph()
    for index, (parent, child) in joints.items():
        graph.add_edge(parent, child, joint=index)
    loop = nx.cycle_basis(graph)[0]
    return [graph.edges[edge]["joint"] for edge in zip(loop, loop[1:] + loop[:1])]


T = TypeVar("T", bound=Hashable)


def connected_groups(pairs: Iterable[tuple[T, T]]) -> list[list[T]]:
    """The connected parts of a graph, given by its edges; in the order in which they first appear."""
    group_of: dict[T, list[T]] = {}
    for pair in pairs:
        one, other = (group_of.setdefault(thing, [thing]) for thing in pair)
        if one is other:
            continue
        small, large = (one, other) if len(one) < len(other) else (other, one)
        large.extend(small)
        group_of.update((thing, large) for thing in small)
    return list({id(group): group for group in group_of.values()}.values())
