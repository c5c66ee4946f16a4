"""Building a plant: what Finalize() makes of it, and what it refuses."""

import numpy as np
import pytest
from plants import arm_and_box, box_inertia, no_actuation

from merganser.framework import DiagramBuilder
from merganser.framework.common.errors import DrakeDeprecationWarning
from merganser.framework.math import RigidTransform
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import PrismaticJoint, RevoluteJoint, SpatialInertia


@pytest.mark.parametrize("time_step", [-1e-3, np.nan, np.inf])
def test_time_step_must_be_finite_and_not_negative(time_step):
    with pytest.raises(ValueError, match="time step"):
        MultibodyPlant(time_step)


def test_time_step_chooses_between_continuous_and_discrete_state():
    continuous, discrete = arm_and_box(0.0), arm_and_box(1e-3)
    assert (continuous.time_step(), continuous.is_discrete()) == (0.0, False)
    assert (discrete.time_step(), discrete.is_discrete()) == (1e-3, True)
    num_x = continuous.num_multibody_states()
    context = continuous.CreateDefaultContext()
    assert (context.num_continuous_states(), context.num_discrete_state_groups()) == (num_x, 0)
    state = context.get_continuous_state()
    assert (state.num_q(), state.num_v(), state.num_z()) == (9, 8, 0)
    context = discrete.CreateDefaultContext()
    assert context.num_continuous_states() == 0
    assert context.get_discrete_state_vector().size() == num_x


def test_finalize_twice_is_refused():
    plant = arm_and_box(0.0)
    with pytest.raises(RuntimeError, match=r"Finalize\(\): .*finalized already"):
        plant.Finalize()
    assert plant.num_output_ports() == len({p.get_name() for p in plant._sys_output_ports})


def test_nothing_can_be_added_after_finalize():
    plant = arm_and_box(0.0)
    box = plant.GetBodyByName("box")
    joint = RevoluteJoint("late", plant.world_frame(), box.body_frame(), [0, 0, 1])
    before = (plant.num_bodies(), plant.num_joints(), plant.num_actuators(), plant.num_model_instances())
    for add in (
        lambda: plant.AddRigidBody("late", plant.GetModelInstanceByName("arm"), box_inertia()),
        lambda: plant.AddJoint(joint),
        lambda: plant.WeldFrames(plant.world_frame(), box.body_frame()),
        lambda: plant.AddJointActuator("late", plant.GetJointByName("shoulder")),
        lambda: plant.AddModelInstance("late"),
        lambda: plant.RenameModelInstance(plant.GetModelInstanceByName("arm"), "late"),
    ):
        with pytest.raises(RuntimeError, match="finalized already"):
            add()
    assert before == (
        plant.num_bodies(), plant.num_joints(), plant.num_actuators(), plant.num_model_instances()
    )  # fmt: skip


def test_what_needs_a_finalized_plant_says_so():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("box", box_inertia())
    for use in (
        plant.CreateDefaultContext,
        plant.num_positions,
        plant.get_actuation_input_port,
        plant.get_applied_spatial_force_input_port,
        plant.get_state_output_port,
        plant.get_body_poses_output_port,
        plant.GetPositionNames,
        plant.GetActuatorNames,
        plant.GetEffortUpperLimits,
        plant.MakeActuationMatrix,
        plant.IsVelocityEqualToQDot,
        lambda: plant.SetDefaultPositions([1, 0, 0, 0, 0, 0, 0]),
        lambda: plant.SetFreeBodyPose(None, body, body.default_spatial_inertia()),
    ):
        with pytest.raises((RuntimeError, TypeError), match=r"Finalize\(\)|RigidTransform"):
            use()
    assert plant.get_geometry_pose_output_port().get_name() == "geometry_pose"


def test_diagram_with_a_plant_that_is_not_finalized_names_it():
    builder = DiagramBuilder()
    builder.AddNamedSystem("robot", MultibodyPlant(0.0))
    diagram = builder.Build()
    with pytest.raises(RuntimeError, match=r"Plant '::Diagram::robot': .* Finalize\(\)"):
        diagram.CreateDefaultContext()


def test_free_body_without_mass_has_kinematics_but_no_dynamics():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("ghost", SpatialInertia.Zero())
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetFreeBodyPose(context, body, RigidTransform([1.0, 2.0, 3.0]))
    assert plant.EvalBodyPoseInWorld(context, body).translation().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match=r"singular.*body 'ghost'.*joint 'ghost' \(quaternion_floating\)"):
        plant.EvalTimeDerivatives(context)


