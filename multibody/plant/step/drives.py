"""What the actuators of a plant make of their inputs: effort limits and PD controllers.

    u = max(-e, min(e, -Kp (q - qd) - Kd (v - vd) + u_ff))

In a continuous plant, and for actuators without controller, this is a function of state and inputs. In a discrete
plant, q and v are those at the end of the step, which is solved together with the motion. The equations are in
../../kernels/actuators.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.contact.plant_layout import drive_dtype
from merganser.multibody.kernels import actuators as actuation
from merganser.multibody.kernels.actuators import DOF, LIMIT, NUM_DRIVE_NUMBERS, NUM_DRIVE_VALUES, NUM_WORK_VALUES
from merganser.multibody.tree import Actuator, MultibodyTree

Array = NDArray[Any]


@dataclass(frozen=True)
class Controllers:
    """PD controllers at work, as arrays in the order of u, shape [num_controllers].

    Attributes:
        inputs: which inputs have them.
        limits: effort limits.
        p, d: gains.
        mobods, positions, velocities: what each of them drives; transmissions are behind the coordinates, on mobod 0.
    """

    inputs: Array
    limits: Array
    p: Array
    d: Array
    mobods: Array
    positions: Array
    velocities: Array

    def records(self) -> Array:
        """The controllers as constraints of a step, records of drive_dtype, but for what they are to do."""
        drives = np.zeros(len(self.inputs), drive_dtype)
        drives["v"], drives["p"], drives["d"], drives["limit"] = self.velocities, self.p, self.d, self.limits
        return drives

    def work_arrays(self, dtype: Any) -> dict[str, Any]:
        """The arrays of Work (dynamics/records.py) that are of controllers."""
        size = len(self.inputs)
        numbers, values = np.zeros((size, NUM_DRIVE_NUMBERS), np.int64), np.zeros((size, NUM_DRIVE_VALUES), dtype)
        numbers[:, DOF], values[:, LIMIT] = self.velocities, self.limits
        work, efforts = np.zeros((size, NUM_WORK_VALUES), dtype), np.zeros(size, dtype)
        return {"drives": numbers, "drive_values": values, "drive_work": work, "efforts": efforts}


@dataclass(frozen=True)
class ActuatorTable:
    """What the model says about its actuators, as arrays in the order of u.

    Attributes:
        limits: effort limits e about their middles, shape [num_inputs].
        middles: m, of the limits, shape [num_inputs].
        desired: constants of desired states, the rows after the first two of ../../kernels/actuators.py.
        has_limits: whether any of them is finite.
        controlled: for each model instance with PD controllers, which inputs its actuators have, with or without one.
        controllers: all PD controllers.
    """

    limits: Array
    middles: Array
    desired: Array
    has_limits: bool
    controlled: dict[int, Array]
    controllers: Controllers
    _disarmed: dict[tuple[int, ...], ActuatorTable] = field(default_factory=dict, repr=False, compare=False)
    _moving: dict[bytes, Controllers] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(tree: MultibodyTree) -> ActuatorTable:
        """Looks at the actuators of a finalized tree."""
        actuators: Sequence[Actuator] = list(tree.actuators)
        limits, middles = np.array([_half_and_middle(a) for a in actuators], float).reshape(-1, 2).T
        desired = np.zeros((actuation.NUM_DESIRED_ROWS, len(actuators)))
        for k, a in enumerate(actuators):
            low, high = a._desired_range
            desired[actuation.HALF_RANGE, k] = 0.5 * (high - low)
            desired[actuation.RANGE_MIDDLE, k] = 0.5 * (low + high) if np.isfinite(high - low) else 0.0
            desired[actuation.SCALE, k], desired[actuation.BIAS, k] = a._desired_scale, a._bias
        desired[actuation.MIDDLE] = middles
        has_controller = np.array([a.has_controller() for a in actuators], dtype=bool)
        inputs = tree.coordinates.inputs
        return ActuatorTable(
            limits=limits,
            middles=middles,
            desired=desired[2:],
            has_limits=bool(np.isfinite(limits).any()),
            controlled={i: of_instance for i, of_instance in enumerate(inputs) if has_controller[of_instance].any()},
            controllers=controllers_of(tree, has_controller),
        )

    def without_controllers_of(self, instances: tuple[int, ...], tree: MultibodyTree) -> ActuatorTable:
        """The table with the PD controllers of some model instances disarmed; the same object every time."""
        if instances not in self._disarmed:
            is_armed = np.zeros(len(self.limits), dtype=bool)
            is_armed[self.controllers.inputs] = True
            for instance in instances:
                is_armed[self.controlled[instance]] = False
            controlled = {i: inputs for i, inputs in self.controlled.items() if i not in instances}
            changes: dict[str, Any] = {"controlled": controlled, "controllers": controllers_of(tree, is_armed)}
            self._disarmed[instances] = replace(self, **changes, _disarmed={}, _moving={})
        return self._disarmed[instances]

    def controllers_of_moving_joints(self, tree: MultibodyTree, is_locked: Array) -> Controllers:
        """The PD controllers but those on joints that are locked, which is given for each of them."""
        if not is_locked.any():
            return self.controllers
        key = is_locked.tobytes()
        if key not in self._moving:
            is_at_work = np.zeros(len(self.limits), dtype=bool)
            is_at_work[self.controllers.inputs[~is_locked]] = True
            self._moving[key] = controllers_of(tree, is_at_work)
        return self._moving[key]


def _half_and_middle(actuator: Actuator) -> tuple[float, float]:
    """e and m of limits m - e and m + e."""
    low, high = actuator._effort_range
    return 0.5 * (high - low), 0.5 * (low + high) if np.isfinite(high - low) else 0.0


def controllers_of(tree: MultibodyTree, is_wanted: Array) -> Controllers:
    """The PD controllers of the actuators that are wanted, with gains 0 where they have none."""
    inputs = np.flatnonzero(is_wanted)
    actuators: Sequence[Actuator] = list(tree.actuators)
    wanted = [actuators[i] for i in inputs.tolist()]
    num_q, num_v = tree.num_positions(), tree.num_velocities()
    places: list[tuple[int, int, int]] = []
    for transmission, a in ((a.transmission(), a) for a in wanted):
        if transmission is None:
            joint = a.joint()
            mobod = int(tree.mobod_of_joint[joint.index()])
            places.append((mobod, joint.position_start(), joint.velocity_start()))
        else:  # behind the coordinates; the world is never locked
            places.append((0, num_q + int(transmission.index()), num_v + int(transmission.index())))
    mobods, positions, velocities = np.array(places, np.int64).reshape(-1, 3).T.copy()
    return Controllers(
        inputs=inputs,
        limits=np.array([_half_and_middle(a)[0] for a in wanted], dtype=np.float64),
        p=np.array([a._gains.p for a in wanted], dtype=np.float64),
        d=np.array([a._gains.d for a in wanted], dtype=np.float64),
        mobods=mobods,
        positions=positions,
        velocities=velocities,
    )
