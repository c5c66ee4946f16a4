"""Mechanisms with joints of every type, built with either library."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
from explicit_products import as_pydrake

MULTI_DOF = ("BallRpyJoint", "UniversalJoint", "PlanarJoint", "RpyFloatingJoint", "QuaternionFloatingJoint")
KINDS = (*MULTI_DOF[:3], "ScrewJoint", "RevoluteJoint", "PrismaticJoint", "RpyFloatingJoint", "QuaternionFloatingJoint")


def forget_limits(plant: Any) -> None:
    """Takes the position limits away, which our continuous plants hold, and pydrake's do not."""
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        inf = np.full(joint.num_positions(), np.inf)
        joint.set_position_limits(-inf, inf)


def library(name: str) -> SimpleNamespace:
    """All names of multibody of one library: "ours", or else pydrake."""
    root = "merganser" if name == "ours" else "pydrake"
    names = {}
    math = "framework.math" if name == "ours" else "math"
    for module in ("multibody.math", "multibody.tree", "multibody.plant", "multibody.parsing", math):
        package = importlib.import_module(f"{root}.{module}")
        names |= {key: getattr(package, key) for key in dir(package)}  # also those loaded when asked for
    return SimpleNamespace(**names)


def mechanism(lib: SimpleNamespace, seed: int, time_step: float) -> Any:
    """Two joints of every kind in random order and random frames; each body on the world or on one before it."""
    rng = np.random.default_rng(seed)
    plant = as_pydrake(lib.MultibodyPlant(time_step))
    if time_step > 0.0:
        plant.SetUseSampledOutputPorts(False)

    def frame_on(body):
        X_BF = lib.RigidTransform(lib.RollPitchYaw(*rng.uniform(-3, 3, 3)), rng.normal(size=3))
        return plant.AddFrame(lib.FixedOffsetFrame(f"f{plant.num_frames()}", body.body_frame(), X_BF))

    bodies = [plant.world_body()]
    for kind in rng.permutation([*KINDS, *KINDS]):
        inertia = lib.SpatialInertia.SolidBoxWithMass(*rng.uniform(0.3, 1, 4)).Shift(rng.normal(size=3))
        body = plant.AddRigidBody(f"b{len(bodies)}", inertia)
        F, M = frame_on(bodies[rng.integers(max(0, len(bodies) - 3), len(bodies))]), frame_on(body)
        axis, pitch, damping = rng.normal(size=3), rng.uniform(-2, 2), rng.uniform(0.1, 1.0, 3)
        arguments = {
            "ScrewJoint": (axis, pitch, damping[0]),
            "RevoluteJoint": (axis, damping[0]),
            "PrismaticJoint": (axis,),
            "PlanarJoint": (damping,),
        }.get(kind, (damping[0],))
        joint = plant.AddJoint(getattr(lib, kind)(f"j{len(bodies)}", F, M, *arguments))
        if kind in ("ScrewJoint", "RevoluteJoint"):
            actuator = plant.AddJointActuator(f"a{len(bodies)}", joint)
            actuator.set_default_rotor_inertia(damping[1])
            actuator.set_default_gear_ratio(pitch)
        bodies.append(body)
    plant.Finalize()
    return plant
