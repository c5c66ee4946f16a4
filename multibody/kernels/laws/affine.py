"""Forces with a gain and a bias that follow length and speed.

With length l and rate ldot, times a gear, and the activation a,

    f = (g_0 + g_1 l + g_2 ldot) a + b_0 + b_1 l + b_2 ldot                               (1)

The effort is the gear times f.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.laws.activation import activate, within
from merganser.multibody.kernels.laws.kind import ActuatorLawKind
from merganser.multibody.kernels.laws.records import Law


@device
def motion_of(law: Law, lengths_in: Floats, rates_in: Floats) -> tuple[Any, Any]:
    """Length and rate of what an actuator drives, times the gear."""
    gear = law["gear"]
    return gear * lengths_in[law["positions"][0]], gear * rates_in[law["velocities"][0]]


@device
def set_effort(
    law: Law, step_in: Floats, lengths_in: Floats, rates_in: Floats, states_in: Floats, controls_in: Floats,
    desired_io: FloatTable, efforts_out: Floats, states_out: Floats,
) -> None:  # fmt: skip
    """Equation (1); constants are g and b."""
    k, c = law["actuators"][0], law["constants"]
    a = activate(law, step_in[0].real, within(law["control"], controls_in[k]), states_in, states_out)
    length, rate = motion_of(law, lengths_in, rates_in)
    f = (c[0] + c[1] * length + c[2] * rate) * a + c[3] + c[4] * length + c[5] * rate
    efforts_out[k] = law["gear"] * f


AFFINE = ActuatorLawKind("affine", set_effort)
