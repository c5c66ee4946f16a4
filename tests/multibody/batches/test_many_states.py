"""Dynamics at many states have the bits of the plant's own functions, whatever is beside a state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.batches import BatchCalcInverseDynamics, BatchCalcMassMatrix, BatchCalcPoses
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    JointActuatorIndex,
    MultibodyForces,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    SpatialInertia,
    UniversalJoint,
)

NUM = 11  # no multiple of a number of lanes

Array = np.ndarray


def make_plant() -> MultibodyPlant:
    """A body that floats, with a chain of joints of all sorts on it."""
    plant = MultibodyPlant(0.0)

    def add(name: str, mass: float) -> Any:
        return plant.AddRigidBody(name, SpatialInertia.SolidBoxWithMass(mass, 0.3, 0.2, 0.1))

    parent = add("base", 3.0)
    for n, kind in enumerate([RevoluteJoint, PrismaticJoint, UniversalJoint, BallRpyJoint, PlanarJoint, RevoluteJoint]):
        body, place = add(f"body{n}", 1.0 + n), RigidTransform(RollPitchYaw(0.1 * n, 0.2, 0.3), [0.1, 0.2, 0.05 * n])
        frame = plant.AddFrame(FixedOffsetFrame(f"frame{n}", parent.body_frame(), place))
        axis = ([0.0, 0.6, 0.8],) if kind in (RevoluteJoint, PrismaticJoint) else ()
        joint = plant.AddJoint(kind(f"joint{n}", frame, body.body_frame(), *axis))
        if kind is RevoluteJoint:
            plant.AddJointActuator(f"motor{n}", joint)
        parent = body
    for n in range(plant.num_actuators()):
        actuator = plant.get_joint_actuator(JointActuatorIndex(n))
        actuator.set_default_rotor_inertia(0.01)
        actuator.set_default_gear_ratio(10.0)
    plant.Finalize()
    return plant


def states_of(plant: MultibodyPlant) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(3)
    q = random.uniform(-0.7, 0.7, (plant.num_positions(), NUM))
    q[:4] /= np.linalg.norm(q[:4], axis=0)
    v, vdot = random.normal(size=(2, plant.num_velocities(), NUM))
    return q, v, vdot


@pytest.mark.parametrize("threads", [1, 3])
def test_columns_have_the_bits_of_single_states(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merganser.multibody.batches.many_states._WORTH_A_THREAD", 1)
    plant = make_plant()
    context, forces = plant.CreateDefaultContext(), MultibodyForces(plant)
    q, v, vdot = states_of(plant)
    bodies = [plant.GetBodyByName(name) for name in ("body5", "base", "body2")]
    before = plant.GetPositionsAndVelocities(context)
    tau = BatchCalcInverseDynamics(plant, context, q, v, vdot, threads)
    M = BatchCalcMassMatrix(plant, context, q, threads)
    X = BatchCalcPoses(plant, context, q, bodies, threads)
    assert (plant.GetPositionsAndVelocities(context) == before).all()
    monkeypatch.setattr("merganser.multibody.batches.many_states.num_lanes", lambda: 1)
    np.testing.assert_array_equal(BatchCalcInverseDynamics(plant, context, q, v, vdot), tau)  # one after the other
    for n in range(NUM):
        plant.SetPositions(context, q[:, n])
        plant.SetVelocities(context, v[:, n])
        expected = plant.CalcInverseDynamics(context, vdot[:, n], forces) - plant.CalcGravityGeneralizedForces(context)
        np.testing.assert_allclose(tau[:, n], expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
        np.testing.assert_array_equal(M[n], plant.CalcMassMatrix(context))
        for body, X_WB in zip(bodies, X[n]):
            np.testing.assert_array_equal(X_WB, plant.EvalBodyPoseInWorld(context, body).GetAsMatrix34())


def test_a_state_that_is_no_number_leaves_those_beside_it_as_they_are() -> None:
    plant = make_plant()
    context, (q, v, vdot) = plant.CreateDefaultContext(), states_of(plant)
    expected = BatchCalcInverseDynamics(plant, context, q, v, vdot)
    for wrong in (np.nan, np.inf):
        spoiled = q.copy()
        spoiled[8, 4] = wrong
        found = BatchCalcInverseDynamics(plant, context, spoiled, v, vdot)
        others = np.arange(NUM) != 4
        np.testing.assert_array_equal(found[:, others], expected[:, others])
        assert not np.isfinite(found[:, 4]).all()


def test_other_sizes_and_scalars_are_refused() -> None:
    plant = make_plant()
    context, (q, v, vdot) = plant.CreateDefaultContext(), states_of(plant)
    with pytest.raises(ValueError, match=r"v of plant '.*' must have the shape \(17, N\).*has 11; got \(17, 10\)"):
        BatchCalcInverseDynamics(plant, context, q, v[:, 1:], vdot)
    with pytest.raises(ValueError, match=r"q of plant '.*' must have the shape \(18, N\)"):
        BatchCalcMassMatrix(plant, context, q[1:])
    autodiff = plant.ToAutoDiffXd()
    with pytest.raises(RuntimeError, match="must be a plant of floats"):
        BatchCalcMassMatrix(autodiff, autodiff.CreateDefaultContext(), q)
    assert BatchCalcMassMatrix(plant, context, q[:, :0]).shape == (0, 17, 17)
