"""How far the surface of a belt has moved: s, with sdot its speed. It exerts nothing; contacts take the speed."""

from __future__ import annotations

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.laws.kind import ActuatorLawKind
from merganser.multibody.kernels.laws.records import Law


@device
def set_displacement(
    law: Law, step_in: Floats, lengths_in: Floats, rates_in: Floats, states_in: Floats, controls_in: Floats,
    desired_io: FloatTable, efforts_out: Floats, states_out: Floats,
) -> None:  # fmt: skip
    """The state is s; the first constant is the number of the belt, whose speed is step_in[1 + number]."""
    n, speed, h = law["activation"], step_in[1 + int(law["constants"][0])], step_in[0].real
    states_out[n] = states_in[n] + h * speed if h > 0.0 else speed + 0.0 * states_in[n]


BELT = ActuatorLawKind("belt", set_displacement)
