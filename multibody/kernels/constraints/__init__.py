"""Kinds of constraint, one a file, the table of them, and the rows that they make; see ../README.md for one's own."""

from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.constraints.records import (
    ConstraintRecords,
    ConstraintValues,
    constraint_row_dtype,
    constraint_value_dtype,
)
from merganser.multibody.kernels.constraints.table import (
    CONSTRAINTS,
    constraint_kind_of,
    constraint_number_of,
    set_constraint_kind,
)

__all__ = [
    "CONSTRAINTS",
    "ConstraintKind",
    "ConstraintRecords",
    "ConstraintValues",
    "constraint_kind_of",
    "constraint_number_of",
    "constraint_row_dtype",
    "constraint_value_dtype",
    "set_constraint_kind",
]
