"""Collision checkers: configurations, edges, clearances, paddings, filters, added shapes."""

from __future__ import annotations

import copy
import inspect
import itertools
import math

import numpy as np
import pytest
from planar_arm import LINK, RADIUS, make_arm, make_checker, spinning_tip, turned

from merganser.framework import Parallelism
from merganser.framework.autodiff import InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.native.compiler.when_to_compile import compiled_at_once
from merganser.geometry import (
    Box,
    Capsule,
    CollisionFilterDeclaration,
    Cylinder,
    Ellipsoid,
    GeometrySet,
    HalfSpace,
    Sphere,
)
from merganser.multibody.inverse_kinematics import (
    MinimumDistanceLowerBoundConstraint,
    MinimumDistanceUpperBoundConstraint,
)
from merganser.multibody.planning import (
    BodyShapeDescription,
    CollisionCheckerParams,
    EdgeMeasure,
    LinearDistanceAndInterpolationProvider,
    MakeBodyShapeDescription,
    RobotClearance,
    RobotCollisionType,
    RobotDiagramBuilder,
    SceneGraphCollisionChecker,
    UnimplementedCollisionChecker,
    VisibilityGraph,
)
from merganser.multibody.planning.checking import configuration_sweep
from merganser.multibody.plant import CoulombFriction, MultibodyPlant
from merganser.multibody.tree import (
    BallRpyJoint,
    BodyIndex,
    FixedOffsetFrame,
    JointIndex,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    SpatialInertia,
    WeldJoint,
)

BOX = (1.0, 0.0, 0.2)  # its face is at x = 0.9
GAP = 0.9 - RADIUS  # of the tip, if the arm points to it


def bent(x):
    """The elbow down, the tip at (x, 0)."""
    half = math.acos(x / (2 * LINK))
    return np.array([half, -2.0 * half])


def test_the_tip_is_free_until_it_touches():
    checker = make_checker([BOX])
    assert checker.CheckConfigCollisionFree(bent(GAP - 1e-6))
    assert not checker.CheckConfigCollisionFree(bent(GAP + 1e-6))
    assert checker.CheckConfigsCollisionFree([bent(GAP - 1e-6), bent(GAP + 1e-6)]) == [1, 0]
    assert checker.CheckConfigsCollisionFree([]) == []


def test_padding_counts_as_collision_and_may_be_negative():
    checker = make_checker([BOX])
    box, tip = checker.plant().GetBodyByName("box0"), checker.plant().GetBodyByName("link2")
    checker.SetPaddingBetween(box, tip, 0.1)
    assert not checker.CheckConfigCollisionFree(bent(GAP - 0.099))
    assert checker.CheckConfigCollisionFree(bent(GAP - 0.101))
    checker.SetPaddingAllRobotEnvironmentPairs(-0.02)
    assert checker.GetPaddingBetween(box.index(), tip.index()) == -0.02 == checker.GetLargestPadding() - 0.02
    assert checker.CheckConfigCollisionFree(bent(GAP + 0.019))
    assert not checker.CheckConfigCollisionFree(bent(GAP + 0.021))
    assert checker.MaybeGetUniformRobotEnvironmentPadding() == -0.02
    assert checker.MaybeGetUniformRobotRobotPadding() == 0.0
    checker.SetPaddingOneRobotBodyAllEnvironmentPairs(tip.index(), 0.3)
    assert checker.MaybeGetUniformRobotEnvironmentPadding() is None
    checker.SetPaddingMatrix(0.0 * checker.GetPaddingMatrix())
    assert checker.GetLargestPadding() == 0.0


