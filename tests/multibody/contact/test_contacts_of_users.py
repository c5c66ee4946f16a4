"""Contacts of kinds that a program brings: terrains, magnets, cloth over a ball."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, Sphere
from merganser.multibody.contact import ContactKind
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from merganser.multibody.tree import PrismaticJoint, SpatialInertia
from merganser.multibody.visualization.contact_visualizer import ContactNames

STIFFNESS, RADIUS = 1e4, 0.1


def set_ball_on_plane(source: Any, numbers_in: Any, pose_A: Any, pose_B: Any, pairs_out: Any) -> None:
    """A ball on the plane z = 0 of B, with friction mu."""
    p, pair = pose_A["p_WoBo_W"], pairs_out[0]
    pair["p_WC"][0], pair["p_WC"][1], pair["p_WC"][2] = p[0], p[1], 0.5 * (p[2] - numbers_in[0])
    pair["nhat_BA_W"][2] = 1.0
    pair["phi"], pair["stiffness"] = p[2] - numbers_in[0], numbers_in[1]
    pair["dissipation"], pair["relaxation_time"] = numbers_in[2], 0.2
    pair["static_friction"] = pair["dynamic_friction"] = numbers_in[3]


BALL_ON_PLANE = ContactKind("ball on plane", set_ball_on_plane)
NUMBERS = [RADIUS, STIFFNESS, 1.0, 0.5]


def set_magnets(source: Any, numbers_in: Any, pose_A: Any, pose_B: Any, pairs_out: Any) -> None:
    """A above B, repelled by f_0 = c / z^2: k = 2 c / z^3, phi = -f_0 / k = -z / 2."""
    z, pair = pose_A["p_WoBo_W"][2] - pose_B["p_WoBo_W"][2], pairs_out[0]
    pair["p_WC"][2] = pose_A["p_WoBo_W"][2]
    pair["nhat_BA_W"][2] = 1.0
    pair["phi"], pair["stiffness"] = -0.5 * z, 2.0 * numbers_in[0] / (z * z * z)


MAGNETS = ContactKind("magnets", set_magnets)


def set_far_and_near(source: Any, numbers_in: Any, pose_A: Any, pose_B: Any, pairs_out: Any) -> None:
    """Four corners of a square over z = 0; the others of six places are not written."""
    for k in range(4):
        x, y = (0.1 if k % 2 else -0.1), (0.1 if k // 2 else -0.1)
        R, p, pair = pose_A["R_WB"], pose_A["p_WoBo_W"], pairs_out[k + 1]
        for r in range(3):
            pair["p_WC"][r] = p[r] + R[r, 0] * x + R[r, 1] * y
        pair["nhat_BA_W"][2] = 1.0
        pair["phi"], pair["stiffness"] = pair["p_WC"][2], 0.25 * numbers_in[0]
        pair["dissipation"], pair["relaxation_time"], pair["dynamic_friction"] = 10.0, 0.1, 0.5


PLATE = ContactKind("plate", set_far_and_near)


def ball(time_step: float, kind: ContactKind | None = BALL_ON_PLANE, **given: Any) -> tuple[Any, Any]:
    """A ball of 1 kg over the ground, which is of this kind, or without any the geometry that it imitates."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, RADIUS))
    if kind is not None:
        plant.AddContact(kind, body, numbers=NUMBERS, **given)
    else:
        from merganser.geometry import AddContactMaterial, HalfSpace, ProximityProperties

        for of, shape in ((body, Sphere(RADIUS)), (plant.world_body(), HalfSpace())):
            properties = ProximityProperties()
            AddContactMaterial(NUMBERS[2], 2.0 * STIFFNESS, CoulombFriction(0.5, 0.5), properties)
            plant.RegisterCollisionGeometry(of, RigidTransform(), shape, of.name(), properties)
    plant.Finalize()
    return builder.Build(), plant


def state_after(diagram: Any, plant: Any, time: float, use_plan: bool = False) -> np.ndarray:
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    plant.SetPositionsAndVelocities(context, [1.0, 0, 0, 0, 0, 0, 0.15, 0.0, 5.0, 0.0, 1.0, 0.0, 0.0])
    simulator.AdvanceTo(time)
    return np.array(plant.GetPositionsAndVelocities(context))


