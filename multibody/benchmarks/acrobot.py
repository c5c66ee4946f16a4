"""The acrobot: two links that hang from a hinge, with a motor between them (Spong 1995).

Axes of both hinges are y; links hang along -z of their frames, whose origins are on the hinges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import Cylinder, SceneGraph, Shape, Sphere
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, RevoluteJoint, RigidBody, SpatialInertia, UnitInertia


@dataclass(frozen=True)
class AcrobotParameters:
    """Numbers of an acrobot.

    Attributes:
        m1, m2: masses of the links [kg].
        l1, l2: lengths [m].
        lc1, lc2: from a hinge to the centre of mass [m].
        Ic1, Ic2: moments of inertia about the centre of mass, normal to the link [kg m^2]; zero along the link.
        r1, r2: radii of the links as they are drawn [m].
        g: gravity [m/s^2].
    """

    m1: float = 1.0
    m2: float = 1.0
    l1: float = 1.0
    l2: float = 2.0
    lc1: float = 0.5
    lc2: float = 1.0
    Ic1: float = 0.083
    Ic2: float = 0.33
    r1: float = 0.035
    r2: float = 0.07
    g: float = 9.81


def MakeAcrobotPlant(
    default_parameters: AcrobotParameters, finalize: bool, scene_graph: SceneGraph | None = None
) -> MultibodyPlant:
    """A plant of an acrobot, without contact and friction.

    Args:
        default_parameters: its numbers.
        finalize: whether the plant is finalized.
        scene_graph: with which the plant registers, and gets shapes to be seen.
    """
    given = default_parameters
    plant = MultibodyPlant(0.0)
    if scene_graph is not None:
        plant.RegisterAsSourceForSceneGraph(scene_graph)
    first = plant.AddRigidBody("Link1", _inertia(given.m1, given.lc1, given.Ic1))
    second = plant.AddRigidBody("Link2", _inertia(given.m2, given.lc2, given.Ic2))
    world = plant.world_frame()
    plant.AddJoint(RevoluteJoint("ShoulderJoint", world, first.body_frame(), [0.0, 1.0, 0.0]))
    end = RigidTransform([0.0, 0.0, -given.l1])
    elbow = plant.AddFrame(FixedOffsetFrame("ElbowJoint_parent", first.body_frame(), end))
    joint = plant.AddJoint(RevoluteJoint("ElbowJoint", elbow, second.body_frame(), [0.0, 1.0, 0.0]))
    plant.AddJointActuator("ElbowActuator", joint)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -given.g])
    if scene_graph is not None:
        _draw(plant, plant.world_body(), Sphere(given.l1 / 8.0), 0.0)
        _draw(plant, first, Cylinder(given.r1, given.l1), -0.5 * given.l1)
        _draw(plant, second, Cylinder(given.r2, given.l2), -0.5 * given.l2)
    if finalize:
        plant.Finalize()
    return plant


def _inertia(mass: float, p_z: float, I_z: float) -> SpatialInertia:
    """Of a thin link about its hinge: its centre of mass is p_z below."""
    about_hinge = I_z / mass + p_z * p_z
    return SpatialInertia(mass, [0.0, 0.0, -p_z], UnitInertia(about_hinge, about_hinge, 0.0))


def _draw(plant: MultibodyPlant, body: RigidBody, shape: Shape, p_z: float) -> None:
    gray = np.array([0.6, 0.6, 0.6, 1.0])
    plant.RegisterVisualGeometry(body, RigidTransform([0.0, 0.0, p_z]), shape, "visual", gray)