@pytest.mark.parametrize("padding", [0.0, 0.07, -0.03])
def test_clearances_and_their_derivatives_are_those_of_differences(padding):
    checker = make_checker([BOX], env_collision_padding=padding)
    q = np.array([0.9, -0.9])

    def distance(q):
        clearance = checker.CalcRobotClearance(q, 0.5)
        at = [k for k, i in enumerate(clearance.robot_indices()) if checker.get_body(i).name() == "link2"]
        return clearance.distances()[at[0]], clearance.jacobians()[at[0]], clearance.collision_types()[at[0]]

    value, gradient, kind = distance(q)
    tip = LINK * np.array([np.cos(q[0]) + np.cos(q.sum()), np.sin(q[0]) + np.sin(q.sum())])
    beyond = np.maximum(np.abs(tip - [1.0, 0.0]) - 0.1, 0.0)
    assert value == pytest.approx(np.linalg.norm(beyond) - RADIUS - padding, abs=1e-9)
    differences = [(distance(q + 1e-6 * e)[0] - distance(q - 1e-6 * e)[0]) / 2e-6 for e in np.eye(2)]
    np.testing.assert_allclose(gradient, differences, atol=1e-6)
    assert kind is RobotCollisionType.kEnvironmentCollision
    assert checker.CalcRobotClearance(q, 0.0).size() == 0
    assert checker.MaxNumDistances() == 2
    configs = [q, q + 0.1, q - 0.2]
    for each, clearance in zip(configs, checker.CalcRobotClearances(configs, 0.5), strict=True):
        np.testing.assert_array_equal(clearance.distances(), checker.CalcRobotClearance(each, 0.5).distances())
    with pytest.raises(ValueError, match="configuration 1 is not finite"):
        checker.CalcRobotClearances([q, q * np.nan], 0.5)


def test_collisions_are_reported_by_body():
    checker = make_checker([BOX, (0.2, 0.2, 0.1)])
    q = np.array([0.0, 3.0])  # the tip at the base, the elbow beside the first box
    checker.SetPaddingAllRobotEnvironmentPairs(0.4)
    kinds = checker.ClassifyBodyCollisions(q)
    names = [checker.get_body(BodyIndex(i)).name() for i in range(len(kinds))]
    kinds_of = {name: kind for name, kind in zip(names, kinds) if kind}
    assert kinds_of == dict.fromkeys(("link1", "link2"), RobotCollisionType.kEnvironmentCollision)
    up = RobotCollisionType.kEnvironmentCollision.MakeUpdated(in_self_collision=True)
    assert up is RobotCollisionType.kEnvironmentAndSelfCollision
    assert up.MakeUpdated(in_environment_collision=False) is RobotCollisionType.kSelfCollision


def all_distances_are_above(checker, q):
    """Whether no clearance is negative: what a configuration's freedom is by definition."""
    distances = checker.CalcRobotClearance(q, 0.0).distances()
    return int(not distances.size)


def test_many_configurations_are_answered_as_their_distances_say():
    checker = make_checker([BOX, (0.2, 0.6, 0.2)])
    configurations = np.random.default_rng(3).uniform(-3.0, 3.0, (600, 2))
    plant = checker.plant()
    tip = plant.GetBodyByName("link2")

    def agree():
        expected = [all_distances_are_above(checker, q) for q in configurations]
        assert checker.CheckConfigsCollisionFree(configurations, parallelize=Parallelism(3)) == expected
        assert checker.CheckConfigsCollisionFree(list(configurations), parallelize=False) == expected
        assert [int(checker.CheckConfigCollisionFree(q)) for q in configurations] == expected
        return sum(expected)

    free = [agree()]
    checker.SetPaddingAllRobotEnvironmentPairs(0.1)
    free.append(agree())
    checker.SetCollisionFilteredBetween(tip, plant.GetBodyByName("box0"), True)
    free.append(agree())
    checker.AddCollisionShapeToBody("tool", tip, Sphere(0.2), RigidTransform([0.4, 0.0, 0.0]))
    free.append(agree())
    assert free[1] < free[0] and free[1] < free[2] and free[3] < free[2]


