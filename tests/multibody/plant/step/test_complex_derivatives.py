"""Derivatives of continuous plants on complex numbers, compiled, are those of AutoDiffXd."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis.plan.model_tape import ModelTape
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.inside import new_context
from merganser.framework.math import RigidTransform
from merganser.framework.native.compiler.when_to_compile import compiled_at_once
from merganser.framework.primitives import FirstOrderTaylorApproximation
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import (
    FixedOffsetFrame,
    LinearSpringDamper,
    PdControllerGains,
    PrismaticJoint,
    PrismaticSpring,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RevoluteSpring,
    RpyFloatingJoint,
    SpatialInertia,
    UniversalJoint,
)

pytestmark = pytest.mark.skipif(not may_compile(), reason="code is not compiled here")
FREE = {"universal": UniversalJoint, "rpy": RpyFloatingJoint, "quaternion": QuaternionFloatingJoint}


def chain(kinds, rng):
    """Boxes in a row: limits that are exceeded, springs, dampers, controllers of some joints."""
    plant = MultibodyPlant(0.0)
    before = plant.world_frame()
    for n, kind in enumerate(kinds):
        box = SpatialInertia.SolidBoxWithMass(rng.uniform(0.5, 2.0), *rng.uniform(0.1, 0.4, 3))
        body = plant.AddRigidBody(f"body{n}", box)
        start = plant.AddFrame(FixedOffsetFrame(f"start{n}", before, RigidTransform(rng.normal(size=3))))
        if kind in FREE:
            plant.AddJoint(FREE[kind](f"joint{n}", start, body.body_frame()))
        else:
            make, spring = {
                "revolute": (RevoluteJoint, RevoluteSpring), "prismatic": (PrismaticJoint, PrismaticSpring)
            }[kind]  # fmt: skip
            joint = plant.AddJoint(make(f"joint{n}", start, body.body_frame(), rng.normal(size=3), -0.1, 0.1, 0.3))
            motor = plant.AddJointActuator(f"motor{n}", joint, effort_limit=2.0)
            if n % 2:
                motor.set_controller_gains(PdControllerGains(p=5.0, d=0.5))
            plant.AddForceElement(spring(joint, 0.1, 2.0))
        before = body.body_frame()
    ends = plant.world_body(), [0.0, 0.0, 1.0], body, [0.1, 0.0, 0.0]
    plant.AddForceElement(LinearSpringDamper(*ends, 0.3, 20.0, 1.0))
    plant.Finalize()
    return plant


def set_up(plant, context, rng):
    q = plant.GetPositions(context)
    plant.SetPositions(context, q + 0.3 * rng.normal(size=len(q)))
    plant.SetVelocities(context, rng.normal(size=plant.num_velocities()))
    if plant.num_actuators():
        desired = plant.get_desired_state_input_port(plant.GetModelInstanceByName("DefaultModelInstance"))
        desired.FixValue(context, rng.normal(size=desired.size()))
    plant.get_actuation_input_port().FixValue(context, 4.0 * rng.normal(size=plant.num_actuated_dofs()))


@pytest.mark.parametrize(
    "kinds",
    [
        ("revolute", "prismatic", "revolute"), ("quaternion", "revolute", "prismatic"), ("rpy", "revolute"),
        ("universal", "prismatic", "revolute"),
    ],
)  # fmt: skip
def test_one_direction_at_a_time_is_exact(kinds):
    rng = np.random.default_rng(sum(map(len, kinds)))
    plant = chain(kinds, rng)
    context = plant.CreateDefaultContext()
    set_up(plant, context, rng)
    on_complex_numbers = new_context(plant, np.complex128)
    on_complex_numbers.SetTimeStateAndParametersFrom(context)
    plant.FixInputPortsFrom(plant, context, on_complex_numbers)
    actuation = plant.get_actuation_input_port()
    fixed = actuation.FixValue(on_complex_numbers, np.zeros(actuation.size()))
    x, u = context.get_continuous_state_vector().CopyToVector(), actuation.Eval(context)
    with compiled_at_once():
        plant.EvalTimeDerivatives(context)  # what these depend on is known from now on
        tape = ModelTape(on_complex_numbers, fixed, False)
    values, slopes = tape.slopes(0.0, np.concatenate([x, u])[np.newaxis], len(x))
    ports = actuation.get_index(), plant.get_state_output_port().get_index()
    model = FirstOrderTaylorApproximation(plant, context, *ports)
    expected = np.hstack([model.A(), model.B()])
    assert np.abs(slopes[0] - expected).max() < 1e-12 * np.abs(expected).max()
    assert values[0] == pytest.approx(plant.EvalTimeDerivatives(context).CopyToVector(), rel=1e-12)
