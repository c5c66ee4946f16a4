"""The table of the kinds of force elements, and the one place that looks which kind an element is."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.elements import bushing, door_hinge, joint_spring, spring_damper
from merganser.multibody.kernels.elements.kind import ForceElementKind
from merganser.multibody.kernels.kind_table import KindTable, Role

ELEMENTS: tuple[ForceElementKind, ...] = (joint_spring.KIND, spring_damper.KIND, door_hinge.KIND, bushing.KIND)

_STATE = ("element", "constant", "q_in", "v_in", "position_in", "velocity_in")
_ROLES = {"add_forces": Role((*_STATE, "tau_out", "F_out")), "add_energy": Role((*_STATE, "energy_out"))}


def _make_examples(scalar: Any) -> dict[str, Any]:
    vector = np.zeros(1, scalar)
    return {
        "element": np.zeros(1, layout.element_dtype)[0], "constant": np.zeros(1, layout.constant_dtype(scalar))[0],
        "q_in": vector, "v_in": vector, "tau_out": vector, "energy_out": vector, "F_out": np.zeros((1, 6), scalar),
        "position_in": np.zeros(1, layout.position_dtype(scalar)),
        "velocity_in": np.zeros(1, layout.velocity_dtype(scalar)),
    }  # fmt: skip


_TABLE = KindTable("force element", ForceElementKind, ELEMENTS, _ROLES, _make_examples)
element_kind_of = _TABLE.kind_of
set_element_kind = _TABLE.set_kind
add_forces = device(_TABLE.branches("add_forces"))
add_energy = device(_TABLE.branches("add_energy"))
