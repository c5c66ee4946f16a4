"""Laws of contact that a program brings: closed forms, compiled loops, derivatives, and refusals."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.geometry import AddContactMaterial, Box, HalfSpace, ProximityProperties
from merganser.multibody.contact import LawKind
from merganser.multibody.contact.friction_cone import set_cone_impulse, set_cone_law, set_cone_slip
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from merganser.multibody.tree import SpatialInertia, UnitInertia

Array = NDArray[np.float64]
H, MASS, DRAG = 1e-3, 1.0, 0.7  # [s], [kg], of each point [N s/m]
START = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0995, 0.0, 0.0, 0.0, 1.0, 0.5, 0.0])


def is_compiled() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def set_oil_law(settings: Any, constraint: Any, velocity_in: Any, law: Any) -> None:
    h = law["time_step"]
    law["elastic"], law["gain"] = h * constraint["elastic_force"], h * h * constraint["stiffness"]
    law["lagged"] = h * constraint["friction"] if constraint["elastic_force"].real > 0.0 else 0.0


def set_oil_impulse(law: Any, velocity_in: Any, impulse_out: Any, hessian_out: Any) -> None:
    """A spring, and drag that grows with the slip: l = (a - b v_n)_+^2 / (2 b) + c |v_t|^2 / 2."""
    n = law["elastic"] - law["gain"] * velocity_in[2]
    presses = n.real > 0.0
    impulse_out[0], impulse_out[1] = -law["lagged"] * velocity_in[0], -law["lagged"] * velocity_in[1]
    impulse_out[2] = n if presses else 0.0
    for k in range(6):
        hessian_out[k] = 0.0
    hessian_out[0], hessian_out[2] = law["lagged"], law["lagged"]
    hessian_out[5] = law["gain"] if presses else 0.0


OIL = LawKind("oil", set_oil_law, set_oil_impulse)
OWN_SAP = LawKind("a cone of our own", set_cone_law, set_cone_impulse, set_cone_slip)


def make_scene(approximation: Any, friction: float = DRAG) -> tuple[Any, MultibodyPlant]:
    """A box on the ground, and the diagram around it."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, H)
    plant.set_name("plant")
    plant.set_discrete_contact_approximation(approximation)
    material = ProximityProperties()
    AddContactMaterial(2.0, 1e4, CoulombFriction(friction, friction), material)
    # So heavy to turn that it does not tilt.
    body = plant.AddRigidBody("box", SpatialInertia(MASS, [0.0, 0.0, 0.0], UnitInertia(1e6, 1e6, 1e6)))
    plant.RegisterCollisionGeometry(body, RigidTransform(), Box(0.4, 0.4, 0.2), "box", material)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material)
    plant.Finalize()
    return builder.Build(), plant


def slide(approximation: Any, num_steps: int, in_python: bool = False, friction: float = DRAG) -> Array:
    """The state of the box some steps after it has begun to slide."""
    diagram, plant = make_scene(approximation, friction)
    simulator = Simulator(diagram)
    context = simulator.get_mutable_context()
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), START)
    if in_python:
        for _ in range(num_steps):
            diagram.ExecuteForcedEvents(context)
    else:
        simulator.AdvanceTo((num_steps - 0.5) * H)
    return plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(context))


def test_a_box_on_oil_slows_down_as_the_closed_form_says() -> None:
    """Drag acts at four corners, whatever each of them carries: v+ = v / (1 + 4 h c / m)."""
    x = slide(OIL, 100)
    np.testing.assert_allclose(x[10:12], START[10:12] * (1.0 + 4.0 * H * DRAG / MASS) ** -100, rtol=1e-6)
    assert x[6] < 0.1


def test_the_compiled_loop_gives_the_same_numbers() -> None:
    np.testing.assert_array_equal(slide(OIL, 30), slide(OIL, 30, in_python=True))


def test_a_law_of_this_package_as_one_of_a_program_gives_its_results() -> None:
    own, known = (slide(law, 50, friction=0.3) for law in (OWN_SAP, DiscreteContactApproximation.kSap))
    # To the tolerance of the solver: slopes along a search are computed in another way.
    np.testing.assert_allclose(own, known, atol=1e-6)


