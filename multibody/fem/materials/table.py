"""The table of the kinds of materials, and the one place that looks which kind a material is."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.fem.config import DeformableBodyConfig
from merganser.multibody.fem.layout import material_dtype, point_dtype
from merganser.multibody.fem.materials import corotated, linear, linear_corotated, neo_hookean
from merganser.multibody.fem.materials.kind import MaterialKind
from merganser.multibody.kernels.kind_table import KindTable, Role

# By the numbers of MaterialModel (config.py), of those that have one.
MATERIALS: tuple[MaterialKind, ...] = (linear_corotated.KIND, corotated.KIND, neo_hookean.KIND, linear.KIND)

_POINT = ("material", "point")
_ROLES = {
    "start": Role(_POINT, 'point["F"][0, 0]'),
    "prepare": Role(_POINT, 'point["F"][0, 0]'),
    "set_growth": Role(_POINT, 'point["growth"]'),
    "add_energy": Role((*_POINT, "energy_out"), "energy_out[0]"),
    "set_stress": Role(_POINT, 'point["P"][0, 0]'),
    "set_derivative": Role((*_POINT, "derivative_out"), "derivative_out[0, 0]"),
}


def _make_examples(scalar: Any) -> dict[str, Any]:
    return {
        "material": np.zeros(1, material_dtype)[0], "point": np.zeros(1, point_dtype(scalar))[0],
        "energy_out": np.zeros(1, scalar), "derivative_out": np.zeros((9, 9), scalar),
    }  # fmt: skip


# No kernel calls these functions with complex numbers: what a material has for derivatives is calc_third.
_TABLE = KindTable("material", MaterialKind, MATERIALS, _ROLES, _make_examples, scalars=(np.float64,))
material_kind_of = _TABLE.kind_of
set_material_kind = _TABLE.set_kind
start = device(_TABLE.branches("start"))
prepare = device(_TABLE.branches("prepare"))
set_growth = device(_TABLE.branches("set_growth"))
add_energy = device(_TABLE.branches("add_energy"))
set_stress = device(_TABLE.branches("set_stress"))
set_derivative = device(_TABLE.branches("set_derivative"))


def kind_of(config: DeformableBodyConfig) -> MaterialKind:
    """Returns the kind of a material."""
    model = config.material_model()
    return model if isinstance(model, MaterialKind) else material_kind_of(int(model))
