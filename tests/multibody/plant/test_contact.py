"""Contact as ports and settings of a plant show it, what is refused, and scenes that must not break."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import APPROXIMATIONS, Fill, Scene, add_free_body, add_ground, contact_library, free_state, material

import merganser.multibody.plant.step.dynamics as dynamics_module
from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.framework.native.compiler.argument_types import type_key
from merganser.geometry import HalfSpace, Sphere
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactResults,
    CoulombFriction,
    ExternallyAppliedSpatialForce,
    MultibodyPlant,
)
from merganser.multibody.tree import SpatialInertia

pytest_plugins = ["compile_policy"]

LIB = contact_library("ours")
H = 1e-3
K, D = 2e5, 1.0


def resting_box(lib: SimpleNamespace, plant: Any, friction: float = 0.5) -> None:
    properties = material(lib, friction, point_stiffness=K, dissipation=D)
    add_free_body(lib, plant, "box", lib.Box(0.1, 0.2, 0.3), properties, mass=2.0)
    add_ground(lib, plant, properties)


def steady(approximation: str = "kLagged") -> Scene:
    scene = Scene(LIB, H, resting_box, approximation)
    scene.run(300, free_state([0.0, 0.0, 0.15 - 2.0 * 9.81 / (0.5 * K)]))
    return scene


@pytest.mark.parametrize("approximation", ["kTamsi", "kSimilar", "kLagged"])
def test_box_rests_on_four_corners_that_share_its_weight(approximation: str) -> None:
    scene = steady(approximation)
    contacts = scene.contacts()
    assert len(contacts) == 4
    force = sum(info.contact_force() * (1 if info.bodyB_index() == 1 else -1) for info in contacts)
    np.testing.assert_allclose(force, [0.0, 0.0, 2.0 * 9.81], atol=1e-4)
    depth = 2.0 * 9.81 / (0.5 * K)  # two springs in series, which the corners share
    for info in contacts:
        assert info.point_pair().depth == pytest.approx(depth, rel=1e-4)
        assert info.slip_speed() < 1e-6
        assert abs(info.separation_speed()) < 1e-6
    tau = scene.plant.get_generalized_contact_forces_output_port(LIB.default_model_instance()).Eval(scene.context)
    np.testing.assert_allclose(tau, [0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * 9.81], atol=1e-4)


@pytest.mark.usefixtures("loop_in_python")  # a step in the compiled loop needs nothing compiled ahead
@pytest.mark.parametrize("approximation", ["kTamsi", "kSap"])
def test_other_processes_compile_the_kernels_of_a_step_with_contact(approximation, monkeypatch) -> None:
    jobs: list[Any] = []
    monkeypatch.setattr(dynamics_module, "is_missing", lambda _kernel: True)
    monkeypatch.setattr(dynamics_module, "compile_ahead", jobs.extend)
    steady(approximation)
    called = [(kernel, arguments) for kernel, arguments in jobs if kernel.codes]
    assert len(called) >= 4
    for kernel, arguments in called:  # of the very types with which the step has called them
        assert tuple(map(type_key, arguments)) in kernel.codes


@pytest.mark.usefixtures("loop_in_python")
def test_other_processes_begin_before_this_one_compiles_anything_for_a_step(monkeypatch) -> None:
    def begin(_jobs: Any) -> None:
        raise InterruptedError

    scene = Scene(LIB, H, resting_box)
    gathered: list[Any] = []
    monkeypatch.setattr(dynamics_module, "is_missing", lambda _kernel: True)
    monkeypatch.setattr(dynamics_module, "compile_ahead", begin)
    monkeypatch.setattr(dynamics_module, "take_step", lambda *given: gathered.append(given))
    with pytest.raises(InterruptedError):
        scene.run(1)
    assert not gathered


def test_contact_results_are_empty_before_the_first_step_and_in_the_air() -> None:
    scene = Scene(LIB, H, resting_box)
    assert scene.contacts() == []
    scene.run(3, free_state([0.0, 0.0, 1.0]))
    assert scene.contacts() == []
    assert ContactResults().plant() is None
    with pytest.raises(IndexError, match="there are 0 point pair contacts"):
        ContactResults().point_pair_contact_info(0)


def test_materials_in_series_share_the_overlap() -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), material(lib, point_stiffness=1e4, dissipation=10.0))
        add_ground(lib, plant, material(lib, point_stiffness=3e4, dissipation=10.0))

    scene = Scene(LIB, H, fill)
    depth = 9.81 / (1e4 * 3e4 / 4e4)
    scene.run(2000, free_state([0.0, 0.0, 0.1 - depth]))
    (info,) = scene.contacts()
    assert info.point_pair().depth == pytest.approx(depth, rel=1e-3)
    # The softer ball gives way by three quarters.
    assert info.contact_point()[2] == pytest.approx(-0.25 * depth, rel=1e-3)


# ---------------------------------------------------------------------- bad input


def refused_step(scene: Scene, error: type[Exception], match: str) -> None:
    """One step raises and changes nothing."""
    before, time = scene.state, scene.simulator.get_context().get_time()
    with pytest.raises(error, match=match):
        scene.simulator.AdvanceTo(time + H)
    np.testing.assert_array_equal(scene.state, before)


def test_a_plant_with_shapes_but_no_scene_graph_says_how_to_connect_it() -> None:
    plant = MultibodyPlant(H)
    scene_graph = LIB.SceneGraph()
    plant.RegisterAsSourceForSceneGraph(scene_graph)
    resting_box(LIB, plant)
    plant.Finalize()
    simulator = LIB.Simulator(plant)
    with pytest.raises(RuntimeError, match=r"geometry_query.*not connected.*2 collision geometries.*AddMultibodyPlant"):
        simulator.AdvanceTo(H)


def test_missing_friction_is_reported_with_the_geometry() -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "bald", lib.Sphere(0.1), lib.ProximityProperties())
        add_ground(lib, plant, material(lib))

    builder = LIB.DiagramBuilder()
    plant, scene_graph = LIB.AddMultibodyPlantSceneGraph(builder, H)
    config = scene_graph.get_config()
    config.default_proximity_properties.static_friction = None
    config.default_proximity_properties.dynamic_friction = None
    scene_graph.set_config(config)
    fill(LIB, plant)
    plant.Finalize()
    simulator = LIB.Simulator(builder.Build())
    with pytest.raises(RuntimeError, match=r"bald.*no \('material', 'coulomb_friction'\).*AddContactMaterial"):
        simulator.AdvanceTo(H)


def test_forces_that_are_not_numbers_are_refused() -> None:
    scene = steady()
    force = ExternallyAppliedSpatialForce()
    force.body_index, force.F_Bq_W = (
        scene.plant.GetBodyByName("box").index(),
        SpatialForce([0.0, 0.0, 0.0], [math.nan, 0.0, 0.0]),
    )
    scene.plant.get_applied_spatial_force_input_port().FixValue(scene.context, [force])
    refused_step(scene, Exception, "applied_spatial_force.*finite")


def test_poses_that_are_not_numbers_are_refused() -> None:
    scene = steady()
    state = scene.state
    state[5] = math.nan
    scene.context.get_mutable_discrete_state(0).SetFromVector(state)
    refused_step(scene, RuntimeError, "not finite")


# ---------------------------------------------------------------------- random scenes


def random_pile(seed: int) -> tuple[float, Fill, Any]:
    """Bodies thrown into each other: masses, stiffnesses and frictions over many decades, deep overlaps."""
    rng = np.random.default_rng(seed)
    num_bodies, time_step = int(rng.integers(2, 8)), float(10.0 ** rng.uniform(-4.0, -1.7))

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        for i in range(num_bodies):
            size = rng.uniform(0.02, 0.3, 3)
            shapes = lib.Sphere(size[0]), lib.Box(*size), lib.Cylinder(*size[:2]), lib.Capsule(*size[:2])
            # Inertia of spheres: explicit gyroscopic forces, which can blow up, are not what is tried here.
            inertia = lib.SpatialInertia.SolidSphereWithMass(10.0 ** rng.uniform(-3.0, 3.0), 0.5 * max(size))
            properties = material(
                lib,
                float(rng.choice([0.0, 0.1, 0.5, 1.0, 10.0])),
                float(rng.choice([0.0, 1e-4, 0.1, 1.0])),
                point_stiffness=10.0 ** rng.uniform(1.0, 12.0),
                dissipation=float(rng.choice([0.0, 0.1, 1.0, 50.0, 1e4])),
            )
            body = plant.AddRigidBody(f"body{i}", inertia)
            X_BG = lib.RigidTransform(rng.normal(scale=0.02, size=3))
            plant.RegisterCollisionGeometry(body, X_BG, shapes[rng.integers(4)], f"shape{i}", properties)
        add_ground(lib, plant, material(lib, float(rng.choice([0.0, 0.5, 10.0]))))

    places = rng.uniform(-0.2, 0.2, (num_bodies, 3)) + [0.0, 0.0, 0.1]
    state = free_state(*places)
    for i in range(num_bodies):
        quaternion = rng.normal(size=4)
        state[7 * i : 7 * i + 4] = quaternion / np.linalg.norm(quaternion)
    state[7 * num_bodies :] = rng.normal(size=6 * num_bodies) * rng.choice([0.0, 1.0, 10.0])
    return time_step, fill, state


def contact_forces(scene: Scene, before: Any) -> Any:
    """Generalized forces of the contacts of the last step on free bodies, whose state before it is given."""
    n = scene.plant.num_bodies() - 1
    tau = np.zeros((n, 6))
    for info in scene.contacts():
        f = info.contact_force()
        for body, sign in ((int(info.bodyA_index()), -1.0), (int(info.bodyB_index()), 1.0)):
            if body > 0:
                p_WBo = before[7 * body - 3 : 7 * body]
                tau[body - 1] += sign * np.concatenate([np.cross(info.contact_point() - p_WBo, f), f])
    return tau.ravel()


@pytest.mark.filterwarnings("ignore:No solution was found")
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_random_piles_are_moved_by_the_forces_that_they_report(approximation: str) -> None:
    """M (v+ - v) / h = tau_g + J^T f, as spheres have no forces of velocities; and no f pulls."""
    num_contacts = 0
    for seed in range(25):
        time_step, fill, state = random_pile(seed)
        scene = Scene(LIB, time_step, fill, approximation)
        scene.run(0, state)
        plant, context = scene.plant, scene.context
        M, num_v = plant.CalcMassMatrix(context), plant.num_velocities()
        for _ in range(8):
            before = scene.state
            after = scene.run(1)[-1]
            tau = plant.get_generalized_contact_forces_output_port(LIB.default_model_instance()).Eval(context)
            expected = contact_forces(scene, before)
            np.testing.assert_allclose(tau, expected, rtol=1e-9, atol=1e-9 * (1.0 + np.abs(expected).max()))
            change = M @ (after - before)[-num_v:] - time_step * plant.CalcGravityGeneralizedForces(context)
            # Each impulse is known to a millionth of the momentum, which weighs with the root of the mass.
            D = np.diag(M) ** -0.5
            scale = np.linalg.norm(D * (M @ after[-num_v:])) + np.linalg.norm(D * time_step * tau)
            assert np.linalg.norm(D * (change - time_step * tau)) <= 1e-6 * scale + 1e-12, seed
            for info in scene.contacts():
                normal = info.point_pair().nhat_BA_W
                pushing = -float(info.contact_force() @ normal)
                assert pushing >= -1e-9 * np.linalg.norm(info.contact_force())
                num_contacts += 1
    assert num_contacts > 200


def test_a_penetration_allowance_set_after_finalize_enters_contexts_that_exist() -> None:
    depths = []
    for allowance in (1e-3, 4e-3):
        builder = DiagramBuilder()
        plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 1e-3)
        config = scene_graph.get_config()
        config.default_proximity_properties.point_stiffness = None
        scene_graph.set_config(config)
        ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        friction = CoulombFriction(0.5, 0.5)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", friction)
        plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), "ball", friction)
        plant.Finalize()
        simulator = Simulator(builder.Build())
        context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
        plant.SetFreeBodyPose(context, ball, RigidTransform(np.array([0.0, 0.0, 0.1])))
        simulator.AdvanceTo(0.1)
        plant.set_penetration_allowance(allowance)
        simulator.AdvanceTo(2.0)
        depths.append(0.1 - plant.EvalBodyPoseInWorld(context, ball).translation()[2])
    # Two of the default compliance give way by the allowance, one on each side.
    np.testing.assert_allclose(depths, [1e-3, 4e-3], rtol=0.02)
