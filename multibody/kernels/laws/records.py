"""The records of actuators that are more than a force or a PD controller."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf

# Dynamics.
NO_DYNAMICS, INTEGRATOR, FILTER, EXACT_FILTER, MUSCLE_DYNAMICS = range(5)
NUM_CONSTANTS = 24

law_dtype = np.dtype(
    [
        ("kind", np.int64),  # number in the table of kinds
        ("code", np.int64),  # addresses of kinds from outside the table, see kind_table.py
        ("complex_code", np.int64),
        ("actuators", np.int64, (3,)),  # places in u; of most kinds the first one alone, the others are -1
        ("positions", np.int64, (3,)),  # lengths and rates, transmissions behind the coordinates
        ("velocities", np.int64, (3,)),
        ("activation", np.int64),  # the place of its first state among activations; -1 for none
        ("dynamics", np.int64),  # of one activation
        ("delay", np.int64),  # the place of the first control that waits among activations, the latest; -1 for none
        ("num_delayed", np.int64),  # how many wait, of each actuator
        ("delay_share", np.float64),  # of the last but one of them
        ("is_servo", np.int64),  # whether the control is a desired position
        ("is_early", np.int64),  # whether steps use the activation at their end
        ("gear", np.float64),
        ("control", np.float64, (2,)),  # range
        ("range", np.float64, (2,)),  # of the activation
        ("time_constants", np.float64, (3,)),  # see activation.py
        ("constants", np.float64, (NUM_CONSTANTS,)),  # whatever its kind needs
    ]
)
Law = Annotated[Any, RecordOf(law_dtype)]
Laws = Annotated[NDArray[Any], ArrayOf(law_dtype)]
