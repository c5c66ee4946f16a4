"""The residual of a plant's equations of motion: of M vdot, not of vdot."""

from __future__ import annotations

import numpy as np
import pytest
from plants import off_centre_inertia

import merganser.framework.symbolic as sym
from merganser.framework.math import RigidTransform
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import LinearSpringDamper, PrismaticJoint, RevoluteJoint


def arm() -> MultibodyPlant:
    """A free body, a damped hinge with an actuator, and a slide on a spring."""
    plant = MultibodyPlant(0.0)
    first, second, free = (plant.AddRigidBody(name, off_centre_inertia()) for name in ("first", "second", "free"))
    frames = plant.world_frame(), first.body_frame()
    hinge = plant.AddJoint(RevoluteJoint("hinge", *frames, [0.0, 1.0, 0.0], damping=0.3))
    plant.AddJoint(PrismaticJoint("slide", first.body_frame(), second.body_frame(), [1.0, 0.0, 0.0], damping=0.2))
    plant.AddJointActuator("motor", hinge)
    plant.AddForceElement(LinearSpringDamper(first, [0.1, 0.0, 0.5], free, [0.0, 0.0, 0.0], 0.3, 7.0, 0.5))
    plant.SetDefaultFloatingBaseBodyPose(free, RigidTransform([0.0, 0.0, 2.0]))
    plant.Finalize()
    return plant


def test_the_residual_is_zero_at_the_true_derivatives_and_else_the_missing_force() -> None:
    plant, rng = arm(), np.random.default_rng(3)
    context = plant.CreateDefaultContext()
    context.SetContinuousState(context.get_continuous_state_vector().CopyToVector() + 0.1 * rng.normal(size=17))
    plant.get_actuation_input_port().FixValue(context, [1.5])
    plant.get_applied_generalized_force_input_port().FixValue(context, rng.normal(size=8))
    true = plant.EvalTimeDerivatives(context).CopyToVector()
    proposed = plant.AllocateTimeDerivatives()
    proposed.SetFromVector(true)
    np.testing.assert_allclose(plant.CalcImplicitTimeDerivativesResidual(context, proposed), 0.0, atol=1e-12)
    change = rng.normal(size=17)
    proposed.SetFromVector(true + change)
    expected = np.concatenate([change[:9], plant.CalcMassMatrix(context) @ change[9:]])
    np.testing.assert_allclose(plant.CalcImplicitTimeDerivativesResidual(context, proposed), expected, atol=1e-11)


def test_where_joints_are_locked_it_is_the_difference_of_derivatives() -> None:
    plant = arm()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [1.5])
    plant.GetJointByName("hinge").Lock(context)
    true = plant.EvalTimeDerivatives(context).CopyToVector()
    proposed = plant.AllocateTimeDerivatives()
    proposed.SetFromVector(true + 1.0)
    np.testing.assert_allclose(plant.CalcImplicitTimeDerivativesResidual(context, proposed), 1.0, atol=1e-12)


def test_parameters_of_a_symbolic_residual_can_be_lumped() -> None:
    plant = MultibodyPlant(0.0)
    bob = plant.AddRigidBody("bob", off_centre_inertia())
    joint = plant.AddJoint(RevoluteJoint("j", plant.world_frame(), bob.body_frame(), [0.0, 1.0, 0.0], damping=0.3))
    plant.AddJointActuator("motor", joint)
    plant.Finalize()
    symbolic = plant.ToSymbolic()
    context = symbolic.CreateDefaultContext()
    q, v, vdot, u, m = (sym.Variable(name) for name in ("q", "v", "a", "u", "m"))
    symbolic.SetPositions(context, [q])
    symbolic.SetVelocities(context, [v])
    symbolic.get_actuation_input_port().FixValue(context, [sym.Expression(u)])
    symbolic.GetBodyByName("bob").SetMass(context, m)
    proposed = symbolic.AllocateTimeDerivatives()
    proposed.SetFromVector([sym.Expression(v), sym.Expression(vdot)])
    residual = symbolic.CalcImplicitTimeDerivativesResidual(context, proposed)
    W, alpha, w0 = sym.DecomposeLumpedParameters(residual[1:], [m])
    assert [str(a) for a in alpha] == ["m"]
    values = {q: 0.4, v: 0.7, vdot: -1.1, u: 0.2}
    floats = plant.CreateDefaultContext()
    plant.SetPositions(floats, [0.4])
    plant.SetVelocities(floats, [0.7])
    plant.get_actuation_input_port().FixValue(floats, [0.2])
    plant.GetBodyByName("bob").SetMass(floats, 2.5)
    of_floats = plant.AllocateTimeDerivatives()
    of_floats.SetFromVector([0.7, -1.1])
    expected = plant.CalcImplicitTimeDerivativesResidual(floats, of_floats)[1]
    assert W[0, 0].Evaluate(values) * 2.5 + w0[0].Evaluate(values) == pytest.approx(expected, rel=1e-12)
