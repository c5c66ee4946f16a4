"""Bodies on height fields: at rest by closed forms, over the edges of a plane without a bump, off the border."""

from __future__ import annotations

import time

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    HeightField,
    InMemoryMesh,
    MemoryFile,
    Mesh,
    ProximityProperties,
    Shape,
    Sphere,
    TerrainMesh,
)
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import FixedOffsetFrame, PrismaticJoint, SpatialInertia

G, STIFFNESS = 9.81, 5e4  # of two materials of 1e5 N/m in series
SINKS = G / STIFFNESS  # a body of 1 kg
X21 = np.linspace(-1.0, 1.0, 21)
FLAT = HeightField(np.zeros((21, 21)), 2.0, 2.0)
CUBE = Convex(np.array(np.meshgrid(*[[-0.1, 0.1]] * 3)).reshape(3, -1), "cube")
CUBE_OBJ = "".join(f"v {x} {y} {z}\n" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
CUBE_OBJ += "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
CUBE_MESH = Mesh(InMemoryMesh(mesh_file=MemoryFile(CUBE_OBJ, ".obj", "cube")), 0.1)
UPRIGHT, AT_ORIGIN = RotationMatrix(), RigidTransform()
ON_SIDE = RollPitchYaw([0.0, np.pi / 2, 0.3]).ToRotationMatrix()
TURNED = RollPitchYaw([0.0, 0.0, 0.3]).ToRotationMatrix()


class World:
    """One body of 1 kg over terrain, free or, at a place [x, y], on a rail along z."""

    def __init__(
        self,
        ground: Shape,
        shape: Shape,
        mu: float = 0.5,
        X_WF: RigidTransform = AT_ORIGIN,
        place: list[float] | None = None,
    ) -> None:
        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=1e-3)
        self.body = self.plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        properties = ProximityProperties()
        AddContactMaterial(1.0, 1e5, CoulombFriction(mu, mu), properties)
        self.plant.RegisterCollisionGeometry(self.body, RigidTransform(), shape, "body", properties)
        self.plant.RegisterCollisionGeometry(self.plant.world_body(), X_WF, ground, "ground", properties)
        if place is not None:
            X_WP, world = RigidTransform([*place, 0.0]), self.plant.world_frame()
            foot = self.plant.AddFrame(FixedOffsetFrame("foot", world, X_WP))
            self.plant.AddJoint(PrismaticJoint("rail", foot, self.body.body_frame(), [0.0, 0.0, 1.0]))
        self.plant.Finalize()
        self.simulator = Simulator(builder.Build())
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())

    def run(self, X_WB: RigidTransform, duration: float, v: object = (0.0, 0.0, 0.0)) -> RigidTransform:
        self.plant.SetFreeBodyPose(self.context, self.body, X_WB)
        self.plant.SetFreeBodySpatialVelocity(self.body, SpatialVelocity(np.zeros(3), np.array(v, float)), self.context)
        self.simulator.AdvanceTo(self.simulator.get_context().get_time() + duration)
        return self.pose()

    def pose(self) -> RigidTransform:
        return self.plant.EvalBodyPoseInWorld(self.context, self.body)

    def force(self) -> float:
        """Sum of the upward contact forces on the body [N]."""
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        total = 0.0
        for i in range(results.num_point_pair_contacts()):
            info = results.point_pair_contact_info(i)
            sign = 1.0 if info.bodyB_index() == self.body.index() else -1.0
            total += sign * info.contact_force()[2]
        return total


def rows(profile: object) -> HeightField:
    """A field of 2 m by 2 m whose heights depend on x only."""
    return HeightField(np.tile(profile, (21, 1)), 2.0, 2.0)


STEP = rows(np.where(X21 < 0.0, 0.0, 0.2))
_PLATEAU = np.zeros((21, 21))
_PLATEAU[8:13, 8:13] = 0.2
PLATEAU = HeightField(_PLATEAU, 2.0, 2.0)
PIT = HeightField(-_PLATEAU, 2.0, 2.0)
VALLEY, RIDGE = rows(0.5 * abs(X21)), rows(0.3 - 0.5 * abs(X21))


