"""Plants of AutoDiffXd take steps on floats, by the compiled derivatives of a step, with the results of lanes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from contact_scenes import Scene, add_free_body, add_ground, contact_library, material, steps_in_lanes

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.native.compiler.when_to_compile import compiled_at_once
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import ExternallyAppliedSpatialForce
from merganser.multibody.tree import ModelInstanceIndex, PdControllerGains

H = 2e-3
LYING = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.0985])
SLIDES = np.concatenate([LYING, [0.1, 0.2, 0.3, 1.0, 0.5, -0.1]])

Array = np.ndarray


@pytest.fixture(autouse=True)
def _compiled() -> Iterator[None]:
    with compiled_at_once():
        yield


def box_on_ground(lib: Any, plant: Any) -> None:
    properties = material(lib, 0.5, point_stiffness=1e4, dissipation=1.0)
    add_ground(lib, plant, properties)
    add_free_body(lib, plant, "box", lib.Box(0.4, 0.3, 0.2), properties, mass=1.3)


def cart(effort_limit: float = np.inf, p: float = 50.0, d: float = 2.0) -> Callable[..., None]:
    """A box that two motors with PD controllers move along x and z, over the ground."""

    def fill(lib: Any, plant: Any) -> None:
        properties = material(lib, 0.5, point_stiffness=1e4, dissipation=1.0)
        add_ground(lib, plant, properties)
        parent = plant.world_body()
        for name, axis in (("x", [1.0, 0.0, 0.0]), ("z", [0.0, 0.0, 1.0])):
            body = plant.AddRigidBody(name, lib.SpatialInertia.SolidBoxWithMass(0.7, 0.4, 0.3, 0.2))
            joint = plant.AddJoint(lib.PrismaticJoint(name, parent.body_frame(), body.body_frame(), axis))
            actuator = plant.AddJointActuator(name, joint, effort_limit)
            actuator.set_controller_gains(PdControllerGains(p=p, d=d))
            parent = body
        plant.RegisterCollisionGeometry(parent, lib.RigidTransform(), lib.Box(0.4, 0.3, 0.2), "box", properties)

    return fill


class Plant:
    """A plant of AutoDiffXd in a diagram, with a Context."""

    def __init__(self, fill: Any, approximation: str = "kLagged", *, sampled: bool = True) -> None:
        def fill_and_choose(lib: Any, plant: Any) -> None:
            fill(lib, plant)
            plant.SetUseSampledOutputPorts(sampled)

        scene = Scene(contact_library("ours"), H, fill_and_choose, approximation)
        self.floats, self.diagram = scene.plant, scene.simulator.get_system().ToAutoDiffXd()
        self.plant = self.diagram.GetSubsystemByName(scene.plant.get_name())
        self.plant._settings.of_solver()["relative_tolerance"] = 1e-13
        self.root = self.diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self.root)

    def step(self, x: Any, *, in_lanes: bool = False) -> Array:
        """Takes a step from x; returns values and derivatives of the next state, shape [num_x, 1 + n]."""
        self.plant.SetPositionsAndVelocities(self.context, x)
        with steps_in_lanes() if in_lanes else contextlib.nullcontext():
            self.diagram.ExecuteForcedEvents(self.root)
        return numbers(self.plant.GetPositionsAndVelocities(self.context))

    @property
    def reason(self) -> str:
        """Why the last step was taken in lanes; empty if it was not."""
        reason: str = self.context.workspace.steps_on_values.reason
        return reason

    def contact_force(self, context: Any = None) -> Array:
        """That of the first contact in the last step, with derivatives."""
        results = self.plant.get_contact_results_output_port().Eval(self.context if context is None else context)
        return numbers(results.point_pair_contact_info(0).contact_force())


def numbers(scalars: Any) -> Array:
    return np.column_stack([ExtractValue(scalars).ravel(), ExtractGradient(scalars)])


def variables(*parts: Any) -> list[Array]:
    """Vectors of independent variables with these values."""
    z = InitializeAutoDiff(np.concatenate(parts)).ravel()
    return np.split(z, np.cumsum([len(part) for part in parts])[:-1])


def assert_near(found: Array, expected: Array) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10 * max(1.0, np.abs(expected).max()))


# ---------------------------------------------------------------------- the same results


def test_a_step_is_on_values_and_has_the_results_of_lanes() -> None:
    plant, (x,) = Plant(box_on_ground), variables(SLIDES)
    first = plant.step(x, in_lanes=True)
    second = plant.step(x)
    assert plant.reason == ""
    assert_near(second, first)
    assert (second[:, 0] == first[:, 0]).all()  # values have the bits of floats


@pytest.mark.parametrize("cause", ["free", "saturated", "stiff", "stiff and alone"])
def test_desired_states_have_derivatives(cause: str) -> None:
    """Also where the solver makes gains softer, as it does where something is touched."""
    gains = {"p": 1e9, "d": 1e3} if "stiff" in cause else {}
    plant = Plant(cart(0.8 if cause == "saturated" else np.inf, **gains), "kSap")
    height = 0.5 if "alone" in cause else 0.0985
    x, u, x_d = variables([0.1, height, 0.3, -0.2], [0.1, 0.2], [0.15, height, 0.4, 0.1])
    plant.plant.get_actuation_input_port().FixValue(plant.context, u)
    plant.plant.get_desired_state_input_port(ModelInstanceIndex(1)).FixValue(plant.context, x_d)
    first, second = plant.step(x, in_lanes=True), plant.step(x)
    assert plant.reason == ""
    assert_near(second, first)
    if cause != "saturated":
        assert np.abs(first[:, 7:]).max() > 1e-6


def test_inputs_of_model_instances_add_up() -> None:
    plant = Plant(cart())
    x, u, more = variables([0.1, 0.5, 0.3, -0.2], [0.1, 0.2], [0.3, 0.4])
    plant.plant.get_actuation_input_port().FixValue(plant.context, u)
    plant.plant.get_actuation_input_port(ModelInstanceIndex(1)).FixValue(plant.context, more)
    first, second = plant.step(x, in_lanes=True), plant.step(x)
    assert plant.reason == ""
    assert_near(second, first)
    np.testing.assert_array_equal(second[:, 5:7], second[:, 7:])


def test_a_simulation_has_the_derivatives_of_lanes() -> None:
    """After the first step, all numbers follow all variables."""
    results, plant, (x,) = [], Plant(box_on_ground), variables(SLIDES)
    for context in (contextlib.nullcontext(), steps_in_lanes()):
        with context:
            plant.step(x)
            for _ in range(20):
                plant.diagram.ExecuteForcedEvents(plant.root)
        results.append(numbers(plant.plant.GetPositionsAndVelocities(plant.context)))
    assert plant.reason == ""
    found, expected = results
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_updates_of_plants_without_samples_are_on_values() -> None:
    plant, (x,) = Plant(box_on_ground, sampled=False), variables(SLIDES)
    plant.plant.SetPositionsAndVelocities(plant.context, x)
    found = []
    for context in (contextlib.nullcontext(), steps_in_lanes()):
        with context:
            next_state = plant.diagram.EvalUniquePeriodicDiscreteUpdate(plant.root).get_vector(0).CopyToVector()
        found.append(numbers(next_state))
    assert plant.reason == ""
    assert_near(found[1], found[0])


def test_numbers_without_derivatives_make_a_step_without_derivatives() -> None:
    plant = Plant(box_on_ground)
    first, second = plant.step(SLIDES, in_lanes=True), plant.step(SLIDES)
    assert plant.reason == ""
    np.testing.assert_array_equal(second, first)
    assert second.shape == (13, 1)


def test_arrays_grow_with_what_touches() -> None:
    """Balls that were apart come together."""

    def fill(lib: Any, plant: Any) -> None:
        properties = material(lib, 0.5, point_stiffness=1e4, dissipation=1.0)
        for n in range(12):
            add_free_body(lib, plant, f"ball{n}", lib.Sphere(0.1), properties)

    def state(radius: float) -> Array:
        places = radius * np.random.default_rng(1).uniform(-1.0, 1.0, (12, 3))
        return np.concatenate([*(np.concatenate([[1.0, 0.0, 0.0, 0.0], p]) for p in places), np.zeros(72)])

    plant, direction = Plant(fill), np.random.default_rng(2).uniform(-1.0, 1.0, 156)
    apart, together = ([AutoDiffXd(a, [b]) for a, b in zip(state(r), direction)] for r in (9.0, 0.05))
    plant.step(np.array(apart))
    found = plant.step(np.array(together))
    assert plant.reason == ""
    assert_near(found, plant.step(np.array(together), in_lanes=True))


# ---------------------------------------------------------------------- where lanes take the step


def give_mass_a_derivative(plant: Plant, size: int) -> None:
    plant.plant.GetBodyByName("z").SetMass(plant.context, AutoDiffXd(0.7, np.ones(size)))


def apply_spatial_force(plant: Plant, size: int) -> None:
    force = ExternallyAppliedSpatialForce()
    force.body_index = plant.plant.GetBodyByName("z").index()
    force.F_Bq_W = SpatialForce.Zero()
    plant.plant.get_applied_spatial_force_input_port().FixValue(plant.context, [force])


def apply_generalized_force(plant: Plant, size: int) -> None:
    tau = np.array([AutoDiffXd(0.1, np.ones(size)), AutoDiffXd(0.2)])
    plant.plant.get_applied_generalized_force_input_port().FixValue(plant.context, tau)


def lock_joint(plant: Plant, size: int) -> None:
    plant.plant.GetJointByName("x").Lock(plant.context)


REASONS = {
    "its parameters have derivatives": give_mass_a_derivative,
    "spatial forces or speeds of surfaces come through its input ports": apply_spatial_force,
    "applied generalized forces have derivatives": apply_generalized_force,
    "locked joints": lock_joint,
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_the_call_does_not_know_is_left_to_lanes(reason: str) -> None:
    plant, (x,) = Plant(cart()), variables([0.1, 0.0985, 0.0, -0.2])
    plant.step(x)
    assert plant.reason == ""
    REASONS[reason](plant, len(x))
    found = plant.step(x)
    assert plant.reason == reason
    np.testing.assert_array_equal(found, plant.step(x, in_lanes=True))


def test_other_parameters_are_taken_over() -> None:
    plant, (x,) = Plant(box_on_ground), variables(SLIDES)
    light = plant.step(x)
    plant.plant.GetBodyByName("box").SetMass(plant.context, 5.0)
    found = plant.step(x)
    assert plant.reason == ""
    assert_near(found, plant.step(x, in_lanes=True))
    assert np.abs(found - light).max() > 1e-4


def test_different_numbers_of_derivatives_are_refused() -> None:
    plant = Plant(cart())
    x, u = variables([0.1, 0.0985, 0.0, -0.2])[0], variables([0.1, 0.2])[0]
    plant.step(x)
    plant.plant.get_actuation_input_port().FixValue(plant.context, u)
    with pytest.raises(ValueError, match="4 derivatives and others 2"):
        plant.step(x)
    assert (ExtractValue(plant.plant.GetPositionsAndVelocities(plant.context)).ravel() == ExtractValue(x).ravel()).all()


# ---------------------------------------------------------------------- samples


def test_contacts_of_a_step_are_those_of_it_whenever_they_are_read() -> None:
    plant, (x,) = Plant(box_on_ground), variables(SLIDES)
    plant.step(x, in_lanes=True)
    expected = plant.contact_force()
    plant.step(x)
    copy = plant.root.Clone()
    plant.plant.SetPositionsAndVelocities(plant.context, 2.0 * x)
    plant.plant.GetBodyByName("box").SetMass(plant.context, 50.0)
    assert plant.reason == ""
    assert_near(plant.contact_force(), expected)
    assert_near(plant.contact_force(plant.plant.GetMyContextFromRoot(copy)), expected)


def test_efforts_and_reactions_of_a_step_have_the_derivatives_of_lanes() -> None:
    plant = Plant(cart(0.8), "kSap")
    x, u, x_d = variables([0.1, 0.0985, 0.3, -0.2], [0.1, 0.2], [0.15, 0.0, 0.4, 0.1])
    plant.plant.get_desired_state_input_port(ModelInstanceIndex(1)).FixValue(plant.context, x_d)

    def outputs(*, in_lanes: bool) -> list[Array]:
        plant.plant.get_actuation_input_port().FixValue(plant.context, u)
        plant.step(x, in_lanes=in_lanes)
        plant.plant.get_actuation_input_port().FixValue(plant.context, 3.0 * u)
        ports = plant.plant.get_net_actuation_output_port(), plant.plant.get_generalized_acceleration_output_port()
        reactions = plant.plant.get_reaction_forces_output_port().Eval(plant.context)
        return [*(numbers(port.Eval(plant.context)) for port in ports), numbers(reactions[1].get_coeffs())]

    first, second = outputs(in_lanes=True), outputs(in_lanes=False)
    assert plant.reason == ""
    for mine, other in zip(second, first):
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=1e-9 * max(1.0, np.abs(other).max()))


def test_an_unread_sample_becomes_one_of_floats() -> None:
    plant, (x,) = Plant(box_on_ground), variables(SLIDES)
    plant.step(x, in_lanes=True)
    expected = plant.contact_force()[:, 0]
    plant.step(x)
    context = plant.floats.CreateDefaultContext()
    context.SetTimeStateAndParametersFrom(plant.context)
    results = plant.floats.get_contact_results_output_port().Eval(context)
    np.testing.assert_allclose(results.point_pair_contact_info(0).contact_force(), expected, atol=1e-10)
