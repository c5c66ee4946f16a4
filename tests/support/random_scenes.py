"""Random plants in contact that are hard to solve, built by the same lines for either library."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from contact_scenes import Scene, material

STICTION_TOLERANCE = 1e-3  # [m/s]
_FRICTIONS = (0.0, 0.1, 0.5, 1.0, 10.0)


def random_scene(lib: SimpleNamespace, seed: int, approximation: str, *, is_free: bool = False) -> Scene:
    """Bodies thrown into each other, with the masses of their shapes.

    The same seed gives the same bodies and joints without anything to hold, if `is_free`.

    Masses go over six decades, stiffnesses from 0 to 1e12 N/m, frictions from 0 to 10, time steps from 0.1 to 20 ms;
    bodies overlap by up to all their size and spin with up to 1000 rad/s. In every third scene some bodies hang on
    joints with limits, and drives of high gains, and spin with up to 30 rad/s; in others but those of TAMSI, which has
    none, some are held by constraints, which say the same several times.
    """
    rng = np.random.default_rng(seed)
    num_bodies, time_step = int(rng.integers(2, 9)), float(10.0 ** rng.uniform(-4.0, -1.7))
    has_joints, num_links = rng.random() < 0.33, int(rng.integers(0, 4))

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        plant.set_stiction_tolerance(STICTION_TOLERANCE)
        bodies = [_add_body(lib, plant, rng, i, is_free) for i in range(num_bodies)]
        shape = lib.HalfSpace() if rng.random() < 0.7 else lib.Box(1.0, 1.0, 0.3)
        height = 0.0 if isinstance(shape, lib.HalfSpace) else -0.15
        ground = material(lib, float(rng.choice(_FRICTIONS)))
        if not is_free:
            X_WG = lib.RigidTransform([0.0, 0.0, height])
            plant.RegisterCollisionGeometry(plant.world_body(), X_WG, shape, "ground", ground)
        if has_joints:
            for i, body in enumerate(bodies):
                if rng.random() < 0.6:
                    _hang(lib, plant, rng, bodies[:i], body, is_free)
        for _ in range(num_links):
            chosen = [bodies[k] for k in rng.permutation(num_bodies)[:2]]
            kind, times = rng.integers(3), rng.integers(1, 4)
            if approximation != "kTamsi" and not is_free:
                for _ in range(times):
                    _link(lib, plant, rng, kind, *chosen)

    scene = Scene(lib, time_step, fill, approximation)
    plant, context = scene.plant, scene.context
    num_drives = plant.num_actuators()
    if num_drives:
        port = plant.get_desired_state_input_port(lib.default_model_instance())
        port.FixValue(context, rng.normal(size=2 * num_drives))
    spread, speed = rng.choice([0.02, 0.2]), rng.choice([0.0, 1.0, 10.0])
    spin = min(rng.choice([0.0, 1.0, 30.0, 1000.0]), 30.0 if has_joints else math.inf)
    for i in range(num_bodies):
        body = plant.GetBodyByName(f"body{i}")
        if body.is_floating_base_body():
            R_WB = lib.RotationMatrix(lib.RollPitchYaw(*rng.uniform(-math.pi, math.pi, 3)))
            p_WoBo_W = rng.uniform(-spread, spread, 3) + [0.0, 0.0, 0.1]
            plant.SetFreeBodyPose(context, body, lib.RigidTransform(R_WB, p_WoBo_W))
            V_WB_W = np.concatenate([spin * rng.normal(size=3), speed * rng.normal(size=3)])
            plant.SetFreeBodySpatialVelocity(body, lib.SpatialVelocity(V_WB_W), context)
    return scene


def _add_body(lib: SimpleNamespace, plant: Any, rng: np.random.Generator, i: int, is_free: bool) -> Any:
    size = 10.0 ** rng.uniform(-2.0, -0.5, 3)
    kind, mass = rng.integers(4), 10.0 ** rng.uniform(-3.0, 3.0)
    shape = (lib.Sphere(size[0]), lib.Box(*size), lib.Cylinder(*size[:2]), lib.Capsule(*size[:2]))[kind]
    of_unit_density = lib.CalcSpatialInertia(shape, 1.0)
    inertia = lib.SpatialInertia(mass, of_unit_density.get_com(), of_unit_density.get_unit_inertia())
    stiffness = float(rng.choice([0.0, 10.0 ** rng.uniform(1.0, 12.0), 10.0 ** rng.uniform(3.0, 7.0), 1e12]))
    properties = material(
        lib,
        float(rng.choice(_FRICTIONS)),
        float(rng.choice([0.0, 1e-4, 0.1, 1.0])),
        dissipation=float(rng.choice([0.0, 0.1, 1.0, 50.0, 1e4])),
    )
    properties.AddProperty("material", "point_contact_stiffness", stiffness)
    X_BG = lib.RigidTransform(np.array(rng.choice([0.0, 0.02]) * rng.normal(size=3)))
    body = plant.AddRigidBody(f"body{i}", inertia)
    if not is_free:
        plant.RegisterCollisionGeometry(body, X_BG, shape, f"shape{i}", properties)
    return body


def _hang(
    lib: SimpleNamespace, plant: Any, rng: np.random.Generator, others: list[Any], body: Any, is_free: bool
) -> None:
    """Joins a body to the world or to another body, by a joint with limits that may have a drive."""
    parent = plant.world_body() if not others or rng.random() < 0.3 else others[rng.integers(len(others))]
    name, axis = f"joint_of_{body.name()}", rng.normal(size=3)
    X_PF = lib.RigidTransform(np.array(rng.uniform(-0.1, 0.1, 3)))
    frame = plant.AddFrame(lib.FixedOffsetFrame(f"{name}_F", parent.body_frame(), X_PF))
    make = lib.RevoluteJoint if rng.random() < 0.5 else lib.PrismaticJoint
    limit = float(rng.choice([0.01, 0.3, math.inf]))
    limit = math.inf if is_free else limit
    joint = make(name, frame, body.body_frame(), axis, -limit, limit, float(rng.choice([0.0, 0.1, 1e3])))
    plant.AddJoint(joint)
    has_drive, effort_limit = rng.random() < 0.5, 10.0 ** rng.uniform(-1.0, 3.0)
    gains = lib.PdControllerGains(p=10.0 ** rng.uniform(0.0, 6.0), d=rng.uniform(0.0, 100.0))
    if has_drive and not is_free:
        plant.AddJointActuator(f"drive_of_{body.name()}", joint, effort_limit).set_controller_gains(gains)


def _link(lib: SimpleNamespace, plant: Any, rng: np.random.Generator, kind: int, first: Any, second: Any) -> None:
    p_AP, p_BQ = (np.array(rng.choice([0.0, 0.1]) * rng.normal(size=3)) for _ in range(2))
    if kind == 0:
        plant.AddBallConstraint(first, p_AP, second, p_BQ)
    elif kind == 1:
        plant.AddWeldConstraint(first, lib.RigidTransform(p_AP), second, lib.RigidTransform(p_BQ))
    else:
        stiffness = float(rng.choice([1.0, 1e6, math.inf]))
        plant.AddDistanceConstraint(first, p_AP, second, p_BQ, 0.05, stiffness, float(rng.choice([0.0, 10.0])))
