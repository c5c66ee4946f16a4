"""Sets of linear constraints: arrays say what programs say; greatest ellipsoids are proved by their conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import MathematicalProgram, Solve
from merganser.geometry.optimization import (
    CartesianProduct,
    ConvexHull,
    ConvexSet,
    HPolyhedron,
    Hyperellipsoid,
    Hyperrectangle,
    MinkowskiSum,
    VPolytope,
)
from merganser.geometry.optimization.sets import set_programs

SEEDS = range(8)


def polyhedron(rng: np.random.Generator, n: int = 3, m: int = 12, offset: float = 0.0) -> HPolyhedron:
    """A bounded one around a point at a distance."""
    A = np.vstack((rng.normal(size=(m, n)), np.eye(n), -np.eye(n)))
    limits = np.append(rng.uniform(0.1, 1.0, m), np.full(2 * n, 3.0))
    return HPolyhedron(A, limits + A @ (offset * rng.normal(size=n)))


def sets(rng: np.random.Generator) -> list[ConvexSet]:
    """One of each kind, of three dimensions, that meet or not."""
    at = rng.normal(size=3)
    return [
        polyhedron(rng, offset=0.7), VPolytope(0.5 * rng.normal(size=(3, 6)) + at[:, np.newaxis]),
        Hyperrectangle(at - 0.3, at + 0.3), Hyperellipsoid(rng.normal(size=(3, 3)) + 2.0 * np.eye(3), at),
        CartesianProduct(Hyperrectangle(at[:1], at[:1] + 0.5), polyhedron(rng, 2, 6)),
        MinkowskiSum(Hyperrectangle(at - 0.2, at), VPolytope(0.3 * rng.normal(size=(3, 4)))),
        ConvexHull([Hyperrectangle(at, at + 0.1), polyhedron(rng)]),
    ]  # fmt: skip


def has_points(*several: ConvexSet) -> bool:
    """Whether a program with the constraints of some sets has a solution."""
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3)
    for each in several:
        each.AddPointInSetConstraints(prog, x)
    return Solve(prog).is_success()


@pytest.mark.parametrize("seed", SEEDS)
def test_sets_meet_where_a_program_has_a_point_of_both(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for a, b in zip(sets(rng), sets(rng)[::-1]):
        assert a.IntersectsWith(b) == b.IntersectsWith(a) == has_points(a, b)
        point = a.MaybeGetFeasiblePoint()
        assert a.IsEmpty() == (point is None) == (not has_points(a))
        assert point is None or a.PointInSet(point, 1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_arrays_and_programs_say_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    P, inner = polyhedron(rng), polyhedron(rng, offset=0.1).Scale(1e-3)
    Q = HPolyhedron(np.vstack((P.A(), P.A()[:3])), np.concatenate((P.b(), P.b()[:3] + 1.0)))
    empty = HPolyhedron(np.vstack((P.A(), -P.A()[:1])), np.append(P.b(), -P.b()[0] - 0.1))
    open_to_one_side = HPolyhedron(np.vstack((np.eye(3), -np.eye(3)[:2])), np.ones(5))

    def answers() -> list[object]:
        values = set_programs.extremes(P, np.eye(3), "test")
        return [
            [round(each.value, 6) for each in values], inner.ContainedIn(P), P.ContainedIn(inner), Q.FindRedundant(),
            P.IsBounded(), open_to_one_side.IsBounded(), empty.IsEmpty(), P.IsEmpty(), P.IntersectsWith(empty),
            round(float((P.b() - P.A() @ P.ChebyshevCenter()).min()), 5),
        ]  # fmt: skip

    by_arrays = answers()
    assert by_arrays[3] >= {18, 19, 20} and by_arrays[4:9] == [True, False, True, False, False]
    for module in (set_programs, set_programs):
        monkeypatch.setattr(module, "is_small", lambda A: False)
    assert answers() == by_arrays


@pytest.mark.parametrize("seed", SEEDS)
def test_a_greatest_ellipsoid_is_that_of_its_image(seed: int) -> None:
    """Where it touches, weights of the points balance: sum w_i u_i u_i' = 1 of their unit vectors (John, 1948)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    m = int(rng.integers(n + 1, 12 * n))
    A, b = rng.normal(size=(m, n)), rng.uniform(0.2, 1.0, m)
    A = np.vstack((A, np.eye(n), -np.eye(n)))
    P = HPolyhedron(A, np.append(b, np.full(2 * n, 3.0)))
    ellipsoid = P.MaximumVolumeInscribedEllipsoid()
    E, x = np.linalg.inv(ellipsoid.A()), ellipsoid.center()
    lengths = np.linalg.norm(P.A() @ E, axis=1)
    slack = P.b() - P.A() @ x - lengths
    assert slack.min() > -1e-12
    # John: u_i = E a_i / |E a_i| of the faces that touch, sum w_i u_i = 0, sum w_i u_i u_i' = 1, w >= 0
    u = (P.A() @ E / lengths[:, np.newaxis])[slack < 1e-6]
    from scipy.optimize import nnls

    system = np.vstack((u.T, np.einsum("ki,kj->ijk", u, u).reshape(n * n, -1)))
    assert nnls(system, np.append(np.zeros(n), np.eye(n).ravel()))[1] < 1e-5
    # x = M y + t maps P to itself in other coordinates, and the ellipsoid as well
    M, t = rng.normal(size=(n, n)) + 2.0 * np.eye(n), rng.normal(size=n)
    other = HPolyhedron(P.A() @ M, P.b() - P.A() @ t).MaximumVolumeInscribedEllipsoid()
    np.testing.assert_allclose(M @ other.center() + t, x, atol=1e-7)
    shape = M @ np.linalg.inv(other.A())
    np.testing.assert_allclose(shape @ shape.T, E @ E.T, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_balls_meet_what_they_touch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    box, direction = HPolyhedron.MakeUnitBox(3), rng.normal(size=3)
    at = np.clip(1.5 * direction / np.abs(direction).max(), -1.0, 1.0)  # on the surface
    normal = np.where(np.abs(at) == 1.0, at * rng.uniform(0.1, 1.0, 3), 0.0)
    radius = rng.uniform(0.1, 2.0)
    for distance, meets in ((radius, True), (radius + 1e-6, False), (radius - 1e-6, True)):
        center = at + distance * normal / np.linalg.norm(normal)
        assert Hyperellipsoid.MakeHypersphere(radius, center).IntersectsWith(box) is meets


class Between(ConvexSet):
    """0 <= x <= 1, in a program's formulas."""

    def __init__(self) -> None:
        super().__init__(1)

    def _add(self, prog: Any, place: Any) -> Any:
        y = place.A @ place.variables + place.b
        return np.empty(0, object), [prog.AddLinearConstraint(y[0] >= 0.0), prog.AddLinearConstraint(y[0] <= 1.0)]


def test_sets_of_users_may_add_formulas() -> None:
    mine = Between()
    assert not mine.IsEmpty() and mine.IsBounded() and mine.PointInSet([0.5]) and not mine.PointInSet([1.5])
    assert mine.IntersectsWith(Hyperrectangle([0.9], [3.0])) and not mine.IntersectsWith(Hyperrectangle([2.0], [3.0]))


def test_copies_of_sets_go_their_own_way() -> None:
    box = HPolyhedron.MakeUnitBox(2)
    product = CartesianProduct([box, Hyperrectangle([0.0], [1.0])])
    clone = product.Clone()
    assert clone is not product and clone.factor(0) is not product.factor(0)
    np.testing.assert_array_equal(clone.factor(0).A(), box.A())
