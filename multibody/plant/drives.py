"""What the actuators of a plant make of their inputs: effort limits and PD controllers.

    u = max(-e, min(e, -Kp (q - qd) - Kd (v - vd) + u_ff))

In a continuous plant, and for actuators without controller, this is a function of state and inputs. In a discrete
plant, q and v are those at the end of the step, which is solved together with the motion (../kernels/drives.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.kernels import drives as kernel_drives
from merganser.multibody.tree import JointActuator, MultibodyTree

__all__ = ["ActuatorTable", "Drives", "clamp"]

Array = NDArray[Any]


@dataclass(frozen=True)
class ActuatorTable:
    """What the model says about its actuators, as arrays in the order of u.

    Attributes:
        limits: effort limits e, shape [num_inputs].
        has_limits: whether any of them is finite.
        controlled: for each model instance with PD controllers, which inputs they have.
        mixed: model instances in which some actuators have controllers and others have none.
        p, d: gains, zero without a controller, shape [num_inputs].
        positions, velocities, mobods: which position and velocity each actuator drives, of which mobod.
    """

    limits: Array
    has_limits: bool
    controlled: dict[int, Array]
    mixed: list[int]
    p: Array
    d: Array
    positions: Array
    velocities: Array
    mobods: Array

    @staticmethod
    def of(tree: MultibodyTree) -> ActuatorTable:
        """Looks at the actuators of a finalized tree."""
        actuators: Sequence[JointActuator] = list(tree.actuators)
        limits = np.array([a.effort_limit() for a in actuators])
        gains = np.array([[a._gains.p, a._gains.d] for a in actuators]).reshape(-1, 2)
        joints = [a.joint() for a in actuators]
        has_controller = np.array([a.has_controller() for a in actuators], dtype=bool)
        inputs = tree.coordinates.inputs
        return ActuatorTable(
            limits=limits,
            has_limits=bool(np.isfinite(limits).any()),
            controlled={i: of_instance for i, of_instance in enumerate(inputs) if has_controller[of_instance].any()},
            mixed=[i for i, s in enumerate(inputs) if has_controller[s].any() and not has_controller[s].all()],
            p=gains[:, 0],
            d=gains[:, 1],
            positions=np.array([joint.position_start() for joint in joints], dtype=np.int64),
            velocities=np.array([joint.velocity_start() for joint in joints], dtype=np.int64),
            mobods=np.array([tree.mobod_of_joint[joint.index()] for joint in joints], dtype=np.int64),
        )


class Drives:
    """The PD controllers at work in one discrete step, as kernels.controlled_step() takes them.

    Args:
        table: of the model.
        inputs: which of its inputs, shape [num_drives].
        offset: efforts at zero velocity, c in ../kernels/drives.py, shape [num_drives].
        time_step: h [s].

    Attributes:
        inputs: as given.
        numbers, values, work: the first three arguments.
        effort: the last one, which the step writes.
    """

    __slots__ = ("effort", "inputs", "numbers", "values", "work")

    def __init__(self, table: ActuatorTable, inputs: Array, offset: Array, time_step: float) -> None:
        self.inputs = inputs
        self.numbers = np.zeros((len(inputs), kernel_drives.NUM_DRIVE_NUMBERS), np.int64)
        self.numbers[:, kernel_drives.DOF] = table.velocities[inputs]
        self.values = np.empty((len(inputs), kernel_drives.NUM_DRIVE_VALUES), offset.dtype)
        self.values[:, kernel_drives.OFFSET] = offset
        self.values[:, kernel_drives.GAIN] = time_step * table.p[inputs] + table.d[inputs]
        self.values[:, kernel_drives.LIMIT] = table.limits[inputs]
        self.work = np.zeros((len(inputs), kernel_drives.NUM_WORK_VALUES), offset.dtype)
        self.effort = np.zeros(len(inputs), offset.dtype)


def clamp(u: Array, limits: Array) -> Array:
    """max(-e, min(e, u)) for numbers of any kind; of complex numbers, the real parts decide."""
    if u.dtype == np.float64:
        return np.minimum(np.maximum(u, -limits), limits)
    if u.dtype == np.complex128:
        return np.where(u.real > limits, limits, np.where(u.real < -limits, -limits, u))
    clamped = u.copy()
    for i in np.flatnonzero(np.isfinite(limits)):
        clamped[i] = _clamped_object(u[i], float(limits[i]))
    return clamped


def _clamped_object(u: Any, limit: float) -> Any:
    if type(u).__name__ == "Expression":
        from merganser.framework import symbolic  # takes a while, and plants of numbers do not need it

        return symbolic.max(-limit, symbolic.min(limit, u))
    return limit + 0.0 * u if u > limit else -limit + 0.0 * u if u < -limit else u
