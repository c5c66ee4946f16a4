"""Plants of AutoDiffXd and of Expression compute what pydrake's plants of these scalars compute, also in contact."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

import pydrake.autodiffutils
import pydrake.multibody.tree
import pydrake.symbolic
from contact_scenes import APPROXIMATIONS, Scene, add_free_body, add_ground, contact_library, material
from plants import EXAMPLE_MODELS
from reference_plants import load_both

from merganser.framework import autodiff
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.multibody.tree import JacobianWrtVariable, MultibodyForces, MultibodyForces_

pytestmark = pytest.mark.reference

MODELS = {
    "arm7": [EXAMPLE_MODELS / "arm7.urdf"],
    "cart pole and free box": [EXAMPLE_MODELS / "cart_pole.sdf", EXAMPLE_MODELS / "free_box.sdf"],
}
NUM_DIRECTIONS = 3
THEIRS = SimpleNamespace(autodiff=pydrake.autodiffutils, tree=pydrake.multibody.tree)
OURS = SimpleNamespace(
    autodiff=autodiff,
    tree=SimpleNamespace(
        MultibodyForces=MultibodyForces, MultibodyForces_=MultibodyForces_, JacobianWrtVariable=JacobianWrtVariable
    ),
)


def quantities(lib, plant, context, x, vdot):
    """Everything that is compared, as arrays of AutoDiffXd, with derivatives along a few directions of x and vdot."""
    numbers = np.concatenate([x, vdot])
    directions = np.random.default_rng(3).normal(size=(len(numbers), NUM_DIRECTIONS))
    variables = np.array([lib.autodiff.AutoDiffXd(a, d) for a, d in zip(numbers, directions)])
    plant.SetPositionsAndVelocities(context, variables[: len(x)])
    forces = lib.tree.MultibodyForces_[lib.autodiff.AutoDiffXd](plant)
    tool, world = plant.get_body(lib_index(lib, plant.num_bodies() - 1)).body_frame(), plant.world_frame()
    result = {
        "mass matrix": plant.CalcMassMatrix(context),
        "bias": plant.CalcBiasTerm(context),
        "gravity": plant.CalcGravityGeneralizedForces(context),
        "pose": plant.EvalBodyPoseInWorld(context, tool.body()).GetAsMatrix34(),
        "velocity": plant.EvalBodySpatialVelocityInWorld(context, tool.body()).get_coeffs(),
        "point": plant.CalcPointsPositions(context, tool, np.array([0.1, 0.2, 0.3]), world),
        "Jacobian": plant.CalcJacobianSpatialVelocity(
            context, lib.tree.JacobianWrtVariable.kV, tool, np.array([0.1, 0.2, 0.3]), world, world
        ),
        "energies": np.array([plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context)]),
        "inverse dynamics": plant.CalcInverseDynamics(context, variables[len(x) :], forces),
        "rates": plant.MapVelocityToQDot(context, variables[len(x) :]),
    }
    plant.CalcForceElementsContribution(context, forces)
    result["inverse dynamics with gravity"] = plant.CalcInverseDynamics(context, variables[len(x) :], forces)
    u = np.array([lib.autodiff.AutoDiffXd(0.1, directions[i]) for i in range(plant.num_actuated_dofs())])
    plant.get_actuation_input_port().FixValue(context, u)
    result["time derivatives"] = plant.EvalTimeDerivatives(context).CopyToVector()
    return result


def lib_index(lib, number):
    return number if lib is OURS else pydrake.multibody.tree.BodyIndex(number)


def gradient(lib, quantity):
    """The derivatives, and the values."""
    elements = np.asarray(quantity).reshape(-1)
    derivatives = [element.derivatives() for element in elements]
    filled = np.array([d if len(d) else np.zeros(NUM_DIRECTIONS) for d in derivatives])
    return filled, lib.autodiff.ExtractValue(elements).ravel()


@pytest.mark.parametrize("name", MODELS)
def test_gradients_equal_those_of_pydrake(name):
    pair = load_both(MODELS[name])
    plants = (OURS, pair.ours.ToAutoDiffXd()), (THEIRS, pair.theirs.ToAutoDiffXd())
    rng = np.random.default_rng(1)
    x, vdot = rng.normal(size=pair.ours.num_multibody_states()), rng.normal(size=pair.ours.num_velocities())
    ours, theirs = (quantities(lib, plant, plant.CreateDefaultContext(), x, vdot) for lib, plant in plants)
    for what in theirs:
        (our_gradient, our_value), (their_gradient, their_value) = (
            gradient(lib, values[what]) for lib, values in ((OURS, ours), (THEIRS, theirs))
        )
        scale = max(1.0, np.abs(their_gradient).max())
        np.testing.assert_allclose(our_value, their_value, rtol=1e-10, atol=1e-10, err_msg=what)
        np.testing.assert_allclose(our_gradient / scale, their_gradient / scale, rtol=0, atol=1e-10, err_msg=what)


def test_gradients_by_a_mass_equal_those_of_pydrake():
    pair = load_both(MODELS["arm7"])
    results = []
    for lib, plant in (OURS, pair.ours.ToAutoDiffXd()), (THEIRS, pair.theirs.ToAutoDiffXd()):
        context = plant.CreateDefaultContext()
        plant.SetPositions(context, np.linspace(-1.0, 1.0, 7))
        body = plant.get_body(lib_index(lib, plant.num_bodies() - 1))
        body.SetMass(context, lib.autodiff.AutoDiffXd(1.5, 1, 0))
        results.append(lib.autodiff.ExtractGradient(plant.CalcMassMatrix(context)))
    np.testing.assert_allclose(*results, rtol=0, atol=1e-12)


def test_expressions_evaluate_to_those_of_pydrake():
    symbolic = pytest.importorskip(
        "merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError
    )
    pair = load_both([EXAMPLE_MODELS / "double_pendulum.urdf"])
    values = np.random.default_rng(2).normal(size=4)
    results = []
    for lib, plant in (symbolic, pair.ours.ToSymbolic()), (pydrake.symbolic, pair.theirs.ToSymbolic()):
        context = plant.CreateDefaultContext()
        x = lib.MakeVectorContinuousVariable(4, "x")
        plant.SetPositionsAndVelocities(context, x)
        expressions = np.concatenate(
            [
                plant.CalcMassMatrix(context).ravel(),
                plant.CalcBiasTerm(context),
                plant.CalcGravityGeneralizedForces(context),
                plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("lower")).GetAsMatrix34().ravel(),
            ]
        )
        results.append(lib.Evaluate(expressions, dict(zip(x, values))).ravel())
    np.testing.assert_allclose(*results, rtol=0, atol=1e-10)


H = 2e-3
STATE = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.0985, 0.1, 0.2, 0.3, 1.0, 0.5, -0.1])


def step(name: str, approximation: str) -> tuple[Any, Any]:
    """The next state of a ball on the ground, and its derivatives by the state."""

    def fill(lib: Any, plant: Any) -> None:
        properties = material(lib, 0.5, point_stiffness=1e4, dissipation=1.0)
        add_ground(lib, plant, properties)
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), properties, mass=1.3)

    scene = Scene(contact_library(name), H, fill, approximation)
    diagram = scene.simulator.get_system().ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    context = diagram.CreateDefaultContext()
    mine = plant.GetMyMutableContextFromRoot(context)
    if name == "ours":
        plant.SetPositionsAndVelocities(mine, InitializeAutoDiff(STATE).ravel())
        diagram.ExecuteForcedEvents(context)
        found = plant.GetPositionsAndVelocities(mine)
        return ExtractValue(found).ravel(), ExtractGradient(found)
    from pydrake import autodiffutils

    plant.SetPositionsAndVelocities(mine, autodiffutils.InitializeAutoDiff(STATE)[:, 0])
    diagram.ExecuteForcedEvents(context)
    found = plant.GetPositionsAndVelocities(mine)
    return autodiffutils.ExtractValue(found).ravel(), autodiffutils.ExtractGradient(found)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_ball_that_slides_has_the_derivatives_of_pydrake(approximation: str) -> None:
    x, gradient = step("ours", approximation)
    their_x, their_gradient = step("theirs", approximation)
    # Each solver ends within 1e-6 of the momentum, and pydrake takes derivatives at its last iterate.
    np.testing.assert_allclose(x, their_x, atol=1e-5)
    tolerance = 1e-9 if approximation == "kSap" else 1e-3
    np.testing.assert_allclose(gradient, their_gradient, atol=tolerance * np.abs(gradient).max())
