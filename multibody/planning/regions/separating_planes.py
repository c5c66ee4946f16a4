"""Pairs of geometries that a plane is to separate, and the plane of each.

Geometries on one side of a plane, as polynomials in s that are to be nonnegative.

The plane {x: a'x + b = 0} is expressed in a body A; a and b are affine in s. With the homogeneous matrix N(s) / D(s) of
X_AB (see rational/rational_forward_kinematics.py), a point p_B of the body is on the side with sign +1 or -1 if

    q = sign (a'; b) N (p_B; 1) - m D >= 0                        with a margin m = 1, or 0             (1)

and a ball of radius r around it, by the Schur complement of |r D a| <= q, if for all y

    q + 2 r D a'y + q y'y >= 0                                                                          (2)

Of a cylinder the two circles are on that side: (2) with the entries of a along the two axes of the circle only.

Source: Dai, Amice, Werner, Zhang and Tedrake, Certified polyhedral decompositions of collision-free configuration
space, 2023, section IV.

Conditions of geometries as polynomials in s and y whose coefficients are affine in those of a plane.

With n positions, variable i < n is s_i, and variable n + k is y_k; see sums_of_squares.py for codes of monomials.
Equations are those above.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.core.scalars.templates import ClassTemplate
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, Capsule, Cylinder, GeometryId, Shape, Sphere
from merganser.geometry.shapes.measures import has_hull, hull_of
from merganser.multibody.planning.regions.sums_of_squares import Codes, Numbers, code_of, monomials_up_to_one
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.rational import RationalForwardKinematics
from merganser.multibody.rational.rational_forward_kinematics import Powers, numerator
from merganser.multibody.tree import BodyIndex

Array = NDArray[np.float64]


class PlaneSide(Enumeration):
    """The side of a plane: a'x + b is positive there, or negative."""

    kPositive = 0
    kNegative = 1


class CIrisGeometryType(Enumeration):
    """How a geometry is represented: by points alone, or with radii around them."""

    kSphere = 0
    kPolytope = 1
    kCylinder = 2
    kCapsule = 3


class SideCondition(NamedTuple):
    """One polynomial that is to be nonnegative.

    Attributes:
        point: (p_B; 1), shape [4].
        margin: m of (1).
        radius: r of (2); 0 for (1).
        axes: directions in B of the y of (2), shape [k, 3]; None where y goes along all axes of A.
    """

    point: Array
    margin: float
    radius: float = 0.0
    axes: Array | None = None

    def num_y(self) -> int:
        """How many y the polynomial has."""
        if not self.radius:
            return 0
        return 3 if self.axes is None else len(self.axes)


class CIrisCollisionGeometry:
    """A geometry G on a body B, and what makes it lie on one side of a plane; `CspaceFreePolytope` makes it."""

    def __init__(
        self, geometry: Shape, body_index: BodyIndex, id: GeometryId, X_BG: RigidTransform, where: str
    ) -> None:
        self._geometry, self._body_index, self._id, self._X_BG = geometry, body_index, id, X_BG
        self._type, points = _described(geometry, where)
        homogeneous = np.column_stack((points, np.ones(len(points))))
        self._points: Array = homogeneous @ X_BG.GetAsMatrix4().T

    def type(self) -> CIrisGeometryType:
        """The representation of the geometry."""
        return self._type

    def geometry(self) -> Shape:
        """The shape."""
        return self._geometry

    def body_index(self) -> BodyIndex:
        """The body B."""
        return self._body_index

    def id(self) -> GeometryId:
        """The geometry."""
        return self._id

    def X_BG(self) -> RigidTransform:
        """The pose of the geometry in B."""
        return self._X_BG

    def num_rationals(self) -> int:
        """How many rational functions are nonnegative where the geometry is on one side, with the margin of (1)."""
        return len(self._points) + (self._type is not CIrisGeometryType.kPolytope)

    def conditions(self, with_margin: bool) -> list[SideCondition]:
        """What is to be nonnegative; curved geometries have a margin, at their center, if they are asked for it."""
        if self._type is CIrisGeometryType.kPolytope:
            return [SideCondition(point, 1.0) for point in self._points]
        shape: Any = self._geometry
        axes = self._X_BG.rotation().matrix().T[:2] if self._type is CIrisGeometryType.kCylinder else None
        around = [SideCondition(point, 0.0, float(shape.radius()), axes) for point in self._points]
        return around + [SideCondition(self._points.mean(axis=0), 1.0)] * with_margin


def _described(shape: Shape, where: str) -> tuple[CIrisGeometryType, Array]:
    """The type of a shape, and its points in G: vertices, or centers of balls or circles, shape [k, 3]."""
    if isinstance(shape, Box):
        corners = list(itertools.product((-0.5, 0.5), repeat=3))
        return CIrisGeometryType.kPolytope, np.array(corners) * shape.size()
    if has_hull(shape):
        return CIrisGeometryType.kPolytope, hull_of(shape).vertex_array()
    if isinstance(shape, Sphere):
        return CIrisGeometryType.kSphere, np.zeros((1, 3))
    if isinstance(shape, (Capsule, Cylinder)):
        kind = CIrisGeometryType.kCapsule if isinstance(shape, Capsule) else CIrisGeometryType.kCylinder
        return kind, np.array([[0.0, 0.0, z * shape.length()] for z in (0.5, -0.5)])
    raise RuntimeError(
        f"{where} is of the shape {type(shape).__name__}; planes are found for boxes, spheres, capsules, cylinders and "
        "hulls of meshes. Replace it, or leave it out of collisions."
    )