def test_derivatives_are_those_of_differences() -> None:
    diagram, plant = make_scene(OIL)
    plant._settings.of_solver()["relative_tolerance"] = 1e-13
    context = diagram.CreateDefaultContext()

    def step(diagram: Any, plant: Any, context: Any, x: Any) -> Any:
        mine = plant.GetMyMutableContextFromRoot(context)
        plant.SetPositionsAndVelocities(mine, x)
        diagram.ExecuteForcedEvents(context)
        return plant.GetPositionsAndVelocities(mine)

    of_derivatives = diagram.ToAutoDiffXd()
    other = of_derivatives.GetSubsystemByName("plant")
    assert other.get_discrete_contact_approximation() is OIL
    found = step(of_derivatives, other, of_derivatives.CreateDefaultContext(), InitializeAutoDiff(START).ravel())
    np.testing.assert_allclose(ExtractValue(found).ravel(), step(diagram, plant, context, START), atol=1e-9)
    units = 1e-6 * np.eye(len(START))
    ends = [[step(diagram, plant, context, START + s * d) for s in (-1.0, 1.0)] for d in units[4:]]
    slopes = np.array([(more - less) / 2e-6 for less, more in ends]).T
    np.testing.assert_allclose(ExtractGradient(found)[:, 4:], slopes, atol=1e-6 * abs(slopes).max())


def test_a_plant_in_another_process_gets_the_functions_of_its_law_anew() -> None:
    _, plant = make_scene(OIL)
    assert plant._settings.of_solver()["code"] != 0 or not is_compiled()
    copied = pickle.loads(pickle.dumps(plant._settings.choices))
    assert copied.contact_approximation.name == "oil"
    assert plant._settings.__getstate__()["_of_solver"] is None


def set_too_much(law: Any, velocity_in: Any, impulse_out: Any, hessian_out: Any) -> None:
    for k in range(len(impulse_out) + int(law["friction"].real > 0.0)):
        impulse_out[k] = 0.0


def set_nothing_finite(law: Any, velocity_in: Any, impulse_out: Any, hessian_out: Any) -> None:
    for k in range(3):
        impulse_out[k] = np.nan
    for k in range(6):
        hessian_out[k] = np.nan


@pytest.mark.parametrize("set_impulse", [set_too_much, set_nothing_finite])
def test_a_law_without_numbers_is_an_error_that_leaves_the_context(set_impulse: Any) -> None:
    diagram, plant = make_scene(LawKind("bad", set_oil_law, set_impulse), friction=0.0)
    context = diagram.CreateDefaultContext()
    mine = plant.GetMyMutableContextFromRoot(context)
    plant.SetPositionsAndVelocities(mine, START)
    if set_impulse is set_too_much:
        diagram.ExecuteForcedEvents(context)  # with zeros
        diagram, plant = make_scene(LawKind("worse", set_cone_law, set_impulse))
        context = diagram.CreateDefaultContext()
        mine = plant.GetMyMutableContextFromRoot(context)
        plant.SetPositionsAndVelocities(mine, START)
    with pytest.raises((RuntimeError, IndexError)):
        diagram.ExecuteForcedEvents(context)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(mine), START)


def test_a_law_whose_numbers_an_exception_leaves_out_is_an_error() -> None:
    def set_law(settings: Any, constraint: Any, velocity_in: Any, law: Any) -> None:
        law["elastic"], law["gain"] = constraint["elastic_force"], constraint["stiffness"]
        law["lagged"] = velocity_in[len(velocity_in) + 1]

    diagram, plant = make_scene(LawKind("left", set_law, set_oil_impulse))
    context = diagram.CreateDefaultContext()
    mine = plant.GetMyMutableContextFromRoot(context)
    plant.SetPositionsAndVelocities(mine, START)
    with pytest.raises((RuntimeError, IndexError)):
        diagram.ExecuteForcedEvents(context)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(mine), START)


def test_wrong_laws_are_refused_with_their_names() -> None:
    plant = MultibodyPlant(H)
    with pytest.raises(TypeError, match=r"takes a DiscreteContactApproximation or a LawKind, not a str"):
        plant.set_discrete_contact_approximation("sap")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"LawKind 'short': set_impulse must be a function of \(law, velocity_in"):
        plant.set_discrete_contact_approximation(LawKind("short", set_oil_law, lambda law: None))
