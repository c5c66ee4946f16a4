"""Dynamics with slopes at many points: closed forms, where they exist, equal AutoDiffXd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis.system_dynamics import SystemDynamics
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import Linearize
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import RevoluteSpring, SpatialInertia

CART_POLE = """<robot name="cart_pole">
  <link name="cart"><inertial><mass value="10"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="pole"><inertial><origin xyz="0.1 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.25" iyy="0.3" izz="0.2" ixy="0.01" ixz="0.02" iyz="0"/></inertial></link>
  <joint name="x" type="prismatic"><parent link="world"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" effort="5"/><dynamics damping="0.4"/></joint>
  <joint name="hinge" type="continuous"><parent link="cart"/><child link="pole"/><axis xyz="0 -1 0"/>
    <dynamics damping="0.1"/></joint>
  <transmission name="a"><type>transmission_interface/SimpleTransmission</type><joint name="x"/>
    <actuator name="motor"/></transmission>
</robot>"""


def cart_pole(*, time_step: float = 0.0, is_sprung: bool = False, flies: bool = False) -> MultibodyPlant:
    plant = MultibodyPlant(time_step)
    Parser(plant).AddModelsFromString(CART_POLE, "urdf")
    if is_sprung:
        plant.AddForceElement(RevoluteSpring(plant.GetJointByName("hinge"), 0.0, 3.0))
    if flies:
        inertia = SpatialInertia.SolidBoxWithMass(2.0, 0.3, 0.2, 0.5)
        plant.AddRigidBody("satellite", plant.AddModelInstance("space"), inertia)
    if time_step:
        plant.SetUseSampledOutputPorts(False)
    plant.Finalize()
    return plant


def dynamics_of(plant: MultibodyPlant, port: Any, fix: Any = None) -> SystemDynamics:
    context = plant.CreateDefaultContext()
    if fix is not None:
        fix(context)
    return SystemDynamics(plant, context, port.get_index(), "test")


def random_points(dynamics: SystemDynamics, num_points: int = 6) -> Any:
    points = np.random.default_rng(3).uniform(-2.0, 2.0, (num_points, dynamics.num_states + dynamics.num_inputs))
    points[:, dynamics.num_states :] *= 4.0  # efforts on both sides of their limit
    return points


def assert_as_autodiff(dynamics: SystemDynamics, points: Any) -> None:
    points = np.array(points)
    for found, expected in zip(dynamics._closed_form.at(points), zip(*map(dynamics._by_autodiff, points))):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("flies", [False, True])
@pytest.mark.parametrize("port", ["actuation", "cart_pole_actuation", "applied_generalized_force"])
def test_slopes_are_those_of_autodiff(flies: bool, port: str) -> None:
    plant = cart_pole(flies=flies)

    def push(context: Any) -> None:
        if port != "applied_generalized_force":
            force = plant.get_applied_generalized_force_input_port()
            force.FixValue(context, 0.5 * np.ones(plant.num_velocities()))
        if port != "actuation":
            plant.get_actuation_input_port().FixValue(context, [2.0])
        plant.GetJointByName("hinge").Lock(context) if flies else None

    dynamics = dynamics_of(plant, plant.GetInputPort(port), push)
    assert_as_autodiff(dynamics, random_points(dynamics))


def test_slopes_beyond_a_limit_are_those_of_its_springs() -> None:
    plant = cart_pole()
    dynamics = dynamics_of(plant, plant.get_actuation_input_port())
    beyond, within = np.array([3.5, 0.1, 0.2, 0.3, 1.0]), np.array([3.0, 0.1, 0.2, 0.3, 5.0])
    dynamics.at(np.array([within]))
    assert "_differentiable" not in vars(dynamics)  # a plant of AutoDiffXd is made where it is needed
    assert dynamics._closed_form.at(np.array([within, beyond])) is None
    both = dynamics.at(np.array([within, beyond]))  # of which AutoDiffXd finds the second
    np.testing.assert_array_equal(both[0][1], dynamics.at(beyond[np.newaxis])[0][0])
    assert dynamics.at(beyond[np.newaxis])[0][0, 2] < -10.0  # pushed back
    assert_as_autodiff(dynamics, [within])  # exactly at both limits


@pytest.mark.parametrize(
    ("plant", "port"),
    [
        (cart_pole(is_sprung=True), "actuation"),
        (cart_pole(time_step=0.01), "actuation"),
        (cart_pole(), "cart_pole_desired_state"),
    ],
    ids=["spring", "discrete", "desired state"],
)
def test_where_more_acts_there_is_no_closed_form(plant: MultibodyPlant, port: str) -> None:
    dynamics = dynamics_of(plant, plant.GetInputPort(port))
    assert dynamics._closed_form is None
    values, _, _ = dynamics.at(random_points(dynamics, 2))
    assert np.isfinite(values).all()


def test_parameters_of_the_context_count() -> None:
    plant = cart_pole()
    heavy = dynamics_of(
        plant, plant.get_actuation_input_port(), lambda context: plant.GetBodyByName("pole").SetMass(context, 9.0)
    )
    usual = dynamics_of(plant, plant.get_actuation_input_port())
    points = random_points(heavy, 2)
    assert_as_autodiff(heavy, points)
    assert np.abs(heavy.at(points)[0] - usual.at(points)[0]).max() > 0.1


def test_derivatives_of_a_derived_plant_are_its_own() -> None:
    class Braked(MultibodyPlant):
        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            derivatives.SetFromVector(np.zeros(4))

    plant = Braked(0.0)
    Parser(plant).AddModelsFromString(CART_POLE, "urdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    assert plant._sys_linearized_dynamics(context, plant.get_actuation_input_port()) is None


def test_samples_of_outputs_are_refused_with_what_to_do() -> None:
    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("cart_pole", MultibodyPlant(0.01))
    Parser(plant).AddModelsFromString(CART_POLE, "urdf")
    plant.Finalize()
    builder.ExportInput(plant.get_actuation_input_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, 0.0)
    what = r"MultibodyPlant '::Diagram::cart_pole' declares it.*SetUseSampledOutputPorts\(False\)"
    with pytest.raises(RuntimeError, match=what):
        Linearize(diagram, context)
