"""The records of constraints: one a row, of what does not change and of what does."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.records_of_arrays import ArrayOf
from merganser.multibody.kernels.layout import _interned

MAX_COORDINATES = 8  # of one row

constraint_row_dtype = np.dtype(
    [
        ("kind", np.int64),  # number in the table of kinds
        ("code", np.int64),  # addresses of kinds from outside the table, see dispatch.py
        ("complex_code", np.int64),
        ("acts_on_coordinates", np.int64),
        ("index", np.int64),  # which of the rows of its constraint
        ("num_rows", np.int64),  # of its constraint, which are side by side
        ("joint", np.int64),  # number of the loop joint that the row belongs to, or -1
        ("mobod_A", np.int64),
        ("mobod_B", np.int64),
        ("X_AP", np.float64, (3, 4)),  # [R p]
        ("X_BQ", np.float64, (3, 4)),
        ("u_A", np.float64, (3,)),  # unit vector fixed in A, of translation.py and perpendicular.py
        ("w_B", np.float64, (3,)),  # unit vector fixed in B, of perpendicular.py
        ("q_0", np.int64),  # places in q and v, of rows between coordinates
        ("q_1", np.int64),
        ("v_0", np.int64),
        ("v_1", np.int64),
        ("num_more", np.int64),  # how many more coordinates there are, all of them in the trees of v_0 and v_1
        ("more_q", np.int64, (MAX_COORDINATES - 2,)),
        ("more_v", np.int64, (MAX_COORDINATES - 2,)),
        ("constants", np.float64, (8,)),
        # In continuous time gddot = -damping gdot - stiffness g (Baumgarte). Of a compliant row, those of its spring.
        ("stiffness", np.float64),  # [1/s^2, or N/m]
        ("damping", np.float64),  # [1/s, or N s/m]
        ("is_compliant", np.int64),
        ("lower", np.float64),  # bounds of the multiplier, in discrete time [N or N m]
        ("upper", np.float64),
    ]
)


def constraint_value_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Quantities that depend on q, v and forces."""
    return _interned(
        [
            ("error", scalar),  # g [m, rad or what else it measures]
            ("rate", scalar),  # gdot
            ("bias", scalar),  # k
            ("F_W", scalar, (6,)),  # [t; f], on B at Q; on A at P the opposite
            ("p_WP", scalar, (3,)),
            ("p_WQ", scalar, (3,)),
            ("slopes", scalar, (MAX_COORDINATES,)),  # of coordinates: dg/dq_0, dg/dq_1 and so on
            ("multiplier", scalar),  # of F_W or slopes
            ("norm", scalar),  # workspace: length of the row in the metric of the inverse mass matrix
            ("target", scalar),  # workspace: K vdot that is wanted
        ]
    )


# What kernels take, by the hints of their parameters (framework/native/memory/hinted_types.py).
ConstraintRecords = Annotated[NDArray[Any], ArrayOf(constraint_row_dtype)]
ConstraintValues = Annotated[NDArray[Any], ArrayOf(constraint_value_dtype())]
