"""The table of the kinds of actuator law, and the one place that looks which kind a law is."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.actuators import NUM_DESIRED_ROWS
from merganser.multibody.kernels.kind_table import KindTable, Role
from merganser.multibody.kernels.laws import affine, belt, dc_motor, muscle, orientation, servo
from merganser.multibody.kernels.laws.kind import ActuatorLawKind
from merganser.multibody.kernels.laws.records import law_dtype

LAWS: tuple[ActuatorLawKind, ...] = (
    affine.AFFINE, muscle.MUSCLE, servo.SERVO, servo.INTEGRAL, dc_motor.DC_MOTOR, orientation.ORIENTATION,
    belt.BELT,
)  # fmt: skip

_ARGUMENTS = (
    "law", "step_in", "lengths_in", "rates_in", "states_in", "controls_in", "desired_io", "efforts_out", "states_out"
)  # fmt: skip
_ROLES = {"set_effort": Role(_ARGUMENTS, 'efforts_out[law["actuators"][0]]')}


def _make_examples(scalar: Any) -> dict[str, Any]:
    vectors = ("step_in", "lengths_in", "rates_in", "states_in", "controls_in", "efforts_out", "states_out")
    examples: dict[str, Any] = {name: np.zeros(1, scalar) for name in vectors}
    examples["desired_io"] = np.zeros((NUM_DESIRED_ROWS, 1), scalar)
    return examples | {"law": np.zeros(1, law_dtype)[0]}


_TABLE = KindTable("actuator law", ActuatorLawKind, LAWS, _ROLES, _make_examples)
set_law_kind = _TABLE.set_kind
set_effort = device(_TABLE.branches("set_effort"))
