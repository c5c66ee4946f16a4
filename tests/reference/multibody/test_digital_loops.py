"""Discrete plants and controllers beside pydrake's: the same without a controller, and with live output ports."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

pytestmark = pytest.mark.reference

H = 1e-2


def names_of(*modules: str) -> SimpleNamespace:
    names: dict[str, Any] = {}
    for module in modules:
        package = importlib.import_module(module)
        names |= {key: getattr(package, key) for key in dir(package)}  # also those loaded when asked for
    return SimpleNamespace(**names)


OURS = names_of(
    "merganser.framework", "merganser.framework.primitives", "merganser.analysis", "merganser.multibody.tree",
    "merganser.multibody.plant",
)  # fmt: skip
THEIRS = names_of(
    "pydrake.systems.framework", "pydrake.systems.primitives", "pydrake.systems.analysis", "pydrake.multibody.tree",
    "pydrake.multibody.plant",
)  # fmt: skip


def simulate(lib: SimpleNamespace, is_sampled: bool, has_controller: bool) -> Any:
    """A cart on a spring, left alone or with a digital controller; logs its states and counts its updates."""
    builder = lib.DiagramBuilder()
    plant = builder.AddSystem(lib.MultibodyPlant(H))
    plant.SetUseSampledOutputPorts(is_sampled)
    body = plant.AddRigidBody("b", lib.SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.1, 0.1))
    frames = plant.world_frame(), body.body_frame()
    joint = plant.AddJoint(lib.PrismaticJoint("j", *frames, [0.6, 0.0, 0.8], damping=0.3))
    plant.AddJointActuator("a", joint)
    plant.AddForceElement(lib.PrismaticSpring(joint, 0.1, 30.0))
    joint.set_default_translation(0.5)
    plant.Finalize()
    if has_controller:
        period = 2 * H  # of which floats have exact multiples, so that pydrake's clocks meet
        controller = builder.AddSystem(
            lib.LinearSystem([[0.3]], [[-20.0, -5.0]], [[1.0]], [[0.0, 0.0]], time_period=period)
        )
        builder.Connect(plant.get_state_output_port(), controller.get_input_port())
    else:
        controller = builder.AddSystem(lib.ConstantVectorSource([1.0]))
    builder.Connect(controller.get_output_port(0), plant.get_actuation_input_port())
    log = lib.LogVectorOutput(plant.get_state_output_port(), builder, H)
    simulator = lib.Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    found = log.FindLog(simulator.get_context())
    counts = simulator.get_num_discrete_updates(), simulator.get_num_unrestricted_updates()
    return found.data(), counts


@pytest.mark.parametrize("is_sampled", [False, True])
def test_a_plant_without_a_controller_is_as_in_pydrake(is_sampled: bool) -> None:
    (ours, our_counts), (theirs, their_counts) = (simulate(lib, is_sampled, False) for lib in (OURS, THEIRS))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert our_counts == their_counts


def test_a_digital_loop_with_live_or_sampled_ports_equals_that_of_pydrake() -> None:
    expected, _ = simulate(THEIRS, False, True)
    live, sampled = (simulate(OURS, is_sampled, True)[0] for is_sampled in (False, True))
    np.testing.assert_allclose(live, expected, atol=1e-12)
    np.testing.assert_array_equal(sampled, live)
    with_less_delay, _ = simulate(THEIRS, True, True)
    assert np.abs(with_less_delay - expected).max() > 1e-3
