"""Symbolic plants give the equations of the textbook."""

from __future__ import annotations

import numpy as np
import pytest
from plants import arm_and_box

from merganser.framework.math import RigidTransform
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia, UnitInertia

symbolic = pytest.importorskip(
    "merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError
)
sympy = pytest.importorskip("sympy", reason="needs the extra `symbolic`")

G = 9.75


def planar_arm(lengths, centres, masses, inertias):
    """An arm that hangs down and turns about y; inertias are about the joints, as unit inertias times masses."""
    plant = MultibodyPlant(0.0)
    frame = plant.world_frame()
    for i, (l, c, m, I) in enumerate(zip(lengths, centres, masses, inertias)):
        M_BBo_B = SpatialInertia(m, [0.0, 0.0, -c], UnitInertia(I / m, I / m, 0.5 * I / m), skip_validity_check=True)
        link = plant.AddRigidBody(f"link{i}", M_BBo_B)
        plant.AddJoint(RevoluteJoint(f"joint{i}", frame, link.body_frame(), [0, 1, 0]))
        frame = plant.AddFrame(FixedOffsetFrame(f"end{i}", link.body_frame(), RigidTransform([0.0, 0.0, -l])))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -G])
    plant.Finalize()
    return plant


def symbolic_context(plant):
    n = plant.num_positions()
    context = plant.CreateDefaultContext()
    q, v = symbolic.MakeVectorContinuousVariable(n, "q"), symbolic.MakeVectorContinuousVariable(n, "v")
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    return context, q, v


def assert_equal_expressions(actual, expected):
    """Identically: the difference is a polynomial in sines and cosines, zero as s^2 + c^2 = 1."""
    for ours, theirs in zip(np.ravel(actual), np.ravel(expected)):
        assert isinstance(ours, symbolic.Expression)
        difference = sympy.expand_trig(sympy.nsimplify(symbolic.to_sympy(ours - theirs), rational=True))
        variables = difference.free_symbols
        pairs = [(x, sympy.Dummy("s"), sympy.Dummy("c")) for x in variables]
        for x, s, c in pairs:
            difference = difference.subs({sympy.sin(x): s, sympy.cos(x): c})
        circles = [s**2 + c**2 - 1 for _, s, c in pairs]
        generators = [y for pair in pairs for y in pair]
        remainder = sympy.reduced(sympy.expand(difference), circles, *generators)[1] if variables else difference
        assert remainder == 0, (ours, theirs)


def test_acrobot_equals_the_textbook():
    """R. Tedrake, Underactuated Robotics, chapter 3: M, bias and gravity of the acrobot."""
    l1, c1, c2, m1, m2, I1, I2 = 1.0, 0.5, 0.75, 1.0, 2.0, 0.5, 1.5  # exact in binary
    plant = planar_arm([l1, 1.5], [c1, c2], [m1, m2], [I1, I2]).ToSymbolic()
    context, q, v = symbolic_context(plant)
    s1, s2, c_2, s12 = symbolic.sin(q[0]), symbolic.sin(q[1]), symbolic.cos(q[1]), symbolic.sin(q[0] + q[1])
    off = I2 + m2 * l1 * c2 * c_2
    M = [[I1 + I2 + m2 * l1**2 + 2 * m2 * l1 * c2 * c_2, off], [off, I2]]
    h = m2 * l1 * c2 * s2
    bias = [-2 * h * v[0] * v[1] - h * v[1] * v[1], h * v[0] * v[0]]
    tau_g = [-m1 * G * c1 * s1 - m2 * G * (l1 * s1 + c2 * s12), -m2 * G * c2 * s12]
    assert_equal_expressions(plant.CalcMassMatrix(context), M)
    assert_equal_expressions(plant.CalcBiasTerm(context), bias)
    assert_equal_expressions(plant.CalcGravityGeneralizedForces(context), tau_g)


def test_three_link_arm_equals_the_equations_of_lagrange():
    """M from the kinetic energy of point masses at the ends of massless links, C v from its derivatives."""
    lengths, masses = [1.0, 0.5, 0.25], [1.0, 2.0, 4.0]
    inertias = [m * l**2 for m, l in zip(masses, lengths)]
    plant = planar_arm(lengths, lengths, masses, inertias).ToSymbolic()
    context, q, v = symbolic_context(plant)
    angles = [q[0], q[0] + q[1], q[0] + q[1] + q[2]]
    # Point k is at x_k = -sum l_i sin(angle_i), z_k = -sum l_i cos(angle_i), i <= k.
    points = [
        [-sum(lengths[i] * f(angles[i]) for i in range(k + 1)) for f in (symbolic.sin, symbolic.cos)] for k in range(3)
    ]
    J = [[[coordinate.Differentiate(x) for x in q] for coordinate in point] for point in points]
    M = sum(m * np.array(J_k).T @ np.array(J_k) for m, J_k in zip(masses, J))
    energy = 0.5 * v @ M @ v
    momentum = M @ v
    bias = [
        sum(momentum[i].Differentiate(q[j]) * v[j] for j in range(3)) - energy.Differentiate(q[i]) for i in range(3)
    ]
    potential = sum(m * G * point[1] for m, point in zip(masses, points))
    assert_equal_expressions(plant.CalcMassMatrix(context), M)
    assert_equal_expressions(plant.CalcBiasTerm(context), bias)
    assert_equal_expressions(plant.CalcGravityGeneralizedForces(context), [-potential.Differentiate(x) for x in q])


def test_parameters_may_be_variables_and_results_are_expressions_throughout():
    plant = planar_arm([1.0], [0.5], [2.0], [0.5]).ToSymbolic()
    context, q, _ = symbolic_context(plant)
    m = symbolic.Variable("m")
    plant.GetBodyByName("link0").SetMass(context, symbolic.Expression(m))
    tau_g = plant.CalcGravityGeneralizedForces(context)[0]
    assert tau_g.EqualTo(-0.5 * G * m * symbolic.sin(q[0]))
    pose = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("link0")).GetAsMatrix34()
    assert all(isinstance(element, symbolic.Expression) for element in pose.ravel())
    assert all(isinstance(element, symbolic.Expression) for element in plant.CalcMassMatrix(context).ravel())


def test_expressions_of_a_floating_body_evaluate_to_the_results_of_floats():
    plant = arm_and_box(0.0)
    converted = plant.ToSymbolic()
    context, numbers = plant.CreateDefaultContext(), np.random.default_rng(1).normal(size=17)
    plant.SetPositionsAndVelocities(context, numbers)
    x = symbolic.MakeVectorContinuousVariable(17, "x")
    theirs = converted.CreateDefaultContext()
    converted.SetPositionsAndVelocities(theirs, x)
    M = symbolic.Evaluate(converted.CalcMassMatrix(theirs), dict(zip(x, numbers)))
    np.testing.assert_allclose(M, plant.CalcMassMatrix(context), rtol=0, atol=1e-12)
