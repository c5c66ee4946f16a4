"""Features that a plant lacks are named: once in a warning, or in an error."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import Scene, add_free_body, add_ground, contact_library, free_state, material

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.geometry import AddCompliantHydroelasticProperties, AddRigidHydroelasticProperties, SceneGraph, Sphere
from merganser.multibody.plant import ContactModel, MultibodyPlant
from merganser.multibody.tree import BallRpyJoint, PlanarJoint, SpatialInertia, UniversalJoint

LIB = contact_library("ours")
H = 1e-3


def warnings_of(run: Any) -> list[str]:
    """The warnings of a run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [str(warning.message) for warning in caught]


# ---------------------------------------------------------------------- hydroelastic contact


def two_balls(model: ContactModel, *kinds: str, time_step: float = H) -> Scene:
    """Two balls above the ground; `kinds` of the balls and of the ground: rigid, compliant or point."""

    def properties(lib: SimpleNamespace, kind: str) -> Any:
        made = material(lib)
        if kind == "rigid":
            AddRigidHydroelasticProperties(0.1, made)
        elif kind == "compliant":
            AddCompliantHydroelasticProperties(0.1, 1e6, made)
        return made

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        plant.set_contact_model(model)
        for i in range(2):
            add_free_body(lib, plant, f"ball{i}", lib.Sphere(0.1), properties(lib, kinds[i]))
        add_ground(lib, plant, properties(lib, kinds[2]))

    scene = Scene(LIB, time_step, fill)
    scene.plant.SetPositionsAndVelocities(scene.context, free_state([0.0, 0.0, 0.3], [1.0, 0.0, 0.3]))
    return scene


@pytest.mark.parametrize("time_step", [H, 0.0])
@pytest.mark.parametrize(
    ("model", "kinds", "num_surfaces"),
    [
        (ContactModel.kPoint, ("compliant", "compliant", "rigid"), 0),
        (ContactModel.kHydroelasticWithFallback, ("compliant", "point", "rigid"), 1),
        (ContactModel.kHydroelasticWithFallback, ("point", "point", "point"), 0),
        (ContactModel.kHydroelasticWithFallback, ("rigid", "rigid", "rigid"), 0),  # points in pydrake, too
        (ContactModel.kHydroelasticWithFallback, ("compliant", "point", "point"), 0),
        (ContactModel.kHydroelastic, ("compliant", "compliant", "rigid"), 2),
    ],
)
def test_surfaces_if_both_have_properties_and_one_is_compliant_else_points(
    model: ContactModel, kinds: tuple[str, ...], num_surfaces: int, time_step: float
) -> None:
    scene = two_balls(model, *kinds, time_step=time_step)
    scene.plant.SetPositionsAndVelocities(scene.context, free_state([0.0, 0.0, 0.098], [1.0, 0.0, 0.098]))
    assert not warnings_of(lambda: scene.simulator.AdvanceTo(1e-3))
    results = scene.plant.get_contact_results_output_port().Eval(scene.context)
    assert (results.num_hydroelastic_contacts(), results.num_point_pair_contacts()) == (num_surfaces, 2 - num_surfaces)


@pytest.mark.parametrize("time_step", [H, 0.0])
@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("point", "compliant", "rigid"), r"'.*ball0.*' \(no hydroelastic properties\)"),
        (("rigid", "compliant", "rigid"), r"'.*' \(rigid\) and '.*' \(rigid\)"),
    ],
)
def test_the_strict_hydroelastic_model_refuses_what_has_no_surface_by_name(
    kinds: tuple[str, ...], words: str, time_step: float
) -> None:
    scene = two_balls(ContactModel.kHydroelastic, *kinds, time_step=time_step)
    assert not warnings_of(lambda: scene.simulator.AdvanceTo(5e-3))  # in the air
    x = free_state([0.0, 0.0, 0.098], [1.0, 0.0, 0.3])
    scene.plant.SetPositionsAndVelocities(scene.context, x)
    with pytest.raises(RuntimeError, match=words) as error:
        scene.simulator.AdvanceTo(1e-2)
    assert "kHydroelasticWithFallback" in str(error.value) and "overlap at time 0.005" in str(error.value)
    np.testing.assert_array_equal(scene.plant.GetPositionsAndVelocities(scene.context), x)
    diagram = scene.simulator.get_system().ToAutoDiffXd()
    plant, root = diagram.GetSubsystemByName(scene.plant.get_name()), diagram.CreateDefaultContext()
    context = plant.GetMyContextFromRoot(root)
    plant.SetPositionsAndVelocities(context, InitializeAutoDiff(x).ravel())
    with pytest.raises(RuntimeError, match=words):
        if time_step:
            diagram.CalcForcedUnrestrictedUpdate(root, root.Clone().get_mutable_state())
        else:
            plant.EvalTimeDerivatives(context)


