"""The table of the kinds of constraint, and the one place that looks which kind a row is of."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.constraints import coupler, distance, perpendicular, point, rotation, translation
from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.constraints.records import constraint_row_dtype, constraint_value_dtype
from merganser.multibody.kernels.kind_table import KindTable, Role

CONSTRAINTS: tuple[ConstraintKind, ...] = (
    translation.KIND, perpendicular.KIND, distance.KIND, coupler.KIND, point.KIND, rotation.KIND
)  # fmt: skip

_MOTION = ("v_in", "pose_A", "pose_B", "V_WA_W", "V_WB_W", "A_WA_W", "A_WB_W")
_ROLES = {
    "set_row": Role(("row", "q_in", "pose_A", "pose_B", "value_out"), 'value_out["error"]'),
    "add_bias": Role(("row", "q_in", *_MOTION, "value_io"), 'value_io["bias"]'),
}


def _make_examples(scalar: Any) -> dict[str, Any]:
    vector, pose = np.zeros(1, scalar), np.zeros(1, layout.position_dtype(scalar))[0]
    value = np.zeros(1, constraint_value_dtype(scalar))[0]
    return {
        "row": np.zeros(1, constraint_row_dtype)[0], "q_in": vector, "v_in": vector, "pose_A": pose, "pose_B": pose,
        "V_WA_W": vector, "V_WB_W": vector, "A_WA_W": vector, "A_WB_W": vector, "value_out": value, "value_io": value,
    }  # fmt: skip


_TABLE = KindTable("constraint", ConstraintKind, CONSTRAINTS, _ROLES, _make_examples)
constraint_kind_of = _TABLE.kind_of
constraint_number_of = _TABLE.number_of
set_constraint_kind = _TABLE.set_kind
set_row = device(_TABLE.branches("set_row"))
add_bias = device(_TABLE.branches("add_bias"))
