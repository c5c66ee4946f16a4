"""Random torques on a plant that Python has to help now and then: each sample is drawn once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compile_policy import compile_at_once

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, RandomDistribution
from merganser.framework.primitives import Gain, LogVectorOutput, RandomSource
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import RevoluteJoint, SpatialInertia


def pendulum_with_stops() -> MultibodyPlant:
    plant = MultibodyPlant(0.01)
    link = plant.AddRigidBody("link", SpatialInertia.PointMass(1.0, np.array([0.0, 0.0, -0.5])))
    pin = plant.AddJoint(
        RevoluteJoint("pin", plant.world_frame(), link.body_frame(), np.array([0.0, 1.0, 0.0]), -0.05, 0.05)
    )
    plant.AddJointActuator("motor", pin)
    plant.Finalize()
    return plant


@pytest.mark.parametrize("distribution", RandomDistribution)
def test_samples_are_those_of_python_where_a_joint_reaches_its_limit(
    distribution: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps at the limit are left to Python, with all that happens at the same time."""
    compile_at_once(monkeypatch)
    runs = []
    for is_compiled in (False, True):
        builder = DiagramBuilder()
        plant = builder.AddSystem(pendulum_with_stops())
        noise = builder.AddSystem(RandomSource(distribution, 1, 0.01))
        noise.set_fixed_seed(7)
        torque = builder.AddSystem(Gain(3.0, 1))
        builder.Connect(noise.get_output_port(), torque.get_input_port())
        builder.Connect(torque.get_output_port(), plant.get_actuation_input_port())
        ports = noise.get_output_port(), plant.get_state_output_port()
        logs = [LogVectorOutput(port, builder, 0.01) for port in ports]
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(is_compiled, at_once=True)
        simulator.AdvanceTo(2.0)
        generator = noise.GetMyContextFromRoot(simulator.get_context()).get_abstract_state(0).get_value()
        runs.append([*(log.FindLog(simulator.get_context()).data().copy() for log in logs), generator()])
    for python, compiled in zip(*runs):
        np.testing.assert_array_equal(compiled, python)
    assert np.abs(runs[0][1][0]).max() > 0.049  # it was there