# ---------------------------------------------------------------------- others in the SceneGraph


class TwoPlants:
    """Two plants on one SceneGraph, each with a ball; the first has the ground."""

    def __init__(self, *heights: float) -> None:
        builder = DiagramBuilder()
        scene_graph = builder.AddSystem(SceneGraph())
        self.plants = []
        for i in range(2):
            plant = builder.AddNamedSystem(f"plant{i}", MultibodyPlant(H))
            source = plant.RegisterAsSourceForSceneGraph(scene_graph)
            plant.set_contact_model(ContactModel.kPoint)
            properties = material(LIB)
            if i == 0:
                add_ground(LIB, plant, properties)
            add_free_body(LIB, plant, f"ball{i}", Sphere(0.1), properties)
            plant.Finalize()
            builder.Connect(plant.get_geometry_pose_output_port(), scene_graph.get_source_pose_port(source))
            builder.Connect(scene_graph.get_query_output_port(), plant.get_geometry_query_input_port())
            self.plants.append(plant)
        self.simulator = Simulator(builder.Build())
        for plant, height in zip(self.plants, heights):
            context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
            body = plant.GetBodyByName(f"ball{self.plants.index(plant)}")
            plant.SetFreeBodyPose(context, body, RigidTransform([0.0, 0.0, height]))

    def height(self, i: int) -> float:
        plant = self.plants[i]
        context = plant.GetMyContextFromRoot(self.simulator.get_context())
        return float(plant.GetPositions(context)[-1])


def test_a_body_of_another_plant_is_not_taken_for_the_world() -> None:
    scene = TwoPlants(0.1, 0.31)
    with pytest.raises(RuntimeError, match=r"'ball0'.*touches geometry '.*ball1'.*belongs to the source '.*plant1'"):
        scene.simulator.AdvanceTo(0.2)


def test_plants_that_do_not_touch_share_a_scene_graph_and_the_ground_in_it() -> None:
    scene = TwoPlants(0.12, 0.5)
    scene.plants[1].SetFreeBodyPose(
        scene.plants[1].GetMyMutableContextFromRoot(scene.simulator.get_mutable_context()),
        scene.plants[1].GetBodyByName("ball1"),
        RigidTransform([1.0, 0.0, 0.12]),
    )
    scene.simulator.AdvanceTo(1.0)
    assert scene.height(0) == pytest.approx(0.1, abs=2e-3)
    assert scene.height(1) == pytest.approx(0.1, abs=2e-3)


# ---------------------------------------------------------------------- limits of joints with several velocities


@pytest.mark.parametrize("approximation", ["kTamsi", "kSap", "kSimilar", "kLagged", "continuous"])
@pytest.mark.parametrize("kind", ["planar", "universal"])
def test_limits_of_joints_whose_rates_are_velocities_are_kept(kind: str, approximation: str) -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        body = plant.AddRigidBody("body", lib.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3))
        make = PlanarJoint if kind == "planar" else UniversalJoint
        joint = plant.AddJoint(make("joint", plant.world_frame(), body.body_frame()))
        n = joint.num_positions()
        joint.set_position_limits([-0.1] * n, [math.inf, *[0.2] * (n - 1)])
        plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))

    if approximation == "continuous":
        scene = Scene(LIB, 0.0, fill)
    else:
        scene = Scene(LIB, H, fill, approximation)
    n = scene.plant.num_positions()
    scene.plant.SetPositionsAndVelocities(scene.context, [0.0] * n + [-1.0, *[1.0] * (n - 1)])
    highest = lowest = 0.0
    for k in range(100):
        scene.simulator.AdvanceTo((k + 1) * 5e-3)
        q = scene.plant.GetPositions(scene.context)
        highest, lowest = max(highest, q[1:].max()), min(lowest, q[0])
    assert -0.12 < lowest < -0.09
    assert 0.19 < highest < 0.22