@pytest.mark.parametrize(
    ("shape", "R_WB"),
    [
        (Sphere(0.1), UPRIGHT), (Box(0.2, 0.2, 0.2), TURNED), (CUBE, TURNED), (Capsule(0.1, 0.2), ON_SIDE),
        (Cylinder(0.1, 0.2), UPRIGHT), (Cylinder(0.1, 0.2), ON_SIDE), (Ellipsoid(0.2, 0.2, 0.1), UPRIGHT),
        (CUBE_MESH, TURNED),
    ],
    ids=lambda given: type(given).__name__,
)  # fmt: skip
@pytest.mark.parametrize(
    ("field", "x", "z"), [(FLAT, 0.017, 0.0), (STEP, 0.31, 0.2), (PLATEAU, 0.017, 0.2), (PIT, 0.017, -0.2)]
)
def test_a_body_at_rest_sinks_into_a_flat_part_as_into_a_half_space(shape, R_WB, field, x, z):
    world = World(field, shape)
    height = world.run(RigidTransform(R_WB, [x, 0.023, z + 0.1]), 0.6).translation()[2]
    assert height == pytest.approx(z + 0.1 - SINKS, abs=1e-9)
    assert world.force() == pytest.approx(G, abs=1e-4)


def test_a_box_larger_than_a_plateau_rests_on_its_border():
    height = World(PLATEAU, Box(0.8, 0.8, 0.2)).run(RigidTransform(TURNED, [0.0, 0.0, 0.3]), 0.6).translation()[2]
    assert height == pytest.approx(0.3 - SINKS, abs=1e-8)


@pytest.mark.parametrize("x", [0.0, 0.02])
def test_a_ball_in_a_valley_touches_both_slopes(x):
    # Each of two faces with the normal n = [-+0.5, 1] / sqrt(1.25) carries m g / (2 n_z). In the hull it was at 0.6 m.
    n_z = 1.0 / np.hypot(0.5, 1.0)
    p = World(VALLEY, Sphere(0.1), mu=0.0).run(RigidTransform([x, 0.03, 0.15]), 2.5).translation()
    np.testing.assert_allclose(p, [0.0, 0.03, (0.1 - G / (2.0 * n_z * STIFFNESS)) / n_z], atol=1e-7)


@pytest.mark.parametrize(
    "shape", [Sphere(0.1), Box(0.3, 0.3, 0.2), Capsule(0.1, 0.2), CUBE, CUBE_MESH], ids=lambda s: type(s).__name__
)
def test_ridges_and_peaks_carry_what_is_balanced_on_them(shape):
    half = 0.2 if isinstance(shape, Capsule) else 0.1
    peak = np.zeros((21, 21))
    peak[10, 10] = 0.3
    for field in (RIDGE, HeightField(peak, 2.0, 2.0)):
        world = World(field, shape)
        height = world.run(RigidTransform([0.0, 0.013 if field is RIDGE else 0.0, 0.3 + half]), 0.6).translation()[2]
        assert height == pytest.approx(0.3 + half - SINKS, abs=1e-8)