def random_checker(seed):
    """A tree of bodies of all shapes beside fixed ones and a floor, with random paddings, and configurations of it."""
    rng, builder = np.random.default_rng(seed), RobotDiagramBuilder(time_step=0.0)
    plant, inertia = builder.plant(), SpatialInertia.SolidSphereWithMass(1.0, 0.1)
    robot = plant.AddModelInstance("robot")

    def random_pose(size):
        return RigidTransform(RollPitchYaw(*rng.uniform(-3.0, 3.0, 3)), rng.uniform(-size, size, 3))

    def add_shape(body, X_BG):
        x, y, z = rng.uniform(0.05, 0.25, 3)
        shapes = Box(x, y, z), Sphere(x), Cylinder(x, y), Capsule(x, y), Ellipsoid(x, y, z)
        name = f"shape{plant.num_collision_geometries()}"
        plant.RegisterCollisionGeometry(body, X_BG, shapes[rng.integers(5)], name, CoulombFriction(1.0, 1.0))

    bodies = [plant.world_body()]
    for k in range(9):
        parent, body = bodies[rng.integers(len(bodies))], plant.AddRigidBody(f"body{k}", robot, inertia)
        frame = plant.AddFrame(FixedOffsetFrame(f"frame{k}", parent.body_frame(), random_pose(0.3), robot))
        kind = (RevoluteJoint, PrismaticJoint, BallRpyJoint, QuaternionFloatingJoint, WeldJoint)[rng.integers(5)]
        more = {RevoluteJoint: ([0.0, 0.6, 0.8],), PrismaticJoint: ([0.6, 0.8, 0.0],), WeldJoint: (random_pose(0.2),)}
        plant.AddJoint(kind(f"joint{k}", frame, body.body_frame(), *more.get(kind, ())))
        add_shape(body, random_pose(0.1))
        bodies.append(body)
    for _ in range(5):
        add_shape(plant.world_body(), random_pose(1.0))
    low = RigidTransform([0.0, 0.0, -0.7])
    plant.RegisterCollisionGeometry(plant.world_body(), low, HalfSpace(), "floor", CoulombFriction(1.0, 1.0))
    checker = SceneGraphCollisionChecker(model=builder.Build(), robot_model_instances=[robot], edge_step_size=0.02)
    checker.SetPaddingAllRobotEnvironmentPairs(rng.uniform(-0.05, 0.05))
    checker.SetPaddingAllRobotRobotPairs(rng.uniform(-0.05, 0.05))
    for a, b in itertools.combinations(range(plant.num_bodies()), 2):
        if rng.random() < 0.4 and max(a, b) > 0:
            checker.SetCollisionFilteredBetween(BodyIndex(a), BodyIndex(b), True)
    return checker, rng.uniform(-0.8, 0.8, (203, plant.num_positions()))


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_configurations_side_by_side_are_answered_as_each_alone(seed, monkeypatch):
    checker, configurations = random_checker(seed)
    edges = list(itertools.pairwise(configurations[:40]))
    with compiled_at_once():
        together = checker.CheckConfigsCollisionFree(configurations, parallelize=False)
        measures = checker.MeasureEdgesCollisionFree(edges, False)
    assert 30 < sum(together) < 180
    assert together == [int(checker.CheckConfigCollisionFree(q)) for q in configurations]
    assert together == [all_distances_are_above(checker, q) for q in configurations]
    monkeypatch.setattr(configuration_sweep, "_WORTH_LANES", math.inf)
    alone = checker.MeasureEdgesCollisionFree(edges, False)
    assert [m.alpha_or(-1.0) for m in alone] == [m.alpha_or(-1.0) for m in measures]


def test_a_bad_configuration_among_many_is_named():
    checker = make_checker([BOX])
    many = np.zeros((300, 2)) + bent(0.5)
    many[200, 1] = np.nan
    for threads in (1, 2):
        with pytest.raises(ValueError, match="q has NaN at index 1"):
            checker.CheckConfigsCollisionFree(many, parallelize=Parallelism(threads))
    with pytest.raises(ValueError, match="q"):
        checker.CheckConfigsCollisionFree([[0.0, 0.0], [0.0]])
    with pytest.raises(ValueError, match="q"):
        checker.CheckConfigsCollisionFree(np.zeros((4, 3)))


