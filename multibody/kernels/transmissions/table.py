"""The table of the kinds of transmission, and the one place that looks which kind a transmission is."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.kind_table import KindTable, Role
from merganser.multibody.kernels.transmissions import adhesion, fixed, site, slider_crank, spatial
from merganser.multibody.kernels.transmissions.kind import TransmissionKind
from merganser.multibody.kernels.transmissions.records import node_dtype, transmission_dtype

TRANSMISSIONS: tuple[TransmissionKind, ...] = (
    fixed.FIXED, spatial.SPATIAL, fixed.BALL, site.SITE_FORCE, slider_crank.SLIDER_CRANK, adhesion.ADHESION
)  # fmt: skip

_ARGUMENTS = "transmission", "nodes", "topology", "q_in", "position_in", "length_out", "arms_out"
_ROLES = {"set_length": Role(_ARGUMENTS, "length_out[0]", num_constant=2)}


def _make_examples(scalar: Any) -> dict[str, Any]:
    vector = np.zeros(1, scalar)
    return {
        "transmission": np.zeros(1, transmission_dtype)[0], "nodes": np.zeros(1, node_dtype), "q_in": vector,
        "topology": np.zeros(1, layout.topology_dtype), "position_in": np.zeros(1, layout.position_dtype(scalar)),
        "length_out": vector, "arms_out": vector,
    }  # fmt: skip


_TABLE = KindTable("transmission", TransmissionKind, TRANSMISSIONS, _ROLES, _make_examples)
set_transmission_kind = _TABLE.set_kind
transmission_number_of = _TABLE.number_of
set_length = device(_TABLE.branches("set_length"))
