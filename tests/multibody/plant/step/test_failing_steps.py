"""Steps that fail after the dynamics have begun: what output ports show is that of the last good step, in either way.

A force that is finite leads to velocities that are not; it comes in the middle of a simulation, without Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.geometry import Box, HalfSpace
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import LinearSpringDamper, PdControllerGains, PrismaticJoint, SpatialInertia

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

WAYS = ("never", "always")


def box_on_the_ground(plant: MultibodyPlant) -> None:
    rough = CoulombFriction(0.6, 0.6)
    box = plant.AddRigidBody("box", SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.2, 0.2))
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", rough)
    plant.RegisterCollisionGeometry(box, RigidTransform([0.0, 0.0, 0.1]), Box(0.2, 0.2, 0.2), "box", rough)


def mass_on_a_spring(plant: MultibodyPlant) -> None:
    body = plant.AddRigidBody("mass", SpatialInertia.SolidSphereWithMass(1.0, 0.05))
    rail = np.array([1.0, 0.0, 0.0])
    plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), rail))
    anchor = np.array([0.5, 0.0, 1.0])
    plant.AddForceElement(LinearSpringDamper(plant.world_body(), anchor, body, np.zeros(3), 0.2, 150.0, 3.0))


@pytest.mark.parametrize(("add_bodies", "num_contacts"), [(box_on_the_ground, 4), (mass_on_a_spring, 0)])
@pytest.mark.parametrize("num_good_steps", [59, 60])
def test_what_the_last_good_step_has_found_outlasts_one_that_overflows(
    add_bodies: Any, num_contacts: int, num_good_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for way in WAYS:
        monkeypatch.setenv("MERGANSER_PLAN", way)
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, 0.001)
        add_bodies(plant)
        plant.Finalize()
        blow = np.zeros((plant.num_velocities(), 3))
        blow[-1, 1:] = 1.7e308
        force = PiecewisePolynomial.ZeroOrderHold([0.0, 1e-3 * num_good_steps - 5e-4, 1.0], blow)
        source = builder.AddSystem(TrajectorySource(force))
        builder.Connect(source.get_output_port(), plant.get_applied_generalized_force_input_port())
        simulator = Simulator(builder.Build())
        context = plant.GetMyContextFromRoot(simulator.get_context())
        with pytest.raises(RuntimeError):
            simulator.AdvanceTo(0.1)
        contacts = plant.get_contact_results_output_port().Eval(context)
        infos = [contacts.point_pair_contact_info(i) for i in range(contacts.num_point_pair_contacts())]
        assert len(infos) == num_contacts
        found.append([
            [context.get_time()],
            plant.GetPositionsAndVelocities(context),
            plant.get_generalized_acceleration_output_port().Eval(context),
            np.array([[*info.contact_force(), *info.contact_point(), info.slip_speed()] for info in infos]),
            *(
                plant.get_generalized_contact_forces_output_port(index).Eval(context)
                for index in range(plant.num_model_instances())
            ),
            np.array([F.get_coeffs() for F in plant.get_reaction_forces_output_port().Eval(context)]),
        ])  # fmt: skip
    for python, native in zip(*found):
        np.testing.assert_array_equal(native, python)
    assert np.isfinite(found[0][-1]).all()


def test_a_state_that_is_no_number_is_blamed_and_not_the_controllers_that_read_it() -> None:
    plant = MultibodyPlant(0.001)
    body = plant.AddRigidBody("mass", SpatialInertia.SolidSphereWithMass(1.0, 0.05))
    rail = plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), body.body_frame(), np.array([1.0, 0.0, 0.0])))
    motor = plant.AddJointActuator("motor", rail)
    motor.set_controller_gains(PdControllerGains(p=10.0, d=1.0))
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.get_desired_state_input_port(motor.model_instance()).FixValue(context, [0.0, 0.0])
    context.SetDiscreteState(0, [np.nan, 0.0])
    with pytest.raises(RuntimeError, match=r"The state of plant .* is not finite in \w*rail_x"):
        simulator.AdvanceTo(0.1)
