"""The one place that looks which kind a mobilizer is: a function for each role of MobilizerKind.

An unknown kind is an error in interpreted kernels, and never gets to compiled ones: `set_kind` makes topology records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.native import device, inlined
from merganser.multibody.kernels.branches import chain_of_branches
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.outside import ROLES, calls_of_others, list_of
from merganser.multibody.kernels.mobilizers.table import MOBILIZERS, carries_mask, number_of

__all__ = ["add_bias", "set_axes", "set_kind", "set_pose", "set_rates", "set_velocities"]


def set_kind(node: Any, kind: MobilizerKind) -> None:
    """Makes a topology record that of a mobilizer of some kind: its number, sizes, and where its code stands.

    Raises:
        TypeError: it is no MobilizerKind.
    """
    node["mobilizer"] = number_of(kind)
    node["num_q"], node["num_v"] = len(kind.positions), len(kind.velocities)
    node["carries"] = carries_mask(kind)
    node["code"] = node["complex_code"] = 0
    if kind.number is None:
        node["code"], node["complex_code"] = list_of(kind, np.float64), list_of(kind, np.complex128)


def _chain(role: str) -> Callable[..., None]:
    """The function that calls, of the kind of a mobilizer, the function of a role."""
    functions, arguments = [getattr(kind, role) for kind in MOBILIZERS], ROLES[role].arguments
    called = calls_of_others(role)
    return chain_of_branches(role, arguments, "mobilizer", functions, called, spoiled=ROLES[role].spoiled)


set_pose = inlined(_chain("set_pose"))
set_axes = inlined(_chain("set_axes"))
add_bias = device(_chain("add_bias"))
set_rates = device(_chain("set_rates"))
set_velocities = device(_chain("set_velocities"))