def test_more_pairs_may_overlap_than_there_was_room_for():
    checker = make_checker([BOX])
    plant, place = checker.plant(), RigidTransform()
    for name in ("link2", "box0"):
        for _ in range(25):
            checker.AddCollisionShapeToBody("many", plant.GetBodyByName(name), Sphere(0.3), place)
    assert checker.CheckConfigsCollisionFree(np.zeros((3, 2))) == [0, 0, 0]
    checker.SetPaddingAllRobotEnvironmentPairs(-1.0)
    assert checker.CheckConfigsCollisionFree(np.zeros((3, 2))) == [1, 1, 1]
    assert checker.CheckConfigCollisionFree([0.0, 0.0])


def test_poses_from_other_systems_than_the_plant_count():
    checker = make_checker([BOX])
    context, touching = checker.model_context(), bent(GAP + 0.01)
    assert not checker.CheckConfigCollisionFree(touching)
    port = checker.model().scene_graph().get_source_pose_port(checker.plant().get_source_id())
    checker.UpdatePositions(bent(0.5))
    port.FixValue(context.scene_graph_context(), copy.deepcopy(port.Eval(context.scene_graph_context())))
    assert checker.CheckConfigCollisionFree(touching)
    assert checker.CheckConfigsCollisionFree([touching, touching]) == [1, 1]


def test_edges_are_the_same_in_threads_and_with_functions_of_users():
    checker = make_checker([BOX, (0.2, 0.6, 0.2)], edge_step_size=0.002)
    ends = np.random.default_rng(4).uniform(-2.0, 2.0, (20, 2, 2))
    edges = [(a, b) for a, b in ends]
    are_free = checker.CheckEdgesCollisionFree(edges, parallelize=False)
    measures = [(m.distance(), m.alpha_or(-1.0)) for m in checker.MeasureEdgesCollisionFree(edges, False)]
    assert 0 < sum(are_free) < 20
    assert checker.CheckEdgesCollisionFree(edges, parallelize=Parallelism(2)) == are_free
    assert [int(checker.CheckEdgeCollisionFreeParallel(*edge, Parallelism(2))) for edge in edges] == are_free
    for again in (
        checker.MeasureEdgesCollisionFree(edges, Parallelism(2)),
        [checker.MeasureEdgeCollisionFreeParallel(*edge, Parallelism(2)) for edge in edges],
    ):
        assert [(m.distance(), m.alpha_or(-1.0)) for m in again] == measures
    checker.SetConfigurationInterpolationFunction(lambda a, b, ratio: a + ratio * (b - a))
    assert checker.CheckEdgesCollisionFree(edges, parallelize=Parallelism(2)) == are_free
    for check in (checker.MeasureEdgeCollisionFree, checker.CheckEdgeCollisionFree):
        with pytest.raises(ValueError, match="q"):
            check(np.zeros(1), np.zeros(1))
    checker.SetConfigurationDistanceFunction(lambda a, b: 1.0)
    with pytest.raises(ValueError, match="q"):
        checker.MeasureEdgeCollisionFree(np.zeros(1), np.zeros(1))
    with pytest.raises(ValueError, match="2 and 3 positions"):
        checker.CheckEdgesCollisionFree([(ends[0, 0], np.zeros(3)), edges[1]], parallelize=Parallelism(2))


def test_filters_follow_the_model_and_can_be_changed():
    checker = make_checker([BOX])
    plant = checker.plant()
    index = {plant.get_body(BodyIndex(i)).name(): i for i in range(plant.num_bodies())}
    nominal = checker.GetNominalFilteredCollisionMatrix()
    assert nominal[index["base"], index["world"]] == 1  # welded
    assert nominal[index["link1"], index["link2"]] == 1  # joined
    assert nominal[index["box0"], index["world"]] == -1 == nominal[0, 0]
    assert nominal[index["link2"], index["box0"]] == 0
    touching = bent(GAP + 0.01)
    checker.SetCollisionFilteredBetween(BodyIndex(index["link2"]), BodyIndex(index["box0"]), True)
    assert checker.CheckConfigCollisionFree(touching)
    assert checker.IsCollisionFilteredBetween(BodyIndex(index["box0"]), BodyIndex(index["link2"]))
    checker.SetCollisionFilterMatrix(nominal)
    assert not checker.CheckConfigCollisionFree(touching)
    checker.SetCollisionFilteredWithAllBodies(plant.GetBodyByName("link2"))
    assert checker.CheckConfigCollisionFree(touching)


