"""The contact in which a step was too long: an attempt that was refused, made once more in a copy of the Context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.autodiff import ExtractValue
from merganser.multibody.cenic.moved_plants import MovedPlant
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import JacobianWrtVariable, Joint, RigidBody

Array = NDArray[Any]
Contact = tuple[RigidBody, RigidBody, Array, Array]  # A, B, p_WC [m], f_Bc_W [N]


def describe_contact(moved: MovedPlant, context: Context, h: float, place: int) -> str:
    """Says which contact acts most on a coordinate in a step.

    Args:
        moved: the plant, in `context`.
        context: of the whole, at the start of the step; it is changed.
        h: length of the step [s].
        place: of the coordinate, in the continuous state of the whole.
    """
    plant = moved.plant
    joint = _joint_of(plant, place - moved.state.start)
    plant_context = plant.GetMyContextFromRoot(context)
    velocities = slice(joint.velocity_start(), joint.velocity_start() + joint.num_velocities())
    most, found = 0.0, f"no contact acted on joint '{joint.name()}'"
    for A, B, p_WC, f_Bc_W in _contacts_after(moved, context, plant_context, h):
        push = float(np.abs(_generalized_force(plant, plant_context, A, B, p_WC, f_Bc_W)[velocities]).max())
        if push > most:
            force, most = float(np.linalg.norm(f_Bc_W)), push
            found = f"most was done by the contact of '{A.scoped_name()}' with '{B.scoped_name()}', {force:.3g} N"
    return found


def _joint_of(plant: MultibodyPlant, k: int) -> Joint:
    """The joint of a number of the plant's state."""
    rate = k - plant.num_positions()
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if rate < 0 and 0 <= k - joint.position_start() < joint.num_positions():
            return joint
        if 0 <= rate - joint.velocity_start() < joint.num_velocities():
            return joint
    raise AssertionError(f"no joint has number {k} of the state")


def _contacts_after(moved: MovedPlant, context: Context, plant_context: Context, h: float) -> Iterator[Contact]:
    """The contacts of a step, at points and on surfaces; leaves the Context at its end."""
    plant, steps, x = moved.plant, moved.steps, context.get_continuous_state_vector().CopyToVector()
    steps.arguments[0] = h
    steps.step_slot.compute()
    x[moved.state] += h * steps.step_slot.value.CopyToVector()
    steps.end = x[moved.state].copy()
    context.SetContinuousState(x)
    results = plant.get_contact_results_output_port().Eval(plant_context)
    for i in range(results.num_point_pair_contacts()):
        at = results.point_pair_contact_info(i)
        A, B = plant.get_body(at.bodyA_index()), plant.get_body(at.bodyB_index())
        yield A, B, _values(at.contact_point()), _values(at.contact_force())
    for i in range(results.num_hydroelastic_contacts()):
        on = results.hydroelastic_contact_info(i)
        surface, inspector = on.contact_surface(), plant.get_geometry_query_input_port().Eval(plant_context).inspector()
        frames = (inspector.GetFrameId(id) for id in (surface.id_M(), surface.id_N()))
        A, B = (plant.GetBodyFromFrameId(id) or plant.world_body() for id in frames)
        yield A, B, _values(surface.centroid()), _values(-on.F_Ac_W().translational())


def _values(vector: Array) -> Array:
    """A vector without derivatives, shape [3]."""
    values: Array = ExtractValue(vector).ravel()
    return values


def _generalized_force(
    plant: MultibodyPlant, plant_context: Context, A: RigidBody, B: RigidBody, p_WC: Array, f_Bc_W: Array
) -> Array:
    """tau = (J_v_WBc - J_v_WAc)^T f_Bc, shape [num_velocities]."""
    world = plant.world_frame()
    tau = np.zeros(plant.num_velocities())
    for body, sign in ((B, 1.0), (A, -1.0)):
        p_BoBc = plant.CalcPointsPositions(plant_context, world, p_WC, body.body_frame())
        J = plant.CalcJacobianTranslationalVelocity(
            plant_context, JacobianWrtVariable.kV, body.body_frame(), p_BoBc, world, world
        )
        tau += sign * ExtractValue(J).T @ f_Bc_W
    return tau
