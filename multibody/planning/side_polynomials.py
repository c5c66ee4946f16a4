"""Conditions of geometries as polynomials in s and y whose coefficients are affine in those of a plane.

With n positions, variable i < n is s_i, and variable n + k is y_k; see sums_of_squares.py for codes of monomials.
Equations are those of ciris_geometry.py.
"""

from __future__ import annotations

__all__ = ["SidePolynomial", "side_polynomials"]

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.planning.ciris_geometry import CIrisCollisionGeometry, PlaneSide, SideCondition
from merganser.multibody.planning.sums_of_squares import Codes, Numbers, Objects, code_of, monomials_up_to_one
from merganser.multibody.rational import RationalForwardKinematics
from merganser.multibody.rational.multilinear_pose import Powers, numerator
from merganser.multibody.tree import BodyIndex

Array = NDArray[np.float64]


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
    """What D a'y has as factors of a, for each y, shape [k, 3]."""
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