def collision_geometry(inspector: Any, id: GeometryId, body_index: BodyIndex) -> CIrisCollisionGeometry:
    """A geometry of a SceneGraph that belongs to a body.

    Raises:
        RuntimeError: its shape is one that no plane is found for.
    """
    where = f"CspaceFreePolytope: geometry '{inspector.GetName(id)}'"
    return CIrisCollisionGeometry(inspector.GetShape(id), body_index, id, inspector.GetPoseInFrame(id), where)


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


class SidePolynomial(NamedTuple):
    """A polynomial that is nonnegative where a geometry is on its side of a plane.

    Attributes:
        codes: of monomials, shape [k].
        values: shape [k].
        columns: which coefficient of the plane each value is a factor of, shape [k].
        constant: what does not depend on the plane.
        bases: the monomials m of sums of squares m'Q m that certify it.
        num_y: how many y it has.
    """

    codes: Codes
    values: Array
    columns: NDArray[np.int64]
    constant: Numbers
    bases: list[Codes]
    num_y: int

    def numbers(self, plane: Array) -> Numbers:
        """The polynomial for a plane with these coefficients."""
        codes = np.concatenate((self.codes, self.constant.codes))
        return Numbers(codes, np.concatenate((self.values * plane[self.columns], self.constant.coefficients)))

    def variables(self, plane: Objects) -> Objects:
        """The variable of each value, of those of a plane."""
        return plane[self.columns]


def side_polynomials(
    geometry: CIrisCollisionGeometry,
    side: PlaneSide,
    expressed_body: BodyIndex,
    kinematics: RationalForwardKinematics,
    q_star: Array,
    with_margin: bool,
    with_cross_y: bool,
) -> list[SidePolynomial]:
    """All conditions for a geometry to be on a side of a plane.

    Args:
        geometry: on a body B.
        side: which.
        expressed_body: A, in which the plane is expressed.
        kinematics: of the plant.
        q_star: nominal positions, shape [n].
        with_margin: whether curved geometries have a margin at their center.
        with_cross_y: whether Gram matrices have products of different y.
    """
    body = geometry.body_index()
    moving, turning = kinematics.GetJointsOnPath(expressed_body, body)
    N = numerator(kinematics.CalcMultilinearPose(q_star, body, expressed_body), turning)
    sign = 1.0 if side is PlaneSide.kPositive else -1.0
    basis = monomials_up_to_one(moving)
    return [
        _polynomial(condition, sign, N, len(q_star), basis, with_cross_y)
        for condition in geometry.conditions(with_margin)
    ]


def _polynomial(
    condition: SideCondition, sign: float, N: dict[Powers, Array], n: int, basis: Codes, with_cross_y: bool
) -> SidePolynomial:
    in_s = [code_of([(j, 1)]) for j in reversed(range(n))] + [0]  # the order of a plane's coefficients
    y = [code_of([(n + k, 1)]) for k in range(condition.num_y())]
    terms: list[tuple[int, int, float]] = []  # code, row of (a; b), value
    constants: list[tuple[int, float]] = []
    for powers, coefficient in N.items():
        code = code_of(powers)
        q = sign * (coefficient @ condition.point)
        for shift in (0, *(2 * each for each in y)):  # q and q y'y
            terms += [(code + shift, row, q[row]) for row in range(4)]
        constants.append((code, -condition.margin * coefficient[3, 3]))
        slopes = _slopes(condition, coefficient)
        for k, each in enumerate(y):  # 2 r D a'y
            terms += [(code + each, row, 2.0 * condition.radius * slopes[k, row]) for row in range(3)]
    terms = [term for term in terms if term[2]]
    codes = [code + each for code, _, _ in terms for each in in_s]
    columns = [row * (n + 1) + j for _, row, _ in terms for j in range(n + 1)]
    values = np.repeat([value for *_, value in terms], n + 1)
    constant = Numbers(np.array([c for c, _ in constants], dtype=np.int64), np.array([v for _, v in constants]))
    return SidePolynomial(
        np.array(codes, dtype=np.int64), values, np.array(columns), constant, _bases(basis, y, with_cross_y), len(y)
    )


def _slopes(condition: SideCondition, coefficient: Array) -> Array:
    """The factors of a in D a'y, for each y, shape [k, 3]."""
    if condition.axes is None:
        return coefficient[3, 3] * np.eye(3)
    slopes: Array = condition.axes @ coefficient[:3, :3].T
    return slopes


def _bases(basis: Codes, y: list[int], with_cross_y: bool) -> list[Codes]:
    if not y:
        return [basis]
    if with_cross_y:
        return [np.concatenate([basis, *(basis + each for each in y)])]
    return [np.concatenate((basis, basis + each)) for each in y]