def test_finalize_warns_of_limits_of_roll_pitch_and_yaw() -> None:
    plant = MultibodyPlant(H)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    joint = plant.AddJoint(BallRpyJoint("shoulder", plant.world_frame(), body.body_frame()))
    joint.set_position_limits([-1.0] * 3, [1.0] * 3)
    (message,) = warnings_of(plant.Finalize)
    assert "does not keep the position limits of joints 'shoulder'" in message
    assert not warnings_of(plant.ToAutoDiffXd)


# ---------------------------------------------------------------------- symbols


def symbolic_scene() -> tuple[Any, Any, Any]:
    """A diagram, plant and Context of expressions: a ball above the ground and an arm, with a constraint."""
    pytest.importorskip("sympy", reason="needs the extra `symbolic`")

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        body = add_free_body(lib, plant, "ball", lib.Sphere(0.1), material(lib))
        add_ground(lib, plant, material(lib))
        arm = plant.AddRigidBody("arm", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.AddJoint(lib.RevoluteJoint("elbow", plant.world_frame(), arm.body_frame(), [0, 1, 0], -1.0, 1.0))
        plant.AddBallConstraint(body, [0.0, 0.0, 0.1], arm, [0.0, 0.0, 0.0])

    diagram = Scene(LIB, H, fill).simulator.get_system().ToSymbolic()
    return diagram, diagram.GetSubsystemByName("plant"), diagram.CreateDefaultContext()


def free_the_ball(plant: Any, context: Any, height: float) -> Any:
    mine = plant.GetMyMutableContextFromRoot(context)
    for id in plant.GetConstraintIds():
        plant.SetConstraintActiveStatus(mine, id, False)
    z = plant.GetJointByName("ball").position_start() + 6
    q = plant.GetPositions(mine)
    q[z] = q[z] * 0.0 + height
    plant.SetPositions(mine, q)
    return mine


def test_a_symbolic_step_refuses_constraints() -> None:
    diagram, _, context = symbolic_scene()
    with pytest.raises(RuntimeError, match=r"the constraints .ball constraint of bodies 'ball' and 'arm'. and contact"):
        diagram.ExecuteForcedEvents(context)


def test_a_symbolic_step_refuses_contact_and_limits_that_act() -> None:
    diagram, plant, context = symbolic_scene()
    free_the_ball(plant, context, 0.09)
    with pytest.raises(RuntimeError, match=r"contact of geometries .* would act"):
        diagram.ExecuteForcedEvents(context)
    mine = free_the_ball(plant, context, 1.0)
    plant.GetJointByName("elbow").set_angle(mine, 1.2)
    with pytest.raises(RuntimeError, match="limits of joints 'elbow' would act"):
        diagram.ExecuteForcedEvents(context)


def test_a_symbolic_step_is_free_motion_where_nothing_acts() -> None:
    diagram, plant, context = symbolic_scene()
    mine = free_the_ball(plant, context, 1.0)

    def step() -> None:
        diagram.ExecuteForcedEvents(context)

    assert not warnings_of(step)
    fall = plant.GetVelocities(mine)[plant.GetJointByName("ball").velocity_start() + 5]
    assert float(fall.Evaluate()) == pytest.approx(-9.81 * H)


def test_symbolic_dynamics_of_variables_say_once_what_they_leave_out() -> None:
    diagram, plant, context = symbolic_scene()
    mine = free_the_ball(plant, context, 1.0)
    symbolic = pytest.importorskip("merganser.framework.symbolic")
    plant.GetJointByName("elbow").set_angle(mine, symbolic.Expression(symbolic.Variable("q")))

    def step_twice() -> None:
        for _ in range(2):
            diagram.ExecuteForcedEvents(context)

    (message,) = warnings_of(step_twice)
    assert "in symbolic expressions leave out contact of 2 collision geometries" in message
    assert "the limits of joints 'elbow'" in message