def test_shapes_are_added_to_bodies_and_removed_by_group():
    checker = make_checker([BOX])
    q, plant = bent(0.8), checker.plant()
    assert checker.CheckConfigCollisionFree(q)
    standalone, clone = checker.MakeStandaloneModelContext(), checker.Clone()
    tip = plant.GetBodyByName("link2")
    assert checker.AddCollisionShapeToBody("tool", tip, Sphere(0.04), RigidTransform([0.4, 0.0, 0.0]))
    at_end = BodyShapeDescription(Sphere(0.1), RigidTransform([0.5, 0.0, 0.0]), "arm", "link2")
    assert checker.AddCollisionShapes({"guard": [at_end]}) == {"guard": 1}
    assert not checker.CheckConfigCollisionFree(q)
    assert not checker.CheckContextConfigCollisionFree(standalone, q)
    assert clone.CheckConfigCollisionFree(q) and clone.GetAllAddedCollisionShapes() == {}
    assert [d.body_name() for d in checker.GetAllAddedCollisionShapes()["guard"]] == ["link2"]
    checker.RemoveAllAddedCollisionShapes("guard")
    assert list(checker.GetAllAddedCollisionShapes()) == ["tool"]
    assert checker.CheckConfigCollisionFree(q)
    checker.RemoveAllAddedCollisionShapes()
    assert checker.GetAllAddedCollisionShapes() == {}
    (geometry,) = plant.GetCollisionGeometriesForBody(tip)
    description = MakeBodyShapeDescription(plant, checker.plant_context(), geometry)
    assert (description.model_instance_name(), description.body_name()) == ("arm", "link2")
    np.testing.assert_allclose(description.pose_in_body().translation(), [0.5, 0.0, 0.0])


def test_edges_are_sampled():
    checker = make_checker([BOX], edge_step_size=0.01)
    q1, q2 = np.array([0.6, 0.0]), np.array([-0.6, 0.0])
    assert not checker.CheckEdgeCollisionFree(q1, q2)
    assert checker.CheckEdgeCollisionFree(q1, [0.3, 0.0])
    assert checker.CheckEdgeCollisionFree(q1, q1)
    assert checker.CheckEdgesCollisionFree([(q1, q2), (q1, q1)]) == [0, 1]
    measure = checker.MeasureEdgeCollisionFree(q1, q2)
    assert measure.distance() == pytest.approx(1.2)
    assert measure.partially_free() and not measure.completely_free()
    reached = checker.InterpolateBetweenConfigurations(q1, q2, measure.alpha())
    assert checker.CheckConfigCollisionFree(reached)
    backwards = checker.MeasureEdgeCollisionFree([0.0, 0.0], q1)
    assert not backwards.partially_free() and backwards.alpha_or(-7.0) == -7.0
    with pytest.raises(RuntimeError, match="begins in collision"):
        backwards.alpha()
    assert checker.MeasureEdgeCollisionFree(q1, q1).completely_free()


