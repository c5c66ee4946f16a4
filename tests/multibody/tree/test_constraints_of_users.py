"""Constraints that are defined here, as a user would: they take part in all that a plant computes."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.primitives import LogVectorOutput
from merganser.framework.symbolic import Expression, Variable
from merganser.multibody.kernels.constraints import ConstraintKind, constraint_kind_of
from merganser.multibody.kernels.constraints.ends import (
    acceleration_of,
    arm_of,
    axis_of,
    point_of,
    set_force,
    velocity_of,
)
from merganser.multibody.kernels.spatial import add, cross, dot, rotational, subtract, vector
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, PrismaticJoint, RevoluteJoint, SpatialInertia

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

# -- a cam: the follower is at q_0 = e sin(q_1) ------------------------------------------------------------------


def set_cam(row, q_in, pose_A, pose_B, value_out):
    e, angle = row["constants"][0], q_in[row["q_1"]]
    value_out["error"] = q_in[row["q_0"]] - e * np.sin(angle)
    value_out["slopes"][0], value_out["slopes"][1] = 1.0, -e * np.cos(angle)


def add_cam_bias(row, q_in, v_in, pose_A, pose_B, V_WA_W, V_WB_W, A_WA_W, A_WB_W, value_io):
    rate = v_in[row["v_1"]]
    value_io["bias"] += row["constants"][0] * np.sin(q_in[row["q_1"]]) * rate * rate


CAM = ConstraintKind("cam", set_cam, add_cam_bias, acts_on_coordinates=True)

# -- a slot: Q stays on the x axis of P; two rows, along Py and Pz ---------------------------------------------------


def set_slot(row, q_in, pose_A, pose_B, value_out):
    u = axis_of(pose_A, row["X_AP"], 1 + row["index"])
    p_WP, p_WQ = point_of(pose_A, row["X_AP"]), point_of(pose_B, row["X_BQ"])
    value_out["error"] = dot(u, subtract(p_WQ, p_WP))
    set_force(value_out, (0.0, 0.0, 0.0), u, p_WQ, p_WQ)


def add_slot_bias(row, q_in, v_in, pose_A, pose_B, V_WA_W, V_WB_W, A_WA_W, A_WB_W, value_io):
    u, w = axis_of(pose_A, row["X_AP"], 1 + row["index"]), rotational(V_WA_W)
    P, Q = arm_of(pose_A, row["X_AP"]), arm_of(pose_B, row["X_BQ"])
    p_PQ = subtract(add(vector(pose_B["p_WoBo_W"]), Q), add(vector(pose_A["p_WoBo_W"]), P))
    v_PQ = subtract(velocity_of(V_WB_W, Q), velocity_of(V_WA_W, P))
    a_PQ = subtract(acceleration_of(A_WB_W, V_WB_W, Q), acceleration_of(A_WA_W, V_WA_W, P))
    udot = cross(w, u)
    uddot = add(cross(rotational(A_WA_W), u), cross(w, udot))
    value_io["bias"] += dot(u, a_PQ) + 2.0 * dot(udot, v_PQ) + dot(uddot, p_PQ)


SLOT = ConstraintKind("slot", set_slot, add_slot_bias)

# -- dry friction of a joint: g = 0, with bounds of what it exerts ---------------------------------------------------


def set_friction(row, q_in, pose_A, pose_B, value_out):
    value_out["error"] = 0.0 * q_in[row["q_0"]]
    value_out["slopes"][0] = 1.0


FRICTION = ConstraintKind("dry friction", set_friction, acts_on_coordinates=True)

# --------------------------------------------------------------------------------------------------------------------

EXACT = 1e-10
G = 9.81
MASS, INERTIA, ECCENTRICITY = 0.7, 0.05, 0.3


def shaft_and_follower(plant: MultibodyPlant) -> tuple[PrismaticJoint, RevoluteJoint]:
    """A follower that rises along z, and a shaft along y."""
    follower = plant.AddRigidBody("follower", SpatialInertia.SolidCubeWithMass(MASS, 0.1))
    moments = SpatialInertia.MakeFromCentralInertia(1.0, [0, 0, 0], _inertia_about_y())
    shaft = plant.AddRigidBody("shaft", moments)
    rise = plant.AddJoint(PrismaticJoint("rise", plant.world_frame(), follower.body_frame(), [0, 0, 1]))
    return rise, plant.AddJoint(RevoluteJoint("turn", plant.world_frame(), shaft.body_frame(), [0, 1, 0]))


def _inertia_about_y() -> Any:
    from merganser.multibody.tree import RotationalInertia

    return RotationalInertia(INERTIA, INERTIA, INERTIA)


def cam(time_step: float) -> tuple[MultibodyPlant, Any]:
    plant = MultibodyPlant(time_step)
    plant.AddConstraint(CAM, *shaft_and_follower(plant), constants=[ECCENTRICITY])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [ECCENTRICITY * math.sin(0.5), 0.5])
    plant.SetVelocities(context, [ECCENTRICITY * math.cos(0.5) * 3.0, 3.0])
    return plant, context


def slotted_arm(time_step: float) -> tuple[MultibodyPlant, Any]:
    """The same mechanism: a pin on the shaft, at e along its x, in a slot of the follower along x."""
    plant = MultibodyPlant(time_step)
    rise, turn = shaft_and_follower(plant)
    pin = plant.AddFrame(
        FixedOffsetFrame("pin", turn.child_body().body_frame(), RigidTransform(np.array([-ECCENTRICITY, 0.0, 0.0])))
    )
    plant.AddConstraint(SLOT, rise.child_body().body_frame(), pin, num_rows=2)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [ECCENTRICITY * math.sin(0.5), 0.5])
    plant.SetVelocities(context, [ECCENTRICITY * math.cos(0.5) * 3.0, 3.0])
    return plant, context


def turning(angle: float, rate: float) -> float:
    """The angular acceleration: (I + m e^2 cos^2) a = m e^2 sin cos rate^2 - m g e cos."""
    e, sine, cosine = ECCENTRICITY, math.sin(angle), math.cos(angle)
    inertia = INERTIA + MASS * (e * cosine) ** 2
    return MASS * e * cosine * (e * sine * rate**2 - G) / inertia


def vdot_of(plant: MultibodyPlant, context: Any) -> np.ndarray:
    return plant.EvalTimeDerivatives(context).CopyToVector()[plant.num_positions() :]


@pytest.mark.parametrize("make", [cam, slotted_arm])
def test_accelerations_are_those_of_the_equation_of_one_degree_of_freedom(make: Any) -> None:
    plant, context = make(0.0)
    expected = turning(0.5, 3.0)
    rise = ECCENTRICITY * (math.cos(0.5) * expected - math.sin(0.5) * 9.0)
    np.testing.assert_allclose(vdot_of(plant, context), [rise, expected], rtol=EXACT)


@pytest.mark.parametrize("make", [cam, slotted_arm])
def test_energy_is_kept_in_continuous_time(make: Any) -> None:
    plant, context = make(0.0)
    simulator = Simulator(plant, context)
    simulator.get_mutable_integrator().set_target_accuracy(1e-8)
    energy = [plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)]
    simulator.AdvanceTo(1.0)
    energy.append(plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context))
    assert abs(energy[1] - energy[0]) < 1e-5 * abs(energy[0])
    q = plant.GetPositions(context)
    assert abs(q[0] - ECCENTRICITY * math.sin(q[1])) < 1e-6


@pytest.mark.parametrize("make", [cam, slotted_arm])
def test_steps_go_to_the_continuous_motion_in_proportion_to_the_time_step(make: Any) -> None:
    ends = {}
    for h in (0.0, 1e-3, 5e-4):
        plant, context = make(h)
        simulator = Simulator(plant, context)
        if h == 0.0:
            simulator.get_mutable_integrator().set_target_accuracy(1e-8)
        simulator.AdvanceTo(0.3)
        ends[h] = plant.GetPositions(context)[1]
    errors = abs(ends[1e-3] - ends[0.0]), abs(ends[5e-4] - ends[0.0])
    assert errors[1] < 2e-2 and 1.5 < errors[0] / errors[1] < 2.7


def test_the_compiled_plan_takes_the_same_steps_as_python() -> None:
    logs, counts = [], []
    for is_native in (True, False):
        builder = DiagramBuilder()
        plant, given = slotted_arm(1e-3)
        x = plant.GetPositionsAndVelocities(given)
        builder.AddSystem(plant)
        sinks = [LogVectorOutput(port, builder, publish_period=0.01) for port in (
            plant.get_state_output_port(), plant.get_generalized_acceleration_output_port()
        )]  # fmt: skip
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(is_native, at_once=True)
        root = simulator.get_mutable_context()
        plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(root), x)
        simulator.AdvanceTo(0.2)
        logs.append([sink.FindLog(root).data().copy() for sink in sinks])
        counts.append(plant._dynamics.native.num_calls)
    for mine, other in zip(*logs):
        np.testing.assert_array_equal(mine, other)
    assert counts[0] < counts[1] == 200


@pytest.mark.parametrize("time_step", [0.0, 1e-3])
@pytest.mark.parametrize("make", [cam, slotted_arm])
def test_derivatives_are_those_of_differences(make: Any, time_step: float) -> None:
    plant, context = make(time_step)
    x = plant.GetPositionsAndVelocities(context)
    converted = plant.ToAutoDiffXd()
    with_derivatives = converted.CreateDefaultContext()
    converted.SetPositionsAndVelocities(with_derivatives, InitializeAutoDiff(x).ravel())

    def result(plant: Any, context: Any) -> Any:
        if time_step == 0.0:
            return plant.EvalTimeDerivatives(context).CopyToVector()
        after = context.Clone()
        plant.ExecuteForcedEvents(after)
        return plant.GetPositionsAndVelocities(after)

    found = result(converted, with_derivatives)
    np.testing.assert_allclose(ExtractValue(found).ravel(), result(plant, context), rtol=1e-9)
    step, columns = 1e-6, []
    for k in range(len(x)):
        values = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[k] += sign * step
            plant.SetPositionsAndVelocities(context, moved)
            values.append(result(plant, context))
        columns.append((values[0] - values[1]) / (2.0 * step))
    scale = np.abs(columns).max()
    np.testing.assert_allclose(ExtractGradient(found), np.array(columns).T, atol=1e-6 * scale)


def test_symbols_know_the_constraint_in_continuous_time() -> None:
    plant, context = cam(0.0)
    symbolic = plant.ToSymbolic()
    of_symbols = symbolic.CreateDefaultContext()
    rate = Variable("rate")
    symbolic.SetPositions(of_symbols, [Expression(ECCENTRICITY * math.sin(0.5)), Expression(0.5)])
    symbolic.SetVelocities(of_symbols, [ECCENTRICITY * math.cos(0.5) * Expression(rate), Expression(rate)])
    vdot = symbolic.EvalTimeDerivatives(of_symbols).CopyToVector()[2:]
    values = [expression.Evaluate({rate: 3.0}) for expression in vdot]
    np.testing.assert_allclose(values, vdot_of(plant, context), rtol=1e-9)


def test_reaction_forces_carry_what_the_slot_exerts() -> None:
    """The sum of forces on the follower is its mass times its acceleration; its joint carries none along z."""
    plant, context = slotted_arm(0.0)
    vdot = vdot_of(plant, context)
    forces = plant.get_reaction_forces_output_port().Eval(context)
    assert abs(forces[0].translational()[2]) < 1e-9  # the follower's joint is free along z
    pull = MASS * (vdot[0] + G)  # so all comes from the slot, and goes into the shaft
    f_W = RotationMatrix.MakeYRotation(0.5) @ forces[1].translational()
    np.testing.assert_allclose(f_W, [0.0, 0.0, 1.0 * G + pull], atol=1e-9)


def test_dry_friction_stops_a_slider_at_the_time_that_it_takes() -> None:
    plant = MultibodyPlant(1e-3)
    body = plant.AddRigidBody("block", SpatialInertia.SolidCubeWithMass(2.0, 0.1))
    joint = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), [1, 0, 0]))
    plant.AddConstraint(FRICTION, joint, lower=-3.0, upper=3.0)
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetVelocities(context, [1.5])
    simulator.AdvanceTo(0.5)
    np.testing.assert_allclose(plant.GetVelocities(context), [1.5 - 1.5 * 0.5], atol=1e-9)  # v - mu / m t
    simulator.AdvanceTo(2.0)
    assert abs(plant.GetVelocities(context)[0]) < 1e-9
    np.testing.assert_allclose(plant.GetPositions(context), [0.5 * 1.5 * 1.0], atol=2e-3)  # to the time step


def test_it_can_be_switched_off_in_a_context_and_is_copied_with_the_plant() -> None:
    plant, context = cam(0.0)
    (id,) = plant.GetConstraintIds()
    plant.SetConstraintActiveStatus(context, id, False)
    np.testing.assert_allclose(vdot_of(plant, context), [-G, 0.0], atol=EXACT)
    other = copy.deepcopy(plant)
    mine = other.CreateDefaultContext()
    other.SetPositionsAndVelocities(mine, plant.GetPositionsAndVelocities(context))
    np.testing.assert_allclose(vdot_of(other, mine)[1], turning(0.5, 3.0), rtol=EXACT)


def test_the_first_step_of_a_fresh_process_may_have_one(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}\n"
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('mine', {__file__!r})\n"
        "mine = importlib.util.module_from_spec(spec); sys.modules['mine'] = mine; spec.loader.exec_module(mine)\n"
        "plant, context = mine.slotted_arm(1e-3)\n"
        "from merganser.analysis import Simulator\n"
        "Simulator(plant, context).AdvanceTo(0.05)\n"
        "print(plant.GetPositions(context)[1])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    plant, context = slotted_arm(1e-3)
    Simulator(plant, context).AdvanceTo(0.05)
    assert float(done.stdout) == plant.GetPositions(context)[1], done.stderr


BAD = {
    "must be a ConstraintKind, not a str": lambda plant, joint: plant.AddConstraint("cam", joint),
    "first must be a Joint, but is a RigidBodyFrame": lambda p, j: p.AddConstraint(CAM, p.world_frame()),
    "first must be a Frame, but is a PrismaticJoint": lambda p, j: p.AddConstraint(SLOT, j),
    "both frames are on body 'world'": lambda p, j: p.AddConstraint(SLOT, p.world_frame()),
    "9 constants and 1 rows": lambda p, j: p.AddConstraint(CAM, j, constants=[1.0] * 9),
    "0 constants and 7 rows": lambda p, j: p.AddConstraint(SLOT, j.frame_on_child(), num_rows=7),
    "lower < upper": lambda p, j: p.AddConstraint(FRICTION, j, lower=1.0, upper=-1.0),
    r"constants\[0\] must be finite": lambda p, j: p.AddConstraint(CAM, j, constants=[math.nan]),
    "only discrete plants keep": lambda p, j: p.AddConstraint(FRICTION, j, lower=-1.0, upper=1.0),
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_refused_and_in_which_words(words: str) -> None:
    plant = MultibodyPlant(0.0)
    joint, _ = shaft_and_follower(plant)
    with pytest.raises((TypeError, ValueError, RuntimeError), match=words):
        BAD[words](plant, joint)
    assert plant.num_constraints() == 0


def test_a_number_without_a_kind_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no kind of constraint with number 12345"):
        constraint_kind_of(12345)