@pytest.mark.parametrize("height", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("gap", [0.0007, 0.001, 0.004, 0.03, 0.1])
def test_a_box_that_fell_on_a_peak_near_its_side_rests_on_it(height: float, gap: float) -> None:
    """It comes in by more than from the peak to its side, about a millimetre, on a rail along z."""
    heights = np.zeros((21, 21))
    heights[10, 10] = height
    world = World(HeightField(heights, 2.0, 2.0), Box(0.3, 0.3, 0.2), place=[0.15 - gap, 0.013])
    world.plant.GetJointByName("rail").set_translation(world.context, height + 0.15)
    world.simulator.AdvanceTo(0.6)
    assert world.pose().translation()[2] == pytest.approx(height + 0.1 - SINKS, abs=1e-7)
    assert world.force() == pytest.approx(G, rel=1e-3)


@pytest.mark.parametrize(
    "shape", [Sphere(0.1), Box(0.2, 0.2, 0.2), Capsule(0.1, 0.2), CUBE, CUBE_MESH], ids=lambda s: type(s).__name__
)
def test_a_slope_is_that_of_a_half_space(shape):
    field = HeightField(0.2 * X21[None, :] - 0.1 * X21[:, None], 2.0, 2.0)
    n = np.array([-0.2, 0.1, 1.0]) / np.sqrt(1.05)
    R_WS = RotationMatrix.MakeFromOneVector(n, 2)
    R_WB = R_WS @ (ON_SIDE if isinstance(shape, Capsule) else UPRIGHT)
    poses = [
        World(ground, shape, X_WF=X_WF).run(RigidTransform(R_WB, 0.1 * n + R_WS @ [0.023, 0.03, 0.0]), 0.4)
        for ground, X_WF in ((field, RigidTransform()), (HalfSpace(), RigidTransform(R_WS, np.zeros(3))))
    ]
    np.testing.assert_allclose(poses[0].GetAsMatrix4(), poses[1].GetAsMatrix4(), atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "R_WB"),
    [(Sphere(0.05), UPRIGHT), (Cylinder(0.05, 0.06), RollPitchYaw([np.pi / 2, 0.0, 0.0]).ToRotationMatrix())],
    ids=["ball", "wheel"],
)
def test_what_rolls_over_a_thousand_edges_of_a_plane_does_not_feel_them(shape, R_WB):
    # Two cells of 5 mm a step or so; along x every cell has an upright edge and a diagonal.
    field = HeightField(np.zeros((41, 501)), 2.5, 0.2)
    start = RigidTransform(R_WB, [-1.2, 0.0, 0.05])
    poses = []
    for ground in (field, HalfSpace()):
        world = World(ground, shape)
        heights = []
        world.plant.SetFreeBodyPose(world.context, world.body, start)
        velocity = SpatialVelocity(np.array([0.0, 40.0, 0.0]), np.array([2.0, 0.0, 0.0]))
        world.plant.SetFreeBodySpatialVelocity(world.body, velocity, world.context)
        for t in np.linspace(0.1, 1.15, 12):
            world.simulator.AdvanceTo(t)
            heights.append(world.pose().GetAsMatrix4())
        poses.append(np.array(heights))
    assert poses[0][-1, 0, 3] > 1.0  # of two metres and more: 440 cells, 880 edges and 440 borders
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-9)


def test_a_wall_stops_what_slides_and_the_ground_above_it_is_not_felt():
    for shape in (Sphere(0.1), Box(0.2, 0.2, 0.2)):
        world = World(STEP, shape, mu=0.0)
        p = world.run(RigidTransform([-0.5, 0.013, 0.1]), 1.5, v=(2.0, 0.0, 0.0)).translation()
        assert -1.0 < p[0] < -0.15
        assert p[2] == pytest.approx(0.1 - SINKS, abs=1e-6)


@pytest.mark.parametrize("shape", [Sphere(0.1), Box(0.2, 0.2, 0.2)], ids=lambda s: type(s).__name__)
def test_what_leaves_the_border_falls(shape):
    p = World(FLAT, shape, mu=0.1).run(RigidTransform([0.5, 0.0, 0.1]), 1.2, v=(2.0, 0.0, 0.0)).translation()
    assert p[0] > 1.2 and p[2] < -2.0


def test_a_step_takes_as_long_on_a_million_cells_as_on_ten_thousand():
    rng = np.random.default_rng(0)
    tile = rng.uniform(0.0, 0.02, (100, 100))
    tile[-1], tile[:, -1] = tile[0], tile[:, 0]
    large = HeightField(np.pad(tile, ((450, 450), (450, 450)), mode="wrap"), 49.95, 49.95)
    small = HeightField(tile, 4.95, 4.95)
    times: dict[HeightField, list[float]] = {small: [], large: []}
    for _ in range(3):
        for field in (small, large):
            world = World(field, Box(0.3, 0.3, 0.2))
            world.run(RigidTransform([0.0, 0.0, 0.15]), 0.05)
            start = time.process_time()
            world.run(RigidTransform([0.0, 0.0, 0.15]), 0.4)
            times[field].append(time.process_time() - start)
    assert min(times[large]) < 2.0 * min(times[small])  # 100 times the cells


