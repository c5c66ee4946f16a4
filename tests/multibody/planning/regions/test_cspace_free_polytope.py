"""Polytopes that are proved to be free: the polynomials, the proofs, and that nothing collides in them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sympy")
pytest.importorskip("clarabel")

import merganser.all as lib
from merganser.framework import Parallelism
from merganser.geometry import Box, Ellipsoid
from merganser.geometry.optimization import VPolytope
from merganser.multibody.planning import (
    CIrisGeometryType,
    CspaceFreePolytope,
    CSpaceSeparatingPlane,
    CSpaceSeparatingPlane_,
    PlaneSide,
    SeparatingPlaneOrder,
)
from merganser.multibody.planning.regions.separating_planes import side_polynomials
from merganser.multibody.plant import CoulombFriction, MultibodyPlant
from merganser.multibody.rational import RationalForwardKinematics
from merganser.multibody.tree import RevoluteJoint, SpatialInertia
from tests.support.arm_among_shapes import arm_diagram

C = np.vstack((np.eye(2), -np.eye(2)))
Q_STAR = np.array([0.1, 0.0])


@pytest.fixture(scope="module")
def arm() -> tuple[Any, Any, Any]:
    return arm_diagram(lib)


@pytest.fixture(scope="module")
def free(arm: Any) -> CspaceFreePolytope:
    _, plant, scene_graph = arm
    return CspaceFreePolytope(plant, scene_graph, SeparatingPlaneOrder.kAffine, Q_STAR)


def least_distance(arm: Any, free: CspaceFreePolytope, points: Any, q_star: Any) -> float:
    """Over values of s and all pairs with a plane."""
    diagram, plant, scene_graph = arm
    context = diagram.CreateDefaultContext()
    kinematics = RationalForwardKinematics(plant)
    least = np.inf
    for s in points:
        plant.SetPositions(plant.GetMyContextFromRoot(context), kinematics.ComputeQValue(s, q_star))
        query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
        for pair in free.map_geometries_to_separating_planes():
            least = min(least, query.ComputeSignedDistancePairClosestPoints(*pair).distance)
    return least


def points_of(polytope: Any) -> Any:
    vertices = VPolytope(polytope).vertices().T
    weights = np.random.default_rng(1).dirichlet(np.full(len(vertices), 0.3), size=60)
    return np.vstack((vertices, weights @ vertices))


def test_planes_are_between_geometries_that_may_collide(arm: Any, free: CspaceFreePolytope) -> None:
    _, plant, scene_graph = arm
    name = scene_graph.model_inspector().GetName
    planes = free.separating_planes()
    found = [
        (name(plane.positive_side_geometry.id()), name(plane.negative_side_geometry.id()),
         plant.get_body(plane.expressed_body).name())
        for plane in planes
    ]  # fmt: skip
    walls = ["arm::box", "arm::capsule", "arm::cylinder"]
    bodies = {"arm::c0": "world", "arm::c1": "b0", "arm::tip": "b0"}
    assert found == [(link, wall, bodies[link]) for link, wall in itertools.product(bodies, walls)]
    kinds = [planes[i].negative_side_geometry.type() for i in range(3)]
    assert kinds == [CIrisGeometryType.kPolytope, CIrisGeometryType.kCapsule, CIrisGeometryType.kCylinder]
    assert [planes[i].negative_side_geometry.num_rationals() for i in range(3)] == [8, 3, 3]
    assert planes[-1].positive_side_geometry.num_rationals() == 2
    assert [str(v) for v in free.y_slack()] == ["y0", "y1", "y2"]
    assert isinstance(planes[0], CSpaceSeparatingPlane)
    assert CSpaceSeparatingPlane_[float] is CSpaceSeparatingPlane
    pairs = free.map_geometries_to_separating_planes()
    assert sorted(pairs.values()) == list(range(9))


def test_polynomials_are_distances_from_the_plane_times_a_denominator(arm: Any, free: CspaceFreePolytope) -> None:
    diagram, plant, _ = arm
    kinematics = RationalForwardKinematics(plant)
    context = diagram.CreateDefaultContext()
    plant_context = plant.GetMyContextFromRoot(context)
    rng = np.random.default_rng(2)
    s, y, coefficients = rng.normal(size=2), rng.normal(size=3), rng.normal(size=12)
    x = [*s, *y]
    plant.SetPositions(plant_context, kinematics.ComputeQValue(s, Q_STAR))
    a, b = np.split(coefficients.reshape(4, 3) @ [s[1], s[0], 1.0], [3])
    for plane in free.separating_planes():
        X_WA = plant.EvalBodyPoseInWorld(plant_context, plant.get_body(plane.expressed_body))
        for side, sign in ((PlaneSide.kPositive, 1.0), (PlaneSide.kNegative, -1.0)):
            geometry = plane.positive_side_geometry if sign > 0 else plane.negative_side_geometry
            X_WB = plant.EvalBodyPoseInWorld(plant_context, plant.get_body(geometry.body_index()))
            X_AB = X_WA.inverse().multiply(X_WB)
            denominator = np.prod([1.0 + s[i] ** 2 for i in _turning(kinematics, plane, geometry)])
            conditions = geometry.conditions(with_margin=True)
            polynomials = side_polynomials(geometry, side, plane.expressed_body, kinematics, Q_STAR, True, False)
            for condition, p in zip(conditions, polynomials):
                numbers = p.numbers(coefficients)
                value = sum(
                    c * np.prod([x[i] ** ((code >> 3 * i) & 7) for i in range(5)])
                    for code, c in zip(numbers.codes.tolist(), numbers.coefficients)
                )
                q = sign * (a @ X_AB.multiply(condition.point[:3]) + b[0]) - condition.margin
                axes = np.eye(3) if condition.axes is None else condition.axes @ X_AB.rotation().matrix().T
                part = y[: condition.num_y()]
                slope = 2.0 * condition.radius * (axes[: len(part)] @ a) @ part
                assert value == pytest.approx(denominator * (q * (1.0 + part @ part) + slope), rel=1e-10)


def _turning(kinematics: RationalForwardKinematics, plane: Any, geometry: Any) -> list[int]:
    return kinematics.GetJointsOnPath(plane.expressed_body, geometry.body_index())[1]


def test_multipliers_of_a_certificate_are_nonnegative(free: CspaceFreePolytope) -> None:
    pair = next(iter(free.map_geometries_to_separating_planes()))
    d = np.full(4, 0.2)
    program = free.MakeIsGeometrySeparableProgram(pair, C, d)
    options = CspaceFreePolytope.FindSeparationCertificateGivenPolytopeOptions()
    found = free.SolveSeparationCertificateProgram(program, options)
    assert found is not None and found.result.is_success() and found.plane_index == program.plane_index
    multipliers = [p for each in found.positive_side_rational_lagrangians for p in each.polytope()]
    for multiplier in multipliers:
        values = dict.fromkeys(multiplier.indeterminates(), 0.3)
        assert multiplier.decision_variables().empty() and multiplier.Evaluate(values) >= 0.0
    assert all(not p.monomial_to_coefficient_map() for p in found.positive_side_rational_lagrangians[0].s_lower())
    assert found.plane_decision_var_vals.shape == (12,) and found.a.shape == (3,)


def test_certificates_of_a_polytope_end_at_the_first_failure_or_go_on(free: CspaceFreePolytope, capsys: Any) -> None:
    options = CspaceFreePolytope.FindSeparationCertificateGivenPolytopeOptions()
    options.parallelism, options.verbose = Parallelism(1), True
    success, found = free.FindSeparationCertificateGivenPolytope(C, np.full(4, 0.15), set(), options)
    assert success and len(found) == 9
    success, found = free.FindSeparationCertificateGivenPolytope(C, np.full(4, 0.6), set(), options)
    assert not success and len(found) < 5 and "no certificate for geometries" in capsys.readouterr().out
    options.terminate_at_failure, options.verbose = False, False
    success, found = free.FindSeparationCertificateGivenPolytope(C, np.full(4, 0.6), set(), options)
    assert not success and 3 < len(found) < 9
    ignored = set(free.map_geometries_to_separating_planes()) - set(found)
    options.ignore_redundant_C = True
    assert free.FindSeparationCertificateGivenPolytope(C, np.full(4, 0.6), ignored, options)[0]


def test_binary_search_finds_a_scale(arm: Any, free: CspaceFreePolytope) -> None:
    options = CspaceFreePolytope.BinarySearchOptions()
    options.scale_max, options.convergence_tol = 6.0, 0.1
    center = np.array([0.02, 0.01])
    found = free.BinarySearch(set(), C, np.full(4, 0.1), center, options)
    assert found is not None and found.num_iter() == 6
    scale = (found.d() - C @ center) / (0.1 - C @ center)
    assert np.allclose(scale, scale[0]) and 1.5 < scale[0] < 4.0
    assert least_distance(arm, free, points_of(found.certified_polytope()), Q_STAR) > 0.0
    assert found.a().keys() == found.b().keys() == set(range(9)) and found.a()[0].shape == (3,)
    options.scale_min = 5.0
    assert free.BinarySearch(set(), C, np.full(4, 0.1), center, options) is None
    options.scale_min, options.scale_max = 0.5, 1.0
    unscaled = free.BinarySearch(set(), C, np.full(4, 0.1), center, options)
    assert unscaled is not None and np.allclose(unscaled.d(), 0.1)


@pytest.mark.parametrize("second", ["revolute", "prismatic"])
def test_alternation_grows_polytopes_without_collisions(second: str) -> None:
    arm = arm_diagram(lib, second)
    options = CspaceFreePolytope.Options()
    options.with_cross_y = second == "prismatic"
    free = CspaceFreePolytope(arm[1], arm[2], SeparatingPlaneOrder.kAffine, [0.0, 0.0], options)
    search = CspaceFreePolytope.BilinearAlternationOptions()
    search.max_iter = 2
    search.find_polytope_options.s_inner_pts = np.array([[0.05], [0.02]])
    if second == "revolute":
        search.find_polytope_options.backoff_scale = 0.02
        search.find_polytope_options.search_s_bounds_lagrangians = False
        search.find_polytope_options.ellipsoid_margin_cost = CspaceFreePolytope.EllipsoidMarginCost.kSum
    results = free.SearchWithBilinearAlternation(set(), C, np.full(4, 0.1), search)
    sizes = [each.certified_polytope().MaximumVolumeInscribedEllipsoid().CalcVolume() for each in results]
    assert len(results) == 2 and 1.2 * np.pi * 0.01 < sizes[0] < sizes[1]
    last = results[-1].certified_polytope()
    assert np.all(results[-1].C() @ [0.05, 0.02] <= results[-1].d() + 1e-7)
    assert least_distance(arm, free, points_of(last), np.zeros(2)) > 0.0
    planes = results[-1].a(), results[-1].b()
    again = free.FindSeparationCertificateGivenPolytope(
        results[-1].C(), results[-1].d() - 1e-4, set(), search.find_lagrangian_options
    )
    assert again[0] and planes[0].keys() == planes[1].keys()
    assert free.SearchWithBilinearAlternation(set(), C, np.full(4, 1.0), search) == []


def test_what_is_refused(arm: Any, free: CspaceFreePolytope) -> None:
    options = CspaceFreePolytope.BinarySearchOptions()
    with pytest.raises(ValueError, match=r"expected C of shape \[4, 2\]"):
        free.BinarySearch(set(), np.eye(2), np.ones(4), [0, 0], options)
    with pytest.raises(ValueError, match="s_center"):
        free.BinarySearch(set(), C, np.full(4, 0.1), [0.2, 0.0], options)
    options.scale_min = 2.0
    with pytest.raises(ValueError, match=r"scale_min = 2\.0 is above scale_max"):
        free.BinarySearch(set(), C, np.full(4, 0.1), [0.0, 0.0], options)
    search = CspaceFreePolytope.BilinearAlternationOptions()
    search.ellipsoid_scaling = 1.5
    with pytest.raises(ValueError, match=r"ellipsoid_scaling = 1\.5"):
        free.SearchWithBilinearAlternation(set(), C, np.full(4, 0.1), search)
    planes = free.separating_planes()
    filtered = (planes[0].positive_side_geometry.id(), planes[3].positive_side_geometry.id())
    with pytest.raises(RuntimeError, match="need no plane"):
        free.MakeIsGeometrySeparableProgram(filtered, C, np.ones(4))
    with pytest.raises(RuntimeError, match="not registered with a SceneGraph"):
        plant = MultibodyPlant(0.0)
        plant.Finalize()
        CspaceFreePolytope(plant, arm[2], SeparatingPlaneOrder.kAffine, [])
    with pytest.raises(RuntimeError, match=r"'\w*:*round' is of the shape Ellipsoid"):
        ellipsoid_robot()


def ellipsoid_robot() -> CspaceFreePolytope:
    builder = lib.DiagramBuilder()
    plant, scene_graph = lib.AddMultibodyPlantSceneGraph(builder, 0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidCubeWithMass(1.0, 1.0))
    friction = CoulombFriction(1.0, 1.0)
    plant.RegisterCollisionGeometry(body, lib.RigidTransform(), Ellipsoid(1.0, 1.0, 1.0), "round", friction)
    plant.RegisterCollisionGeometry(plant.world_body(), lib.RigidTransform(), Box(1.0, 1.0, 1.0), "box", friction)
    plant.AddJoint(RevoluteJoint("turn", plant.world_frame(), body.body_frame(), [0, 0, 1]))
    plant.Finalize()
    return CspaceFreePolytope(plant, scene_graph, SeparatingPlaneOrder.kAffine, [0.0])
