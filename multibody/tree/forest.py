"""The spanning forest, which says what body each joint mobilizes and in which order; and joints that close loops.

The bodies and joints of a model are a graph. Its connected parts must be trees; they hang on the world by a
joint of the user, or by an implicit floating joint at a base body. The order of the mobilizers decides the
order of all coordinates:

1. the tree of the world, depth first, the joints of a body in order of their indices;
2. part by part, a floating base and its tree. Bases are bodies that are no joint's child, those with the most joints
   first, then by index;
3. bodies without any joint, by index.

A loop joint has no coordinates. Of the six degrees of freedom of M in F it takes those that the joint does not have,
each as one row of kernels/constraints/, a translation along u or an angle between u (fixed in F) and w (fixed in M):

    weld         along Fx, Fy, Fz;  Fx My, Fy Mz, Fz Mx at right angles, where F is shifted by the pose of the weld
    revolute     along Fx, Fy, Fz;  b1 a, b2 a
    prismatic    along b1, b2;      Fx Mx.. as weld
    universal    along Fx, Fy, Fz;  Fx My
    planar       along Fz;          Fx Mz, Fy Mz
    ball         along Fx, Fy, Fz

with the axis a and two unit vectors b1, b2 at right angles to it; which they are is part of the kind of mobilizer
(kernels/mobilizers/). Axes at right angles to those of the other side may also be turned the wrong way round:
`directions` says which must point the same way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.constraints import constraint_row_dtype
from merganser.multibody.kernels.constraints.perpendicular import KIND as PERPENDICULAR
from merganser.multibody.kernels.constraints.translation import KIND as TRANSLATION
from merganser.multibody.kernels.mobilizers import MOBILIZERS, Closing
from merganser.multibody.tree.constraints import make_rows, stabilize
from merganser.multibody.tree.joints import Joint

WORLD = 0
Array = npt.NDArray[Any]


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


def check_can_close_loop(caller: str, joint: Joint, stabilization_time: float | None) -> None:
    """Refuses joints that no constraints describe.

    Raises:
        RuntimeError: if the joint is of a type that cannot close a loop, or damped.
        ValueError: if the time is not positive.
    """
    if joint.kind.closing is None:
        types = ", ".join(kind.name for kind in MOBILIZERS if kind.closing)
        raise RuntimeError(
            f"{caller}(): joint '{joint.name()}' is of type {joint.type_name()}, which cannot close a loop. Joints of "
            f"these types can: {types}. Close the loop at another of its joints."
        )
    if joint.default_damping_vector().any():
        raise RuntimeError(
            f"{caller}(): joint '{joint.name()}' is damped ({joint.default_damping_vector()}), but a joint that "
            "closes a loop has no coordinates that damping could act on. Close the loop at another of its joints, or "
            "set the damping to zero."
        )
    if stabilization_time is not None and not stabilization_time > 0.0:
        raise ValueError(
            f"{caller}(): the stabilization time of joint '{joint.name()}' must be positive, or None for no "
            f"stabilization, got {stabilization_time}."
        )


def make_loop_rows(
    joints: Sequence[Joint], stabilization_times: Sequence[float | None], mobod_of_body: npt.NDArray[np.int64]
) -> npt.NDArray[Any]:
    """Returns the constraints of loop joints, as records of kernels/constraints/records.py, shape [num_rows].

    Args:
        joints: the loop joints.
        stabilization_times: for each of them, T of gddot = -2/T gdot - 1/T^2 g [s], or None for gddot = 0.
        mobod_of_body: number of the mobilized body of each body.
    """
    rows = [np.zeros(0, constraint_row_dtype)]
    for number, (joint, time) in enumerate(zip(joints, stabilization_times)):
        mobods = [mobod_of_body[body.index()] for body in (joint.parent_body(), joint.child_body())]
        of_joint = _rows_of(joint, mobods)
        of_joint["joint"] = number
        stabilize(of_joint, time)
        rows.append(of_joint)
    return np.concatenate(rows)


def _rows_of(joint: Joint, mobods: Sequence[int]) -> npt.NDArray[Any]:
    """The rows that keep frames F and M of two mobods together."""
    X_PF, X_CM = frames = _frames(joint)
    R_PF, R_CM, closing = X_PF.rotation().matrix(), X_CM.rotation().matrix(), _closing(joint)
    constraints = [(TRANSLATION, u, np.zeros(3)) for u in closing.translations]
    constraints += [(PERPENDICULAR, u, w) for u, w in closing.angles]
    rows = np.zeros(len(constraints), constraint_row_dtype)
    for index, (kind, u_F, w_M) in enumerate(constraints):
        rows[index] = make_rows(kind, len(constraints), mobods=mobods, frames=frames)[index]
        rows[index]["u_A"], rows[index]["w_B"] = R_PF @ u_F, R_CM @ w_M
    return rows


def directions(joint: Joint) -> list[tuple[Array, Array]]:
    """Returns pairs of unit vectors, fixed in bodies P and C, that point the same way when the joint is closed."""
    X_PF, X_CM = _frames(joint)
    same = _closing(joint).directions
    return [(X_PF.rotation().matrix() @ a, X_CM.rotation().matrix() @ a) for a in same]


def _closing(joint: Joint) -> Closing:
    assert joint.kind.closing is not None
    return joint.kind.closing(joint._mobilizer_axis())


def _frames(joint: Joint) -> tuple[Any, Any]:
    """X_PF and X_CM; F of a weld is where M is to be."""
    X_PF = joint.frame_on_parent().GetFixedPoseInBodyFrame() @ joint._mobilizer_X_FM()
    return X_PF, joint.frame_on_child().GetFixedPoseInBodyFrame()