def test_a_rigid_field_has_hydroelastic_contact_and_continuous_plants_have_points():
    for time_step, expected in ((1e-3, "num_hydroelastic_contacts"), (0.0, "num_point_pair_contacts")):
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
        body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        for owner, shape in ((body, Sphere(0.1)), (plant.world_body(), VALLEY)):
            properties = ProximityProperties()
            AddContactMaterial(10.0, 1e5, CoulombFriction(0.5, 0.5), properties)
            if time_step and shape is VALLEY:
                AddRigidHydroelasticProperties(properties)
            elif time_step:
                AddCompliantHydroelasticProperties(0.02, 1e7, properties)
            plant.RegisterCollisionGeometry(owner, RigidTransform(), shape, "shape", properties)
        plant.Finalize()
        simulator = Simulator(builder.Build())
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetFreeBodyPose(context, body, RigidTransform([0.0, 0.03, 0.112]))
        simulator.AdvanceTo(0.2)
        results = plant.get_contact_results_output_port().Eval(context)
        assert getattr(results, expected)() > 0
        assert plant.EvalBodyPoseInWorld(context, body).translation()[2] == pytest.approx(0.1118, abs=2e-3)


@pytest.mark.parametrize("shape", [Sphere(0.1), Box(0.2, 0.24, 0.2)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("is_mesh", [False, True])
def test_a_step_on_a_slope_has_the_derivatives_of_one_on_a_half_space(shape: Shape, is_mesh: bool) -> None:
    slope = HeightField(0.2 * X21[None, :] - 0.1 * X21[:, None], 2.0, 2.0)
    n = np.array([-0.2, 0.1, 1.0]) / np.sqrt(1.05)
    R_WS = RotationMatrix.MakeFromOneVector(n, 2)
    ground = TerrainMesh(*slope.kind.triangles(slope)) if is_mesh else slope
    gradients = []
    for terrain, X_WF in ((ground, RigidTransform()), (HalfSpace(), RigidTransform(R_WS, np.zeros(3)))):
        world = World(terrain, shape, X_WF=X_WF)
        diagram = world.simulator.get_system().ToAutoDiffXd()
        context = diagram.CreateDefaultContext()
        plant = diagram.GetSubsystemByName("plant")
        mine = plant.GetMyMutableContextFromRoot(context)
        q = np.r_[R_WS.ToQuaternion().wxyz(), 0.0995 * n + R_WS @ [0.023, 0.03, 0.0]]
        x = np.r_[q, [0.1, -0.2, 0.3, 0.3, 0.1, -0.2]]
        plant.SetPositionsAndVelocities(mine, InitializeAutoDiff(x).reshape(-1))
        state = context.Clone().get_mutable_state()
        diagram.CalcForcedUnrestrictedUpdate(context, state)
        gradients.append(ExtractGradient(state.get_discrete_state(0).value().reshape(-1, 1)))
    assert abs(gradients[1]).max() > 1.0
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-7, atol=1e-7)


def test_bodies_rest_on_a_mesh_that_is_not_convex_by_closed_forms() -> None:
    """A ball in a valley of two sheets at 45 degrees, between both; a box on the floor of a ditch, below its banks."""
    x, z = np.array([-1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0])
    vertices = [[x[k % 3], y, z[k % 3]] for y in (-1.0, 0.0, 1.0) for k in range(3)]
    cells = [(a, a + 1, a + 4, a + 3) for a in (0, 1, 3, 4)]
    valley = TerrainMesh(vertices, [t for a, b, c, d in cells for t in ((a, b, c), (a, c, d))])
    X_WB = World(valley, Sphere(0.1)).run(RigidTransform([0.05, 0.0, 0.25]), 1.0)
    np.testing.assert_allclose(X_WB.translation(), [0.0, 0.0, 0.1 * np.sqrt(2.0) - SINKS], atol=1e-5)
    profile = [(-1.0, 0.3), (-0.4, 0.3), (-0.4, 0.0), (0.4, 0.0), (0.4, 0.3), (1.0, 0.3)]
    vertices = [[u, y, w] for u, w in profile for y in (-1.0, 1.0)]
    triangles = [t for a in range(0, 10, 2) for t in ((a, a + 2, a + 3), (a, a + 3, a + 1))]
    world = World(TerrainMesh(vertices, triangles), Box(0.2, 0.2, 0.2))
    X_WB = world.run(RigidTransform([0.1, 0.2, 0.12]), 0.5)
    np.testing.assert_allclose(X_WB.translation(), [0.1, 0.2, 0.1 - SINKS], atol=1e-6)
    assert world.force() == pytest.approx(G, rel=1e-3)
