"""Small plants built in code, and the example models, for tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import PrismaticJoint, RevoluteJoint, RigidBody, SpatialInertia, UnitInertia

REPOSITORY = Path(__file__).parents[2]
EXAMPLE_MODELS = REPOSITORY / "examples" / "models"
MODELS = Path(os.environ.get("MERGANSER_MODELS", REPOSITORY.parent / "shared" / "models"))

BOX_SIZE = (0.1, 0.2, 0.3)
BOX_MASS = 2.0


def box_inertia(mass: float = BOX_MASS) -> SpatialInertia:
    return SpatialInertia.SolidBoxWithMass(mass, *BOX_SIZE)


def off_centre_inertia() -> SpatialInertia:
    """Mass 1.5 kg, its centre away from the origin of the body, all products of inertia nonzero."""
    return SpatialInertia(1.5, [0.1, -0.2, 0.3], UnitInertia(0.2, 0.19, 0.17, 0.03, -0.02, 0.05))


def arm_and_box(time_step: float, damping: float = 0.3, plant: MultibodyPlant | None = None) -> MultibodyPlant:
    """Finalized: an arm with a revolute and a prismatic joint, both driven, a tool welded on, and a free box.

    Model instance "arm": joints "shoulder" (damped) and "slide", actuators "motor" (with a rotor) and
    "piston", bodies "upper", "lower" and "tool". Model instance "thing": body "box".
    q is that of the arm, then of the box, shape [2 + 7].
    """
    plant = MultibodyPlant(time_step) if plant is None else plant
    arm, thing = plant.AddModelInstance("arm"), plant.AddModelInstance("thing")
    upper = plant.AddRigidBody("upper", arm, off_centre_inertia())
    lower = plant.AddRigidBody("lower", arm, box_inertia(0.7))
    tool = plant.AddRigidBody("tool", arm, off_centre_inertia())
    plant.AddRigidBody("box", thing, off_centre_inertia())
    shoulder = RevoluteJoint("shoulder", plant.world_frame(), upper.body_frame(), [0, 1, 0], damping=damping)
    slide = PrismaticJoint("slide", upper.body_frame(), lower.body_frame(), [1, 0, 1])
    X_LT = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [0.1, 0.2, -0.3])
    plant.WeldFrames(lower.body_frame(), tool.body_frame(), X_LT)
    motor = plant.AddJointActuator("motor", plant.AddJoint(shoulder))
    motor.set_default_rotor_inertia(0.01)
    motor.set_default_gear_ratio(3.0)
    plant.AddJointActuator("piston", plant.AddJoint(slide))
    plant.Finalize()
    return plant


def free_box(time_step: float, inertia: SpatialInertia | None = None) -> tuple[MultibodyPlant, RigidBody]:
    """A finalized plant of one body that nothing holds."""
    plant = MultibodyPlant(time_step)
    body = plant.AddRigidBody("box", box_inertia() if inertia is None else inertia)
    plant.Finalize()
    return plant, body


def pendulum(time_step: float, length: float = 0.7, mass: float = 1.3, motor: bool = False) -> MultibodyPlant:
    """A finalized plant of a point mass on a massless rod that turns about y; with an actuator if wanted."""
    plant = MultibodyPlant(time_step)
    bob = plant.AddRigidBody("bob", SpatialInertia.PointMass(mass, [0, 0, -length]))
    pin = plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), bob.body_frame(), [0, 1, 0]))
    if motor:
        plant.AddJointActuator("motor", pin)
    plant.Finalize()
    return plant


def example_plant(file: str, time_step: float = 0.0) -> MultibodyPlant:
    """A finalized plant with a model of examples/models."""
    plant = MultibodyPlant(time_step)
    Parser(plant).AddModels(str(EXAMPLE_MODELS / file))
    plant.Finalize()
    return plant


def set_random_state(plant: MultibodyPlant, context: Any, seed: int) -> np.random.Generator:
    """Sets positions and velocities, and gives the random generator for more."""
    rng = np.random.default_rng(seed)
    plant.SetPositions(context, rng.normal(size=plant.num_positions()))
    plant.SetVelocities(context, rng.normal(size=plant.num_velocities()))
    return rng


def no_actuation(plant: MultibodyPlant, context: Any) -> None:
    plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuated_dofs()))


class Controller(LeafSystem):
    """u(t) from a Python function of time."""

    def __init__(self, size: int, law: Any) -> None:
        super().__init__()
        self.law = law
        self.DeclareVectorOutputPort("command", BasicVector(size), self._calc)

    def _calc(self, context: Any, output: BasicVector) -> None:
        output.SetFromVector(np.atleast_1d(self.law(context.get_time())))


def driven(plant: MultibodyPlant, law: Any) -> tuple[Any, Controller]:
    """A diagram of the plant, named "plant", and of a "controller" that drives all its actuators."""
    builder = DiagramBuilder()
    builder.AddNamedSystem("plant", plant)
    controller = builder.AddNamedSystem("controller", Controller(plant.num_actuated_dofs(), law))
    builder.Connect(controller.get_output_port(), plant.get_actuation_input_port())
    return builder.Build(), controller