def test_loop_of_joints_is_refused():
    plant = MultibodyPlant(0.0)
    a, b = (plant.AddRigidBody(name, box_inertia()) for name in "ab")
    for name, parent, child in (("j", plant.world_body(), a), ("k", a, b), ("l", b, plant.world_body())):
        plant.AddJoint(RevoluteJoint(name, parent.body_frame(), child.body_frame(), [0, 0, 1]))
    with pytest.raises(RuntimeError, match="loop"):
        plant.Finalize()
    assert not plant.is_finalized()


def plant_with_massless_link(time_step, rotor_inertia=0.0):
    """The link "light" on joint "slide" has neither mass nor inertia."""
    plant = MultibodyPlant(time_step)
    base = plant.AddRigidBody("base", box_inertia())
    light = plant.AddRigidBody("light", SpatialInertia.Zero())
    plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), base.body_frame(), [0, 1, 0]))
    slide = plant.AddJoint(PrismaticJoint("slide", base.body_frame(), light.body_frame(), [1, 0, 0]))
    plant.AddJointActuator("motor", slide).set_default_rotor_inertia(rotor_inertia)
    plant.Finalize()
    return plant


@pytest.mark.parametrize("time_step", [0.0, 1e-2])
def test_singular_mass_matrix_names_body_and_joint(time_step):
    def advance(plant):
        context = plant.CreateDefaultContext()
        no_actuation(plant, context)
        if time_step > 0.0:
            plant.ExecuteForcedEvents(context)
        else:
            plant.EvalTimeDerivatives(context)

    plant = plant_with_massless_link(time_step)
    plant.set_name("robot")
    with pytest.raises(RuntimeError, match=r"'::robot' is singular.*'light'.*'slide' \(prismatic\).*rotor"):
        advance(plant)
    advance(plant_with_massless_link(time_step, rotor_inertia=0.1))


@pytest.mark.parametrize("time_step", [0.0, 1e-2])
def test_plant_without_moving_parts_works(time_step):
    plant = MultibodyPlant(time_step)
    body = plant.AddRigidBody("base", box_inertia())
    plant.WeldFrames(plant.world_frame(), body.body_frame())
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.ExecuteForcedEvents(context)
    assert plant.EvalTimeDerivatives(context).size() == 0
    assert plant.CalcMassMatrix(context).shape == (0, 0)
    assert plant.CalcKineticEnergy(context) == 0.0
    assert plant.EvalBodyPoseInWorld(context, body).IsExactlyIdentity()


def test_names_of_coordinates():
    plant = arm_and_box(0.0)
    arm = plant.GetModelInstanceByName("arm")
    assert plant.GetPositionNames(arm) == ["shoulder_q", "slide_x"]
    assert plant.GetPositionNames(False)[2] == "box_qw"
    assert plant.GetPositionNames(arm, True, False) == ["arm_shoulder", "arm_slide"]
    assert plant.GetPositionNames(model_instance=arm, always_add_suffix=False) == ["shoulder", "slide"]
    assert plant.GetStateNames(arm) == ["shoulder_q", "slide_x", "shoulder_w", "slide_v"]
    assert plant.GetStateNames()[0] == "arm_shoulder_q"
    assert plant.GetActuatorNames() == ["arm_motor", "arm_piston"]
    assert plant.GetActuatorNames(add_model_instance_prefix=False) == ["motor", "piston"]


def test_wrong_arguments_for_names_are_refused():
    plant = arm_and_box(0.0)
    for call in (
        lambda: plant.GetStateNames(2, True, True),
        lambda: plant.GetActuatorNames(always_add_suffix=True),
        lambda: plant.GetPositionNames(2, model_instance=2),
        lambda: plant.GetPositionNames(add_prefix=True),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(RuntimeError, match="no model instance with index 17"):
        plant.GetPositionNames(17)


def test_older_names_work_and_warn_with_the_newer_ones():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", box_inertia())
    at = RigidTransform([1.0, 2.0, 3.0])
    with pytest.warns(DrakeDeprecationWarning, match=r"MultibodyPlant.SetDefaultFreeBodyPose\(\) is deprecated"):
        plant.SetDefaultFreeBodyPose(body=body, X_PB=at)
    with pytest.warns(DrakeDeprecationWarning, match=r"Use GetDefaultFloatingBaseBodyPose\(\)"):
        assert plant.GetDefaultFreeBodyPose(body).IsExactlyEqualTo(at)
    plant.Finalize()
    instance = body.model_instance()
    with pytest.warns(DrakeDeprecationWarning, match=r"Use HasUniqueFloatingBaseBody\(\)"):
        assert plant.HasUniqueFreeBaseBody(instance)
    with pytest.warns(DrakeDeprecationWarning, match=r"Use GetUniqueFloatingBaseBodyOrThrow\(\)"):
        assert plant.GetUniqueFreeBaseBodyOrThrow(instance) is body
    with pytest.warns(DrakeDeprecationWarning, match=r"Use is_floating_base_body\(\)"):
        assert body.is_floating()
