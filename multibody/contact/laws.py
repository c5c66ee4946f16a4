"""The table of the laws of contact, the one place that looks which law a contact has, and the settings of a solver."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.memory.by_value import of_scalar
from merganser.multibody.contact import friction_cone, hunt_crossley
from merganser.multibody.contact.law_kind import LawKind
from merganser.multibody.contact.layout import LAGGED, law_dtype, settings_dtype
from merganser.multibody.kernels.kind_table import KindTable, Role
from merganser.multibody.linear.records import constraint_dtype

# By the numbers TAMSI, SAP, SIMILAR and LAGGED, in the order of pydrake's DiscreteContactApproximation.
LAWS: tuple[LawKind, ...] = (hunt_crossley.TAMSI_KIND, friction_cone.KIND, hunt_crossley.SIMILAR_KIND,
                             hunt_crossley.LAGGED_KIND)  # fmt: skip

_ROLES = {
    "set_law": Role(("settings", "constraint", "velocity_in", "law"), 'law["gain"]'),
    "set_impulse": Role(("law", "velocity_in", "impulse_out", "hessian_out"), "impulse_out[0]"),
    "set_slip": Role(("law", "velocity_in", "slip_out"), "slip_out[0]"),
}


_VECTORS = "velocity_in", "impulse_out", "hessian_out", "slip_out"


def _make_examples(scalar: Any) -> dict[str, Any]:
    constraint, law = (np.zeros(1, of_scalar(dtype, scalar))[0] for dtype in (constraint_dtype, law_dtype))
    vectors = {name: np.zeros(1, scalar) for name in _VECTORS}
    return {"settings": np.zeros(1, settings_dtype)[0], "constraint": constraint, "law": law, **vectors}


_TABLE = KindTable("law of contact", LawKind, LAWS, _ROLES, _make_examples, field="approximation")
check_law = _TABLE.number_of
set_law = device(_TABLE.branches("set_law"))
set_impulse = device(_TABLE.branches("set_impulse"))
call_set_impulse = _TABLE.calls_of_others("set_impulse")  # of a law from outside the table
set_slip = device(_TABLE.branches("set_slip"))


def make_settings(
    approximation: int | LawKind = LAGGED,
    *,
    stiction_tolerance: float = 1e-3,
    sigma: float = 1e-3,
    absolute_tolerance: float = 1e-14,
    relative_tolerance: float = 1e-6,
    max_iterations: int = 100,
    shortest_relaxation: float = 0.0,
) -> Any:
    """The settings as a record.

    Args:
        approximation: TAMSI, SAP, SIMILAR or LAGGED, as numbered in pydrake's DiscreteContactApproximation; or a law of
            a program's own.
        stiction_tolerance: slip velocity below which contacts count as sticking [m/s]; SAP has none.
        sigma: tangential over normal regularization of SAP.
        absolute_tolerance: of the momentum residual [sqrt(J)].
        relative_tolerance: of the momentum residual.
        max_iterations: of an island.
        shortest_relaxation: time in which errors of rigid constraints decay at the fastest [s]; twice the step if that
            is longer. Where steps have different lengths, it lets a very short one not make up for the error of a
            long one by a velocity without bounds.

    Raises:
        ValueError: if a number is out of range.
        TypeError: the law is none, or a function of it takes other arguments.
    """
    positive = {"stiction_tolerance": stiction_tolerance, "sigma": sigma}
    for name, value in positive.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} of a contact problem must be positive and finite, got {value}.")
    if isinstance(approximation, int) and approximation not in range(len(LAWS)):
        raise ValueError(f"approximation must be TAMSI (0), SAP (1), SIMILAR (2) or LAGGED (3), got {approximation}.")
    if not 0.0 <= shortest_relaxation < math.inf:
        raise ValueError(f"shortest_relaxation must be finite and not negative, got {shortest_relaxation}.")
    if absolute_tolerance < 0.0 or relative_tolerance < 0.0 or max_iterations < 0:
        raise ValueError("Tolerances and max_iterations of a contact problem must not be negative.")
    kind = LAWS[approximation] if isinstance(approximation, int) else approximation
    settings = np.zeros(1, settings_dtype)[0]
    _TABLE.set_kind(settings, kind)
    settings["is_softened"] = kind.is_softened
    settings["stiction_tolerance"], settings["sigma"] = stiction_tolerance, sigma
    settings["absolute_tolerance"], settings["relative_tolerance"] = absolute_tolerance, relative_tolerance
    settings["max_iterations"], settings["shortest_relaxation"] = max_iterations, shortest_relaxation
    return settings
