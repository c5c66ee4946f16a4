"""Kinds of sensors: what each measures of a plant, from the ports of the plant.

    def calc_height(sensor, ports):
        return [ports.pose(sensor.frames[0]).translation()[2]]

    HEIGHT = SensorKind("height", 1, calc_height, ("body_poses",))

Those of MJCF files are in mjcf_sensors.py. `AddSensor` adds a sensor of any kind to a diagram (plant_sensors.py).

The frame F of a sensor is fixed to a body B; W is the world.

    p_WF = p_WB + R_WB p_BF,   v_WF = v_WB + w_WB x p_BF_W                                (1)
    a_WF = a_WB + alpha_WB x p_BF_W + w_WB x (w_WB x p_BF_W)                              (2)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from merganser.framework import Context, InputPort
from merganser.framework.math import RigidTransform
from merganser.geometry import FrameId
from merganser.geometry.scene.query_object import RayCaster
from merganser.multibody.parsing.description import ShapeDescription
from merganser.multibody.tree import Transmission

Array = NDArray[Any]
FrameOnBody = tuple[int, RigidTransform]  # the index of a body, and a pose in it


@dataclass(frozen=True)
class Weighed:
    """A body with its mass, mass centre and central inertia, in its frame [kg, m, kg m^2]."""

    index: int
    mass: float
    p_BoBcm_B: Array
    I_BBcm_B: Array


@dataclass(frozen=True, eq=False)
class Measured:
    """The object of one sensor, in terms of a finalized plant.

    Attributes:
        frames: of the sensor, and perhaps one that it is measured against.
        transmission: whose length it measures, a Context to compute it in, and the gear of the length.
        pulls: indices of actuators along transmissions, these, and a Context to compute their moment arms in.
        coordinates: places of positions, of velocities among the states, and coefficients.
        joint: indices of its two bodies, its frames on these, and its index; of ball joints, and of reaction forces.
        actuators: their indices, and gears by which forces are divided.
        bodies: of a subtree.
        shape: in which contacts or the first frame count, around the last frame.
        gravity: in the world [m/s^2].
        limits: whose distance counts [rad or m].
        constants: numbers of the sensor.
        rays: casts those of a range finder, which pass the geometries of the frames `passed`.
    """

    frames: tuple[FrameOnBody, ...] = ()
    transmission: tuple[Transmission, Context, float] | None = None
    pulls: tuple[tuple[int, Transmission, Context], ...] = ()
    coordinates: tuple[tuple[int, int, float], ...] = ()
    joint: tuple[int, RigidTransform, int, RigidTransform, int] | None = None
    actuators: tuple[tuple[int, float], ...] = ()
    bodies: tuple[Weighed, ...] = ()
    shape: ShapeDescription | None = None
    gravity: Array | None = None
    limits: tuple[float, float] = (-math.inf, math.inf)
    constants: Array | None = None
    rays: RayCaster | None = None
    passed: tuple[FrameId, ...] = ()


class Ports:
    """Values of the ports of the plant, each read when needed: `ports["state"]`.

    Args:
        kind: of the sensor, which says what it reads.
        inputs: of its system, by the names of the ports.
        context: of its system.
    """

    def __init__(self, kind: SensorKind, inputs: Mapping[str, InputPort], context: Context) -> None:
        self._kind, self._inputs, self._context = kind, inputs, context
        self.time = context.get_time()

    def __getitem__(self, name: str) -> Any:
        if name not in self._kind.inputs:
            raise RuntimeError(
                f"SensorKind '{self._kind.name}' reads the port '{name}', which is not among its inputs "
                f"{self._kind.inputs}; add it there."
            )
        return self._inputs[name].Eval(self._context)

    def pose(self, frame: FrameOnBody) -> RigidTransform:
        """X_WF (1)."""
        X_WB: RigidTransform = self["body_poses"][frame[0]]
        return X_WB @ frame[1]

    def velocity(self, frame: FrameOnBody) -> tuple[Array, Array]:
        """w_WF and v_WF (1)."""
        X_WB, V = self["body_poses"][frame[0]], self["body_spatial_velocities"][frame[0]]
        moved = V.Shift(X_WB.rotation() @ frame[1].translation())
        return moved.rotational(), moved.translational()

    def acceleration(self, frame: FrameOnBody) -> tuple[Array, Array]:
        """alpha_WF and a_WF (2)."""
        X_WB, V = self["body_poses"][frame[0]], self["body_spatial_velocities"][frame[0]]
        A = self["body_spatial_accelerations"][frame[0]]
        moved = A.Shift(X_WB.rotation() @ frame[1].translation(), V.rotational())
        return moved.rotational(), moved.translational()


@dataclass(frozen=True, eq=False)
class SensorKind:
    """One kind of sensor.

    Attributes:
        name: such as "gyro".
        size: how many numbers it measures.
        calc: (sensor, ports) computes them: of a `Measured`, from the `Ports` of its plant.
        inputs: names of the output ports of the plant that `calc` reads; "geometry_query" is that of the scene graph.
        is_positive: whether what it measures is never negative, so that a cutoff is a bound from above alone.
    """

    name: str
    size: int
    calc: Callable[[Measured, Ports], Any]
    inputs: tuple[str, ...]
    is_positive: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.inputs, str):
            raise TypeError(f"SensorKind '{self.name}': inputs must be names of ports, got the text {self.inputs!r}.")
