"""A kind of actuator law: one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class ActuatorLawKind:
    """How actuators of one kind make their efforts of controls and states.

    Attributes:
        name: such as "muscle".
        set_effort: (law, step_in, lengths_in, rates_in, states_in, controls_in, desired_io, efforts_out, states_out)
            sets the effort efforts_out[k] of the actuator k = law["actuators"][0] by its control controls_in[k], with
            the length lengths_in[law["positions"][0]] and its rate rates_in[law["velocities"][0]]. Its states begin at
            states_in[law["activation"]]; those after a step of step_in[0].real seconds go into states_out, or in
            continuous time, where that is 0, their rates. law["constants"] are numbers of its own (records.py). It is a
            kernels' helper: loops over arrays and records, of floats and complex numbers alike.
    """

    name: str
    set_effort: Callable[..., None]