@pytest.mark.parametrize("time_step", [0.001, 0.0])
def test_a_ball_rolls_as_on_the_geometry_that_a_kind_imitates(time_step: float) -> None:
    of_kind, of_geometry = (state_after(*ball(time_step, kind), 0.3) for kind in (BALL_ON_PLANE, None))
    np.testing.assert_allclose(of_kind, of_geometry, atol=1e-9 if time_step else 1e-4)


@pytest.mark.parametrize("time_step", [0.001, 0.0])
def test_the_compiled_loop_gives_the_same_numbers(time_step: float) -> None:
    in_python, compiled = (state_after(*ball(time_step), 0.3, use_plan) for use_plan in (False, True))
    np.testing.assert_array_equal(compiled, in_python)


@pytest.mark.parametrize("approximation", ["kTamsi", "kSap", "kSimilar", "kLagged"])
def test_what_rests_is_carried_by_every_approximation(approximation: str) -> None:
    plant = MultibodyPlant(0.002)
    plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
    body = plant.AddRigidBody("plate", SpatialInertia.SolidBoxWithMass(2.0, 0.2, 0.2, 0.02))
    A, B = plant.AddContact(PLATE, body, numbers=[STIFFNESS], num_pairs=6)
    plant.Finalize()
    simulator = Simulator(plant)
    simulator.AdvanceTo(1.5)
    results = plant.get_contact_results_output_port().Eval(simulator.get_context())
    infos = [results.point_pair_contact_info(k) for k in range(results.num_point_pair_contacts())]
    assert len(infos) == 4
    assert {(info.point_pair().id_A, info.point_pair().id_B) for info in infos} == {(A, B)}
    assert {(int(info.bodyA_index()), int(info.bodyB_index())) for info in infos} == {(int(body.index()), 0)}
    weight = 2.0 * 9.81
    np.testing.assert_allclose(sum(info.contact_force() for info in infos), [0.0, 0.0, -weight], atol=1e-4)
    assert infos[0].point_pair().depth == pytest.approx(weight / STIFFNESS, rel=0.05)
    depth = -plant.GetPositions(simulator.get_context())[6]
    assert depth == pytest.approx(weight / STIFFNESS, rel=1e-3)


def test_magnets_hover_where_their_force_is_the_weight() -> None:
    plant = MultibodyPlant(0.001)
    body = plant.AddRigidBody("magnet", SpatialInertia.SolidCubeWithMass(0.5, 0.05))
    rise = plant.AddJoint(PrismaticJoint("rise", plant.world_frame(), body.body_frame(), [0, 0, 1], damping=2.0))
    plant.AddContact(MAGNETS, body, numbers=[0.01])
    plant.Finalize()
    simulator = Simulator(plant)
    rise.set_translation(simulator.get_mutable_context(), 0.06)
    simulator.AdvanceTo(5.0)
    assert rise.get_translation(simulator.get_context()) == pytest.approx(np.sqrt(0.01 / (0.5 * 9.81)), rel=1e-4)


