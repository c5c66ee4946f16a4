"""What the actuators of a plant make of their inputs: effort limits and PD controllers.

    u = max(-e, min(e, -Kp (q - qd) - Kd (v - vd) + u_ff))

In a continuous plant, and for actuators without controller, this is a function of state and inputs. In a discrete
plant, q and v are those at the end of the step, which is solved together with the motion (../kernels/drives.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.kernels import drives as kernel_drives
from merganser.multibody.tree import JointActuator, MultibodyTree

__all__ = ["ActuatorTable", "Controllers", "Drives", "clamp"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Controllers:
    """PD controllers at work, as arrays in the order of u, shape [num_controllers].

    Attributes:
        inputs: which inputs have them.
        limits: effort limits.
        p, d: gains.
        positions, velocities: which position and velocity each of them drives.
    """

    inputs: Array
    limits: Array
    p: Array
    d: Array
    positions: Array
    velocities: Array


@dataclass(frozen=True)
class ActuatorTable:
    """What the model says about its actuators, as arrays in the order of u.

    Attributes:
        limits: effort limits e, shape [num_inputs].
        has_limits: whether any of them is finite.
        controlled: for each model instance with PD controllers, which inputs its actuators have, with or without one.
        mobods: which mobod each actuator drives, shape [num_inputs].
        controllers: all PD controllers.
    """

    limits: Array
    has_limits: bool
    controlled: dict[int, Array]
    mobods: Array
    controllers: Controllers
    _disarmed: dict[tuple[int, ...], ActuatorTable] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(tree: MultibodyTree) -> ActuatorTable:
        """Looks at the actuators of a finalized tree."""
        actuators: Sequence[JointActuator] = list(tree.actuators)
        limits = np.array([a.effort_limit() for a in actuators])
        has_controller = np.array([a.has_controller() for a in actuators], dtype=bool)
        joints = [a.joint() for a in actuators]
        inputs = tree.coordinates.inputs
        return ActuatorTable(
            limits=limits,
            has_limits=bool(np.isfinite(limits).any()),
            controlled={i: of_instance for i, of_instance in enumerate(inputs) if has_controller[of_instance].any()},
            mobods=np.array([tree.mobod_of_joint[joint.index()] for joint in joints], dtype=np.int64),
            controllers=_controllers_of(actuators, has_controller),
        )

    def without_controllers_of(self, instances: tuple[int, ...], tree: MultibodyTree) -> ActuatorTable:
        """The table with the PD controllers of some model instances disarmed; the same object every time."""
        if instances not in self._disarmed:
            is_armed = np.zeros(len(self.limits), dtype=bool)
            is_armed[self.controllers.inputs] = True
            for instance in instances:
                is_armed[self.controlled[instance]] = False
            controlled = {i: inputs for i, inputs in self.controlled.items() if i not in instances}
            controllers = _controllers_of(list(tree.actuators), is_armed)
            self._disarmed[instances] = replace(self, controlled=controlled, controllers=controllers, _disarmed={})
        return self._disarmed[instances]

    def controllers_of_moving_joints(self, tree: MultibodyTree, is_locked: Array) -> Controllers:
        """The PD controllers but those on joints that are locked, which is told for each mobod."""
        is_at_work = np.zeros(len(self.limits), dtype=bool)
        is_at_work[self.controllers.inputs] = True
        return _controllers_of(list(tree.actuators), is_at_work & ~is_locked[self.mobods])


def _controllers_of(actuators: Sequence[JointActuator], is_wanted: Array) -> Controllers:
    inputs = np.flatnonzero(is_wanted)
    wanted = [actuators[i] for i in inputs.tolist()]
    return Controllers(
        inputs=inputs,
        limits=np.array([a.effort_limit() for a in wanted], dtype=np.float64),
        p=np.array([a._gains.p for a in wanted], dtype=np.float64),
        d=np.array([a._gains.d for a in wanted], dtype=np.float64),
        positions=np.array([a.joint().position_start() for a in wanted], dtype=np.int64),
        velocities=np.array([a.joint().velocity_start() for a in wanted], dtype=np.int64),
    )


class Drives:
    """PD controllers in the discrete steps of one Context, as kernels.controlled_step() takes them.

    Args:
        controllers: of the model.
        dtype: scalar type of the Context.
        time_step: h [s].

    Attributes:
        controllers: as given.
        offset: efforts at zero velocity, c in ../kernels/drives.py, shape [num_controllers]; to be set for each step.
        numbers, values, work: the arguments between the forces and
        effort: which the step writes, shape [num_controllers].
    """

    __slots__ = ("controllers", "effort", "numbers", "offset", "values", "work")

    def __init__(self, controllers: Controllers, dtype: Any, time_step: float) -> None:
        size = len(controllers.inputs)
        self.controllers = controllers
        self.numbers = np.zeros((size, kernel_drives.NUM_DRIVE_NUMBERS), np.int64)
        self.numbers[:, kernel_drives.DOF] = controllers.velocities
        self.values = np.zeros((size, kernel_drives.NUM_DRIVE_VALUES), dtype)
        self.values[:, kernel_drives.GAIN] = time_step * controllers.p + controllers.d
        self.values[:, kernel_drives.LIMIT] = controllers.limits
        self.offset = self.values[:, kernel_drives.OFFSET]
        self.work = np.zeros((size, kernel_drives.NUM_WORK_VALUES), dtype)
        self.effort = np.zeros(size, dtype)


def clamp(u: Array, limits: Array) -> Array:
    """max(-e, min(e, u)) for numbers of any kind, perhaps u itself; of complex numbers, the real parts decide."""
    if u.dtype == np.float64:
        return np.minimum(np.maximum(u, -limits), limits)
    if u.dtype == np.complex128:
        return np.where(u.real > limits, limits, np.where(u.real < -limits, -limits, u))
    items, bounds = u.tolist(), limits.tolist()
    try:  # most are within the limits, which takes no new scalar to tell where there are numbers
        outside = [i for i, (x, limit) in enumerate(zip(items, bounds)) if not -limit <= x.real <= limit]
    except AttributeError:
        outside = [i for i, limit in enumerate(bounds) if limit < math.inf]
    if not outside:
        return u
    clamped = u.copy()
    for i in outside:
        clamped[i] = _clamped_object(items[i], bounds[i])
    return clamped


def _clamped_object(u: Any, limit: float) -> Any:
    if type(u).__name__ == "Expression":
        from merganser.framework import symbolic  # takes a while, and plants of numbers do not need it

        return symbolic.max(-limit, symbolic.min(limit, u))
    return limit + 0.0 * u if u > limit else -limit + 0.0 * u if u < -limit else u