def test_points_that_see_each_other():
    checker = make_checker([BOX])
    points = np.array([[0.6, 0.0], [0.3, 0.0], [-0.6, 0.0], [0.0, 0.0]]).T
    sees = VisibilityGraph(checker, points).toarray()
    np.testing.assert_array_equal(sees, [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    with pytest.raises(ValueError, match=r"points has shape \(3, 4\), expected \(2, n\)"):
        VisibilityGraph(checker, np.zeros((3, 4)))


def test_distances_of_quaternions_are_angles_and_ways_great_circles():
    plant = MultibodyPlant(0.0)

    plant.AddRigidBody("free", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.Finalize()
    provider = LinearDistanceAndInterpolationProvider(plant)
    assert provider.quaternion_dof_start_indices() == [0]
    np.testing.assert_array_equal(provider.distance_weights(), [1, 0, 0, 0, 1, 1, 1])
    q1 = np.array([1.0, 0, 0, 0, 0, 0, 0])
    q2 = np.array([-math.cos(0.4), 0, 0, -math.sin(0.4), 0.3, 0.0, 0.4])  # a turn by 0.8, written with the other sign
    assert provider.ComputeConfigurationDistance(q1, q2) == pytest.approx(math.hypot(0.8, 0.5))
    between = provider.InterpolateBetweenConfigurations(q1, q2, 0.5)
    np.testing.assert_allclose(between, [math.cos(0.2), 0, 0, math.sin(0.2), 0.15, 0.0, 0.2], atol=1e-12)
    np.testing.assert_allclose(provider.InterpolateBetweenConfigurations(q1, q1, 0.3), q1)
    weighted = LinearDistanceAndInterpolationProvider(plant, {JointIndex(0): [2.0, 0, 0, 0, 0, 0, 0]})
    assert weighted.ComputeConfigurationDistance(q1, q2) == pytest.approx(1.6)
    with pytest.raises(ValueError, match=r"must be \(weight, 0, 0, 0\)"):
        LinearDistanceAndInterpolationProvider(plant, np.ones(7))
    longer = np.concatenate((2.0 * q2[:4], q2[4:]))
    assert provider.ComputeConfigurationDistance(q1, longer) == pytest.approx(math.hypot(0.8, 0.5))
    np.testing.assert_allclose(provider.InterpolateBetweenConfigurations(q1, longer, 0.5), between, atol=1e-12)
    with pytest.raises(ValueError, match="quaternion at position 0 must not be 0"):
        provider.ComputeConfigurationDistance(q1, 0.0 * q2)
    with pytest.raises(ValueError, match="ratio must be between 0 and 1"):
        provider.InterpolateBetweenConfigurations(q1, q2, 1.1)


@pytest.mark.parametrize("kind", ["in the world", "between bodies", "of a ball"])
def test_edges_of_explicit_joints_with_quaternions_are_great_circles(kind):
    checker = spinning_tip(kind)
    half_way = checker.InterpolateBetweenConfigurations(turned(checker, 0.0), turned(checker, 2.8), 0.25)
    np.testing.assert_allclose(half_way, turned(checker, 0.7), atol=1e-12)
    assert checker.ComputeConfigurationDistance(turned(checker, 0.1), turned(checker, 0.1, -1.0)) < 1e-7
    assert checker.ComputeConfigurationDistance(turned(checker, 0.0), turned(checker, 0.8)) == pytest.approx(0.8)
    for sign in (1.0, -1.0):
        assert not checker.CheckEdgeCollisionFree(turned(checker, 0.5), turned(checker, 2.6, sign))
        assert checker.CheckEdgeCollisionFree(turned(checker, -0.5), turned(checker, -2.6, sign))
        assert checker.CheckEdgeCollisionFree(turned(checker, 0.1), turned(checker, 0.1, sign))


def test_functions_in_place_of_the_measure():
    checker = make_checker()
    checker.SetConfigurationDistanceFunction(lambda q1, q2: 7.0 * float(np.abs(q2 - q1).max()))
    assert checker.ComputeConfigurationDistance([0, 0], [1, 0.5]) == 7.0
    checker.SetConfigurationInterpolationFunction(lambda q1, q2, ratio: q1)
    assert checker.InterpolateBetweenConfigurations([0.1, 0], [1, 1], 0.5).tolist() == [0.1, 0.0]
    checker.SetConfigurationInterpolationFunction(None)
    assert checker.InterpolateBetweenConfigurations([0, 0], [1, 1], 0.5).tolist() == [0.5, 0.5]
    provider = LinearDistanceAndInterpolationProvider(checker.plant())
    checker.SetDistanceAndInterpolationProvider(provider)
    assert checker.distance_and_interpolation_provider() is provider
    with pytest.raises(RuntimeError, match="use SetDistanceAndInterpolationProvider"):
        checker.SetConfigurationDistanceFunction(lambda q1, q2: 0.0)


def test_wrong_arguments_are_errors():
    model, arm = make_arm([BOX])
    with pytest.raises(ValueError, match="model must be a RobotDiagram"):
        SceneGraphCollisionChecker(CollisionCheckerParams(robot_model_instances=arm, edge_step_size=0.1))
    with pytest.raises(ValueError, match="must name model instances of the robot"):
        SceneGraphCollisionChecker(model=model, robot_model_instances=[], edge_step_size=0.1)
    with pytest.raises(ValueError, match="edge_step_size"):
        SceneGraphCollisionChecker(model=model, robot_model_instances=arm)
    checker = make_checker([BOX])
    with pytest.raises(ValueError, match="q"):
        checker.CheckConfigCollisionFree([0.0])
    with pytest.raises(ValueError, match="q"):
        checker.CheckConfigCollisionFree([0.0, math.nan])
    with pytest.raises(ValueError, match="takes two bodies, given 'WorldModelInstance::world' twice"):
        checker.SetPaddingBetween(BodyIndex(0), BodyIndex(0), 0.1)
    with pytest.raises(ValueError, match="both belong to the environment"):
        checker.SetCollisionFilteredBetween(BodyIndex(0), checker.plant().GetBodyByName("box0"), True)
    with pytest.raises(ValueError, match="there is no body 99"):
        checker.GetPaddingBetween(BodyIndex(99), BodyIndex(0))
    with pytest.raises(ValueError, match=r"shape \(2, 2\), expected \(5, 5\)"):
        checker.SetPaddingMatrix(np.zeros((2, 2)))
    crooked = checker.GetPaddingMatrix()
    crooked[2, 3] = 1.0
    with pytest.raises(ValueError, match=r"not symmetric: 1.0 and 0.0 for bodies"):
        checker.SetPaddingMatrix(crooked)
    with pytest.raises(ValueError, match="there is no context 99"):
        checker.model_context(99)
    unable = UnimplementedCollisionChecker(
        model=model, robot_model_instances=arm, edge_step_size=0.1, supports_parallel_checking=False
    )
    assert unable.num_allocated_contexts() == 1
    with pytest.raises(RuntimeError, match="cannot check anything"):
        unable.CheckConfigCollisionFree([0.0, 0.0])


def test_tables_of_clearances_are_kept_in_order():
    table = RobotClearance(2)
    table.Append(BodyIndex(3), BodyIndex(1), RobotCollisionType.kSelfCollision, 0.5, [1.0, 2.0])
    assert (table.size(), table.num_positions()) == (1, 2)
    copied = RobotClearance(table)
    copied.Append(BodyIndex(2), BodyIndex(1), RobotCollisionType.kEnvironmentCollision, -0.5, [3.0, 4.0])
    assert table.size() == 1 and copied.distances().tolist() == [0.5, -0.5]
    np.testing.assert_array_equal(copied.jacobians(), [[1.0, 2.0], [3.0, 4.0]])
    copied.mutable_jacobians()[0, 0] = 9.0
    assert copied.jacobians()[0, 0] == 9.0
    with pytest.raises(ValueError, match="jacobian"):
        table.Append(BodyIndex(3), BodyIndex(1), RobotCollisionType.kSelfCollision, 0.5, [1.0])
    with pytest.raises(ValueError, match="alpha of 1 at most"):
        EdgeMeasure(1.0, 1.5)


def test_least_distances_of_programs_are_clearances():
    checker = make_checker([BOX])
    context = checker.MakeStandaloneModelContext()
    lower = MinimumDistanceLowerBoundConstraint(
        collision_checker=checker, bound=0.1, collision_checker_context=context, influence_distance_offset=0.5
    )
    upper = MinimumDistanceUpperBoundConstraint(checker, 0.1, context, 0.5)
    seen = set()
    for q in np.random.default_rng(0).uniform(-1.5, 1.5, (20, 2)):
        least = checker.CalcRobotClearance(q, 3.0).distances().min(initial=np.inf)
        seen.add(bool(least < 0.1))
        if lower.CheckSatisfied(q, 0.0):  # the smooth bounds are on the safe side
            assert least >= 0.1
        if upper.CheckSatisfied(q, 0.0):
            assert least <= 0.1
        slopes = [each.derivatives() for each in lower.Eval(InitializeAutoDiff(q).ravel())]
        differences = [(lower.Eval(q + h) - lower.Eval(q - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(np.ravel(slopes), np.ravel(differences), atol=1e-5)
    assert seen == {False, True}
    with pytest.raises(TypeError, match="takes plant, bound and plant_context, or collision_checker"):
        MinimumDistanceLowerBoundConstraint(bound=0.1, collision_checker_context=context)


def test_bodies_are_named_by_their_indices():
    checker = make_checker([BOX])
    box, link = (checker.plant().GetBodyByName(name).index() for name in ("box0", "link2"))
    assert checker.IsPartOfRobot(body_index=link)
    assert {"bodyA_index", "bodyB_index"} <= inspect.signature(checker.SetPaddingBetween).parameters.keys()
    checker.SetPaddingBetween(bodyA_index=box, bodyB_index=link, padding=0.07)
    assert checker.GetPaddingBetween(bodyA_index=box, bodyB_index=link) == 0.07
    checker.SetCollisionFilteredBetween(bodyA_index=box, bodyB_index=link, filter_collision=True)
    assert checker.IsCollisionFilteredBetween(bodyA_index=box, bodyB_index=link)
    checker.SetCollisionFilteredWithAllBodies(body_index=link)


def test_a_checker_among_many_bodies_takes_over_filters_and_changes_them():
    builder = RobotDiagramBuilder(time_step=0.0)
    plant, friction = builder.plant(), CoulombFriction(1.0, 1.0)
    inertia = SpatialInertia.SolidSphereWithMass(1.0, 0.1)
    bodies = [plant.AddRigidBody(f"b{k}", inertia) for k in range(40)]
    for k, body in enumerate(bodies):
        plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(0.1), "c", friction)
        plant.WeldFrames(plant.world_frame(), body.body_frame(), RigidTransform([0.5 * k, 0.0, 0.0]))
    tip = plant.AddRigidBody("tip", plant.AddModelInstance("robot"), inertia)
    plant.AddJoint(PrismaticJoint("slide", plant.world_frame(), tip.body_frame(), [1.0, 0.0, 0.0]))
    plant.RegisterCollisionGeometry(tip, RigidTransform([0.0, 0.15, 0.0]), Sphere(0.1), "c", friction)
    filters = builder.scene_graph().collision_filter_manager()
    ids = [plant.GetCollisionGeometriesForBody(body)[0] for body in (tip, bodies[7])]
    filters.Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet(ids)))
    instances = [tip.model_instance()]
    checker = SceneGraphCollisionChecker(model=builder.Build(), robot_model_instances=instances, edge_step_size=0.1)
    filtered = [checker.IsCollisionFilteredBetween(tip, body) for body in bodies]
    assert filtered == [k == 7 for k in range(40)]
    places = np.arange(40)[:, np.newaxis] * 0.5
    assert checker.CheckConfigsCollisionFree(places) == [int(k == 7) for k in range(40)]
    checker.SetCollisionFilteredBetween(tip, bodies[7], False)
    checker.SetCollisionFilteredBetween(tip, bodies[9], True)
    assert checker.CheckConfigsCollisionFree(places) == [int(k == 9) for k in range(40)]
    assert checker.CheckConfigCollisionFree([0.25])
