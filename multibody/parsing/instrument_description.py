"""Cameras, lights, sensors and keyframes of a model file; see description.py."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import BodyReference, ShapeDescription
from merganser.multibody.parsing.errors import SourceLocation


@dataclass(frozen=True, eq=False)
class CameraMotion:
    """How a camera C moves that is not fixed to its body B: with a point, or turning towards one.

    Attributes:
        is_turning: it stays at its place in B and looks at the point, with its x level; or else it keeps its
            orientation and its place relative to the point.
        is_of_center: the point is the mass centre of the bodies; or else the origin of the only one.
        bodies: that have the point.
        body: B.
        X_BC: pose in B where the file puts the model, and
        X_WC: in the world.
        p_WoP_W: the point, where the file puts the model [m], shape [3].
    """

    is_turning: bool
    is_of_center: bool
    bodies: tuple[BodyReference, ...]
    body: BodyReference
    X_BC: RigidTransform
    X_WC: RigidTransform
    p_WoP_W: np.ndarray


@dataclass(frozen=True)
class CameraDescription:
    """A camera of one model.

    Attributes:
        name: of the camera.
        frame: name of a frame of the model: x to the right of the image, y down, z forward.
        width, height: of its images [pixels].
        focal: focal lengths in x and y [pixels], if it has some of its own.
        fov_y: vertical field of view [degrees], if not.
        center: the principal point [pixels]; None for the middle of the image.
        motion: of a camera that is fixed to no body, and has no frame.
    """

    name: str
    frame: str
    width: int
    height: int
    focal: tuple[float, float] | None
    fov_y: float
    motion: CameraMotion | None = None
    center: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class LightDescription:
    """A light of one model.

    Attributes:
        kind: point, spot or directional.
        frame: world, or camera (z forward).
        color: red, green and blue, from 0 to 1.
        attenuation: k0, k1 and k2; at the distance d there is 1 / (k0 + k1 d + k2 d^2) of it, shape [3].
        position: in the frame [m], shape [3].
        direction: in which it shines, shape [3].
        cone_angle: of a spot, from its axis to the edge [degrees].
    """

    kind: str
    frame: str
    color: tuple[float, float, float]
    attenuation: np.ndarray
    position: np.ndarray
    direction: np.ndarray
    cone_angle: float = 0.0


_SAME_TIME = 1e-9  # of a period


@dataclass(frozen=True)
class SensorSampling:
    """When a sensor measures, and how late its output says what.

    At the time t the output is what was measured at t - delay: the last measurement until then, or the oldest one that
    is kept; 0 before the first one. A measurement is kept from its event on, as by a ZeroOrderHold.

    Attributes:
        delay: not negative [s].
        num_samples: how many measurements are kept, the last ones.
        period: between measurements [s]; None for the time step of a discrete plant.
        offset: of the first measurement [s].
        is_linear: whether the output between two measurements is interpolated.
    """

    delay: float = 0.0
    num_samples: int = 1
    period: float | None = None
    offset: float = 0.0
    is_linear: bool = False

    def __post_init__(self) -> None:
        """Refuses numbers that are none of these."""
        times = self.delay, self.offset, 1.0 if self.period is None else self.period
        if not all(time >= 0.0 and isfinite(time) for time in times) or times[2] == 0.0 or self.num_samples < 1:
            raise ValueError(
                f"{self}: delay and offset must not be negative, the period must be positive, all finite, and "
                "num_samples 1 or more."
            )

    def start(self, period: float, size: int) -> np.ndarray:
        """What is kept before the first measurement: times and zeros, shape [num_samples, 1 + size]."""
        kept = np.zeros((self.num_samples, 1 + size))
        kept[:, 0] = self.offset + period * np.arange(-self.num_samples, 0)
        return kept

    def read(self, kept: np.ndarray, time: float, period: float) -> np.ndarray:
        """The output at a time, of the times and values that are kept; shape [size]."""
        times, values, then = kept[:, 0], kept[:, 1:], time - self.delay
        if self.is_linear:
            return np.array([np.interp(then, times, each) for each in values.T])
        row = int(np.searchsorted(times, then + _SAME_TIME * period, "right")) - 1
        last: np.ndarray = values[max(row, 0)]
        return last


@dataclass(frozen=True)
class SensorDescription:
    """A sensor of one model.

    Attributes:
        kind: what it measures, as MJCF calls it.
        name: unique among the sensors of the model.
        frames: of what it is about, and perhaps of what that is measured against: bodies and poses X_BF in them.
        joints: names of joints with coefficients, of joints and tendons.
        transmission: name of the one whose length it measures, in place of joints; empty for none.
        actuators: their names, and gears by which forces are divided, or lengths multiplied.
        bodies: names of those of a subtree.
        shape: in which contacts or the first frame count, around the last frame.
        cutoff: what it measures is within -cutoff and cutoff, if that is positive.
        limits: of its joint or tendon, whose distance it measures.
        constants: in the world, what a magnetometer measures; of a projection focal lengths and the middle of the image
            in x and y [pixels].
        sampling: when it measures; None for always, without delay.
    """

    kind: str
    name: str
    location: SourceLocation
    frames: tuple[tuple[BodyReference, RigidTransform], ...] = ()
    joints: tuple[tuple[str, float], ...] = ()
    transmission: str = ""
    actuators: tuple[tuple[str, float], ...] = ()
    bodies: tuple[BodyReference, ...] = ()
    shape: ShapeDescription | None = None
    cutoff: float = 0.0
    limits: tuple[float, float] = (-inf, inf)
    constants: np.ndarray | None = None
    sampling: SensorSampling | None = None


@dataclass(frozen=True, eq=False)
class KeyframeDescription:
    """A state of one model, as a key of MJCF gives it.

    Attributes:
        name: unique among the keys of the model.
        positions, velocities: numbers of qpos and qvel by the names of joints, or of bodies that float; quaternions are
            of length 1.
    """

    name: str
    location: SourceLocation
    positions: dict[str, np.ndarray]
    velocities: dict[str, np.ndarray]
