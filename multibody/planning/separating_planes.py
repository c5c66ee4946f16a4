"""Pairs of geometries that a plane is to separate, and the plane of each."""

from __future__ import annotations

__all__ = [
    "CSpaceSeparatingPlane",
    "CSpaceSeparatingPlane_",
    "SeparatingPlaneOrder",
    "find_planes",
    "middle_body",
    "plane_polynomials",
]

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.core.scalars.templates import ClassTemplate
from merganser.geometry import GeometryId
from merganser.multibody.planning.ciris_geometry import CIrisCollisionGeometry, collision_geometry
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.rational import RationalForwardKinematics
from merganser.multibody.tree import BodyIndex

Objects = NDArray[np.object_]


class SeparatingPlaneOrder(Enumeration):
    """The degree in s of a and b of planes."""

    kAffine = 1


class CSpaceSeparatingPlane:
    """The plane {x: a(s)'x + b(s) = 0} between two geometries, with numbers for coefficients; of no constructor.

    Attributes:
        a: polynomials in s, shape [3], expressed in the frame of expressed_body.
        b: polynomial in s.
        positive_side_geometry: where a'x + b is positive.
        negative_side_geometry: where it is negative.
        expressed_body: index of the body.
        plane_degree: degree of a and b.
        decision_variables: coefficients of a and b, those of each from the last s to the first, then the constant.
    """

    a: Objects
    b: Any
    positive_side_geometry: CIrisCollisionGeometry
    negative_side_geometry: CIrisCollisionGeometry
    expressed_body: BodyIndex
    plane_degree: int
    decision_variables: Objects

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} has no constructor; CspaceFreePolytope makes planes.")


class _PlaneOfVariables(CSpaceSeparatingPlane):
    """The same with variables for coefficients."""


def _classes() -> dict[type[Any], type[Any]]:
    from merganser.framework.symbolic import Variable

    return {float: CSpaceSeparatingPlane, Variable: _PlaneOfVariables}


CSpaceSeparatingPlane_: ClassTemplate[Any] = ClassTemplate("CSpaceSeparatingPlane_", _classes)


def plane_polynomials(coefficients: Any, s: Objects) -> tuple[Objects, Any]:
    """a, shape [3], and b, of their coefficients in the order of decision_variables, shape [4 (n + 1)]."""
    from merganser.framework.symbolic import Monomial, Polynomial

    monomials = [Monomial(v) for v in reversed(s)] + [Monomial()]
    rows = np.reshape(coefficients, (4, len(monomials)))
    *a, b = (Polynomial(dict(zip(monomials, row))) for row in rows.tolist())
    return np.array(a, dtype=object), b


def find_planes(
    plant: MultibodyPlant, inspector: Any, kinematics: RationalForwardKinematics
) -> tuple[list[CSpaceSeparatingPlane], dict[tuple[GeometryId, GeometryId], int]]:
    """A plane for each pair of geometries that may collide and that joints move against each other, by bodies.

    Returns:
        The planes, and their places by pairs of geometries, the lower id first.
    """
    body_of: dict[GeometryId, BodyIndex] = {}
    pairs: list[tuple[GeometryId, GeometryId]] = []

    def key(id: GeometryId) -> tuple[int, int]:
        return int(body_of[id]), id.get_value()

    for pair in inspector.GetCollisionCandidates():
        bodies = [plant.GetBodyFromFrameId(inspector.GetFrameId(id)) for id in pair]
        indices = [body.index() for body in bodies if body is not None]
        if len(indices) == 2 and kinematics.GetJointsOnPath(*indices)[0]:
            body_of.update(zip(pair, indices))
            first, second = sorted(pair, key=key)
            pairs.append((first, second))
    pairs.sort(key=lambda pair: (body_of[pair[0]], body_of[pair[1]], pair[0].get_value(), pair[1].get_value()))
    geometries = {id: collision_geometry(inspector, id, body) for id, body in body_of.items()}
    planes = [_new_plane(geometries[first], geometries[second], kinematics) for first, second in pairs]
    places: dict[tuple[GeometryId, GeometryId], int] = {}
    for i, pair in enumerate(pairs):
        first, second = sorted(pair, key=lambda id: id.get_value())
        places[first, second] = i
    return planes, places


def _new_plane(
    positive: CIrisCollisionGeometry, negative: CIrisCollisionGeometry, kinematics: RationalForwardKinematics
) -> CSpaceSeparatingPlane:
    from merganser.framework.symbolic import Variable

    plane = _PlaneOfVariables.__new__(_PlaneOfVariables)
    plane.positive_side_geometry, plane.negative_side_geometry, plane.plane_degree = positive, negative, 1
    plane.expressed_body = middle_body(kinematics, positive.body_index(), negative.body_index())
    count = 4 * (len(kinematics.s()) + 1)
    plane.decision_variables = np.array([Variable(f"plane_var{i}") for i in range(count)], dtype=object)
    plane.a, plane.b = plane_polynomials(plane.decision_variables, kinematics.s())
    return plane


def middle_body(kinematics: RationalForwardKinematics, start: BodyIndex, end: BodyIndex) -> BodyIndex:
    """The body in the middle of the way from one to another, where polynomials of both have a low degree.

    Bodies that are welded together count as one, the first on the way.
    """
    bodies = kinematics.GetBodiesOnPath(start, end)
    groups = [bodies[0]]
    for previous, body in itertools.pairwise(bodies):
        if kinematics.GetJointsOnPath(BodyIndex(previous), BodyIndex(body))[0]:
            groups.append(body)
    return BodyIndex(groups[len(groups) // 2])