def test_kinds_and_geometries_touch_in_one_step() -> None:
    """A box stands on a block, while a contact of a kind carries another body."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.001)
    box, plate = (plant.AddRigidBody(name, SpatialInertia.SolidCubeWithMass(1.0, 0.2)) for name in ("box", "plate"))
    friction = CoulombFriction(0.5, 0.5)
    plant.RegisterCollisionGeometry(box, RigidTransform(), Box(0.2, 0.2, 0.2), "box", friction)
    plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform([0, 0, -0.5]), Box(1, 1, 1), "block", friction
    )
    _, B = plant.AddContact(PLATE, plate, numbers=[STIFFNESS], num_pairs=5)
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    plant.SetFreeBodyPose(context, box, RigidTransform([0.0, 0.0, 0.1]))
    plant.SetFreeBodyPose(context, plate, RigidTransform([5.0, 0.0, 0.0]))
    simulator.AdvanceTo(1.0)
    results = plant.get_contact_results_output_port().Eval(context)
    infos = [results.point_pair_contact_info(k) for k in range(results.num_point_pair_contacts())]
    up = {"kind": 0.0, "geometry": 0.0}
    for info in infos:
        sign = -1.0 if int(info.bodyA_index()) != 0 else 1.0  # of the force on the body that is not the world
        up["kind" if info.point_pair().id_B == B else "geometry"] += sign * info.contact_force()[2]
    assert up == {"kind": pytest.approx(9.81, abs=1e-4), "geometry": pytest.approx(9.81, abs=1e-4)}


@pytest.mark.parametrize("time_step", [0.001, 0.0])
@pytest.mark.parametrize("height", [0.0995, RADIUS, 0.11], ids=["deep", "touching", "apart"])
def test_derivatives_are_those_of_differences(time_step: float, height: float) -> None:
    plant = MultibodyPlant(time_step)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, RADIUS))
    plant.AddContact(BALL_ON_PLANE, body, numbers=NUMBERS)
    plant.SetUseSampledOutputPorts(False)
    plant.Finalize()
    differentiable = plant.ToAutoDiffXd()
    x = np.array([1.0, 0, 0, 0, 0, 0, height, 0.3, 5.0, 0.2, 1.0, 0.4, -0.1])

    def next_state(of: Any, x: Any) -> Any:
        context = of.CreateDefaultContext()
        of.SetPositionsAndVelocities(context, x)
        if time_step == 0.0:
            return of.EvalTimeDerivatives(context).CopyToVector()
        return of.EvalUniquePeriodicDiscreteUpdate(context).value()

    found = next_state(differentiable, InitializeAutoDiff(x).ravel())
    np.testing.assert_allclose(ExtractValue(found).ravel(), next_state(plant, x), rtol=1e-6, atol=1e-6)
    h, columns = 1e-6, []
    if height == RADIUS:
        return  # a kink, of which derivatives are those of one side
    for k in range(len(x)):
        step = h * np.eye(len(x))[k]
        columns.append((next_state(plant, x + step) - next_state(plant, x - step)) / (2.0 * h))
    np.testing.assert_allclose(ExtractGradient(found), np.transpose(columns), rtol=1e-4, atol=2e-3)


def test_viewers_name_a_contact_by_its_bodies_and_its_kind() -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.001)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, RADIUS))
    A, B = plant.AddContact(BALL_ON_PLANE, body, numbers=NUMBERS)
    plant.Finalize()
    names = ContactNames(plant, scene_graph.model_inspector())
    assert names.pair(A, B) == "ball.ball on plane+world.ball on plane"
    assert plant.GetContactSides() == {A: (body.index(), "ball on plane"), B: (0, "ball on plane")}


def set_nan(source: Any, numbers_in: Any, pose_A: Any, pose_B: Any, pairs_out: Any) -> None:
    pairs_out[0]["phi"] = np.sqrt(pose_A["p_WoBo_W"][2])


def test_a_gap_that_is_no_number_names_the_contact_and_leaves_the_context() -> None:
    plant = MultibodyPlant(0.001)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, RADIUS))
    plant.AddContact(ContactKind("root", set_nan), body)
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetPositions(context, [1.0, 0, 0, 0, 0, 0, -0.1])
    before = plant.GetPositionsAndVelocities(context).copy()
    message = r"The root contact of bodies 'ball' and 'world' of plant .* at time 0.0 s a gap phi that is no number"
    with pytest.raises(RuntimeError, match=message):
        simulator.AdvanceTo(0.01)
    differentiable = plant.ToAutoDiffXd()
    with_derivatives = differentiable.CreateDefaultContext()
    differentiable.SetPositions(with_derivatives, InitializeAutoDiff([1.0, 0, 0, 0, 0, 0, -0.1]).ravel())
    with pytest.raises(RuntimeError, match=message):
        differentiable.CalcForcedUnrestrictedUpdate(with_derivatives, with_derivatives.Clone().get_mutable_state())
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), before)
    plant.SetPositions(context, [1.0, 0, 0, 0, 0, 0, 0.1])
    simulator.AdvanceTo(0.01)


def set_given(source: Any, numbers_in: Any, pose_A: Any, pose_B: Any, pairs_out: Any) -> None:
    pair = pairs_out[0]
    pair["phi"], pair["stiffness"], pair["nhat_BA_W"][2] = -0.01, numbers_in[0], numbers_in[1]


@pytest.mark.parametrize("numbers", [(1e3, 0.0), (1e3, 2.0), (1e3, -1.1), (-1e3, 1.0)])
def test_pairs_without_a_unit_normal_or_with_a_negative_stiffness_are_refused(numbers: tuple[float, float]) -> None:
    plant = MultibodyPlant(0.001)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, RADIUS))
    plant.AddContact(ContactKind("given", set_given), body, numbers=numbers)
    plant.Finalize()
    with pytest.raises(RuntimeError, match=r"The given contact .* length is not 1, or a negative stiffness"):
        Simulator(plant).AdvanceTo(0.01)


def set_outside(source: Any, numbers_in: Any, pose_A: Any, pose_B: Any, pairs_out: Any) -> None:
    pairs_out[3]["phi"] = 0.0


def test_a_function_that_leaves_its_places_is_an_error_that_names_the_contact() -> None:
    plant = MultibodyPlant(0.001)
    body = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, RADIUS))
    plant.AddContact(ContactKind("wide", set_outside), body, num_pairs=3)
    plant.Finalize()
    with pytest.raises((RuntimeError, IndexError), match=r"wide contact of bodies 'ball' and 'world'|out of bounds"):
        Simulator(plant).AdvanceTo(0.01)


def test_bodies_that_cannot_move_are_in_no_contact() -> None:
    plant = MultibodyPlant(0.001)
    fixed, free = (plant.AddRigidBody(name, SpatialInertia.SolidCubeWithMass(1.0, 0.1)) for name in ("fixed", "free"))
    plant.WeldFrames(plant.world_frame(), fixed.body_frame(), RigidTransform([0.0, 0.0, -1.0]))
    plant.AddContact(BALL_ON_PLANE, fixed, numbers=NUMBERS)
    A, _ = plant.AddContact(BALL_ON_PLANE, free, numbers=NUMBERS)
    plant.Finalize()
    simulator = Simulator(plant)
    simulator.AdvanceTo(1.0)
    results = plant.get_contact_results_output_port().Eval(simulator.get_context())
    assert [results.point_pair_contact_info(0).point_pair().id_A] == [A]
    assert results.num_point_pair_contacts() == 1


def test_wrong_arguments_are_refused_with_their_names() -> None:
    plant, other = MultibodyPlant(0.001), MultibodyPlant(0.001)
    body, foreign = (
        of.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, RADIUS)) for of in (plant, other)
    )
    message = r"ContactKind 'short': set_pairs must be a function of \(source, numbers_in"
    for wrong in (lambda source, numbers_in: None, 3, None):
        with pytest.raises(TypeError, match=message):
            plant.AddContact(ContactKind("short", wrong), body)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="kind of a contact must be a ContactKind"):
        plant.AddContact("plane", body)
    with pytest.raises(TypeError, match="body_A must be a RigidBody, but is a str"):
        plant.AddContact(BALL_ON_PLANE, "ball")
    with pytest.raises(RuntimeError, match="body_A"):
        plant.AddContact(BALL_ON_PLANE, foreign)
    with pytest.raises(RuntimeError, match="two distinct bodies, but both are 'ball'"):
        plant.AddContact(BALL_ON_PLANE, body, body)
    with pytest.raises(ValueError, match="must be a list of finite ones"):
        plant.AddContact(BALL_ON_PLANE, body, numbers=[np.nan])
    with pytest.raises(ValueError, match="one pair or more, not 0"):
        plant.AddContact(BALL_ON_PLANE, body, num_pairs=0)
    plant.Finalize()
    with pytest.raises(RuntimeError, match="AddContact"):
        plant.AddContact(BALL_ON_PLANE, body)
