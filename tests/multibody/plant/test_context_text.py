"""print(context) of a plant shows a group of parameters for each element, not the records that kernels read."""

from __future__ import annotations

from merganser.framework import DiagramBuilder
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import RevoluteJoint, RevoluteSpring, SpatialInertia


def add_pendulum(plant: MultibodyPlant) -> RevoluteJoint:
    body = plant.AddRigidBody("body", SpatialInertia.PointMass(2.0, [0.5, 0.0, 0.0]))
    joint = plant.AddJoint(RevoluteJoint("pivot", plant.world_frame(), body.body_frame(), [0, 1, 0], 0.5))
    plant.AddForceElement(RevoluteSpring(joint, 0.25, 8.0))
    plant.AddJointActuator("motor", joint)
    plant.Finalize()
    return joint


PARAMETERS = """Parameters:
  6 numeric parameter groups with
     1 parameters
       0.5
     1 parameters
       0
     1 parameters
       1
     10 parameters
       nan nan nan nan nan nan nan nan nan nan
     10 parameters
          2  0.5    0    0    0 0.25 0.25   -0   -0   -0
     2 parameters
          8 0.25
  4 abstract parameters
"""


def test_a_plant_shows_joints_motors_bodies_and_springs() -> None:
    plant = MultibodyPlant(0.0)
    joint = add_pendulum(plant)
    context = plant.CreateDefaultContext()
    joint.set_angle(context, 0.125)
    head = "::_ Context\n------------\nTime: 0\nStates:\n  2 continuous states\n    0.125     0\n\n"
    assert str(context) == head + PARAMETERS


def test_a_diagram_counts_what_its_parts_show() -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.01)
    add_pendulum(plant)
    text = str(builder.Build().CreateDefaultContext())
    assert text.startswith(
        "::_ Context (of a Diagram)\n---------------------------\n2 total discrete states in 1 groups\n"
        "1 total abstract states\n25 total numeric parameters in 6 groups\n6 total abstract parameters\n\n"
        "::_::plant Context\n"
    )
    assert PARAMETERS in text
    assert text.endswith("Time: 0\nParameters:\n  2 abstract parameters\n")


def test_what_was_changed_in_a_context_is_shown() -> None:
    plant = MultibodyPlant(0.0)
    joint = add_pendulum(plant)
    context = plant.CreateDefaultContext()
    joint.SetDampingVector(context, [0.75])
    plant.GetBodyByName("body").SetMass(context, 4.0)
    lines = str(context).splitlines()
    assert lines[10] == "       0.75" and lines[18].split()[0] == "4"
