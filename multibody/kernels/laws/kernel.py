"""Efforts and states of all actuators that are more than a force or a PD controller."""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.laws.records import Law, Laws
from merganser.multibody.kernels.laws.table import set_effort


@kernel
def actuator_laws(
    # Model:
    laws: Laws,
    time_step: float,  # h [s]; 0 in continuous time
    # In:
    lengths_in: Floats,  # q, with the lengths of transmissions behind it
    rates_in: Floats,  # v, with their rates behind it
    activations_in: Floats,  # shape [num_activations]
    u_in: Floats,  # what comes for the actuators, shape [num_u]
    desired_io: FloatTable,  # of PD controllers, see actuators.py; activations replace desired positions
    # Work:
    controls_work: Floats,  # u_in, some of them late, shape [num_u]
    step_io: Floats,  # h, which it writes, and the speeds of belts [m/s], shape [1 + num_belts]
    # Out:
    u_out: Floats,  # the same with efforts in place of controls, shape [num_u]
    activations_out: Floats,  # after the step; in continuous time their rates
) -> None:
    """Computes forces and activations."""
    step_io[0] = time_step
    for k in range(u_in.shape[0]):
        u_out[k] = controls_work[k] = u_in[k]
    for i in range(laws.shape[0]):
        law, given = laws[i], (lengths_in, rates_in, activations_in, controls_work)
        if law["delay"] >= 0:
            _delay(law, activations_in, desired_io, controls_work, activations_out)
        set_effort(law, step_io, *given, desired_io, u_out, activations_out)


@device
def _delay(law: Law, waiting_in: Floats, desired_io: FloatTable, u_io: Floats, waiting_out: Floats) -> None:
    """Puts the controls of n steps ago in place of those now, or a share of the control of n - 1 steps ago."""
    first, n = law["delay"], law["num_delayed"]
    for j in range(3):
        k = law["actuators"][j]
        if k < 0:
            return
        now = desired_io[0, k] if law["is_servo"] else u_io[k]
        delayed, last = waiting_in[first + n - 1], first + n - 1
        if n > 1:
            delayed = delayed + law["delay_share"] * (waiting_in[last - 1] - delayed)
        while last > first:
            waiting_out[last] = waiting_in[last - 1]
            last -= 1
        waiting_out[first] = now
        first += n
        if law["is_servo"]:
            desired_io[0, k] = delayed
        else:
            u_io[k] = delayed
