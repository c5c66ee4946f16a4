"""PD controllers in discrete steps with joint limits and contact: stable at any gain and any step."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import APPROXIMATIONS, Scene, contact_library, material

LIB = contact_library("ours")
G = 9.81
TIME_STEPS = (1e-4, 1e-3, 0.02, 0.1)
NUM_SLIDERS = 16  # in one plant; each is a scene of its own, as nothing connects it with the others
NUM_STEPS = 40
RADIUS, STIFFNESS = 0.1, 1e5


class Sliders:
    """Spheres on vertical rails, with drives; some of them with a lower limit, with the ground beneath them, or both.

    Args:
        rng: of masses, gains, targets and starts.
        time_step: h [s].
        approximation: of contact.
    """

    def __init__(self, rng: np.random.Generator, time_step: float, approximation: str) -> None:
        n = NUM_SLIDERS
        self.mass, self.Kp = 10.0 ** rng.uniform(-3.0, 2.0, n), 10.0 ** rng.uniform(2.0, 10.0, n)
        self.Kd = np.where(rng.random(n) < 0.3, 0.0, 10.0 ** rng.uniform(-2.0, 6.0, n))
        self.target, self.limit = rng.uniform(-0.1, 0.1, n), rng.uniform(-0.05, 0.05, n)
        self.has_limit, self.has_ground = rng.random((2, n)) < 0.6
        # Nothing is pushed out of what it is in at the start.
        self.z, self.v = np.maximum(self.limit, 0.0) + rng.uniform(0.0, 0.1, n), rng.normal(size=n)
        self.scene = Scene(LIB, time_step, self._fill, approximation)
        port = self.scene.plant.get_desired_state_input_port(LIB.default_model_instance())
        port.FixValue(self.scene.context, np.concatenate([self.target, np.zeros(n)]))

    def _fill(self, lib: SimpleNamespace, plant: Any) -> None:
        properties = material(lib, 0.5, point_stiffness=2.0 * STIFFNESS, dissipation=1.0)
        for i in range(NUM_SLIDERS):
            body = plant.AddRigidBody(f"body{i}", lib.SpatialInertia.SolidSphereWithMass(self.mass[i], RADIUS))
            X_WP = lib.RigidTransform([i, 0.0, 0.0])
            frame = plant.AddFrame(lib.FixedOffsetFrame(f"rail{i}", plant.world_frame(), X_WP))
            lower = self.limit[i] if self.has_limit[i] else -math.inf
            rail = lib.PrismaticJoint(f"joint{i}", frame, body.body_frame(), [0, 0, 1], lower, math.inf)
            motor = plant.AddJointActuator(f"motor{i}", plant.AddJoint(rail))
            motor.set_controller_gains(lib.PdControllerGains(p=self.Kp[i], d=self.Kd[i]))
            if self.has_ground[i]:
                shape, X_BG = lib.Sphere(RADIUS), lib.RigidTransform()
                plant.RegisterCollisionGeometry(body, X_BG, shape, f"sphere{i}", properties)
                X_WG = lib.RigidTransform([i, 0.0, -RADIUS - 0.25])
                shape = lib.Box(0.5, 0.5, 0.5)
                plant.RegisterCollisionGeometry(plant.world_body(), X_WG, shape, f"ground{i}", properties)

    def reach(self, duration: float) -> np.ndarray:
        """How far from its target a slider may come, by its energy: as far as its weight and its speed carry it.

        The stiffness counts that a drive has at least: a step of length h makes none stiffer than its rigid bound
        h (h Kp + Kd) = 4 pi^2 / beta^2 m, with beta = 0.1.
        """
        h = self.scene.time_step
        gain = h * (h * self.Kp + self.Kd)
        stiffness = self.Kp * np.minimum(1.0, 4.0 * math.pi**2 / 0.1**2 * self.mass / gain)
        held = 2.0 * self.mass * G / stiffness + np.abs(self.v) * np.sqrt(self.mass / stiffness)
        free = 0.5 * G * duration**2 + np.abs(self.v) * duration
        return 2.0 * np.abs(self.z - self.target) + np.minimum(held, free)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("time_step", TIME_STEPS)
def test_stiff_controllers_against_limits_and_ground_gain_no_energy(time_step: float, approximation: str) -> None:
    rng = np.random.default_rng([int(1e4 * time_step), APPROXIMATIONS.index(approximation)])
    sliders = Sliders(rng, time_step, approximation)
    states = sliders.scene.run(NUM_STEPS, np.concatenate([sliders.z, sliders.v]))
    distance = np.abs(states[:, :NUM_SLIDERS] - sliders.target)
    assert np.isfinite(states).all()
    assert (distance <= sliders.reach(NUM_STEPS * time_step)).all()


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_stiff_arms_that_push_into_limits_and_ground_come_to_rest(approximation: str) -> None:
    """Joints that share a tree, whose drives ask for what limits and the ground do not allow."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        p, h = 10.0 ** rng.uniform(3.0, 10.0), 10.0 ** rng.uniform(-3.0, -1.0)

        def fill(lib: SimpleNamespace, plant: Any, p: float = p) -> None:
            parent, properties = plant.world_frame(), material(lib, 0.3, point_stiffness=1e5, dissipation=1.0)
            for i in range(3):
                body = plant.AddRigidBody(f"link{i}", lib.SpatialInertia.SolidBoxWithMass(10.0**-i, 0.3, 0.05, 0.05))
                X_PF = lib.RigidTransform([0.15 if i else 0.0, 0.0, 0.0])
                frames = (
                    plant.AddFrame(lib.FixedOffsetFrame(f"P{i}", parent, X_PF)),
                    plant.AddFrame(lib.FixedOffsetFrame(f"B{i}", body.body_frame(), lib.RigidTransform([-0.15, 0, 0]))),
                )
                joint = plant.AddJoint(lib.RevoluteJoint(f"joint{i}", *frames, [0, 1, 0], -0.4, 0.4))
                motor = plant.AddJointActuator(f"motor{i}", joint)
                motor.set_controller_gains(lib.PdControllerGains(p=p, d=1e-2 * p))
                X_BG = lib.RigidTransform([0.15, 0.0, 0.0])
                plant.RegisterCollisionGeometry(body, X_BG, lib.Sphere(0.03), f"tip{i}", properties)
                parent = body.body_frame()
            X_WG = lib.RigidTransform([0.0, 0.0, -0.1])
            plant.RegisterCollisionGeometry(plant.world_body(), X_WG, lib.HalfSpace(), "ground", properties)

        scene = Scene(LIB, h, fill, approximation)
        port = scene.plant.get_desired_state_input_port(LIB.default_model_instance())
        port.FixValue(scene.context, [0.6, 0.6, -0.6, 0.0, 0.0, 0.0])
        states = scene.run(60)
        assert np.isfinite(states).all()
        assert np.abs(states[:, :3]).max() < 2.0
        assert np.abs(states[-1, 3:]).max() < 0.1
