"""The table of the kinds of mobilizers: what the kernels, the joints and the tree are driven by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.kernels import layout
from merganser.multibody.kernels.kind_table import KindTable, Role
from merganser.multibody.kernels.mobilizers import (
    ball_quaternion,
    ball_rpy,
    curvilinear,
    planar,
    prismatic,
    quaternion_floating,
    revolute,
    rpy_floating,
    screw,
    universal,
    weld,
)
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind

MOBILIZERS: tuple[MobilizerKind, ...] = (
    weld.KIND,
    revolute.KIND,
    prismatic.KIND,
    quaternion_floating.KIND,
    screw.KIND,
    planar.KIND,
    ball_rpy.KIND,
    rpy_floating.KIND,
    universal.KIND,
    curvilinear.KIND,
    ball_quaternion.KIND,
)

ROLES = {
    "set_pose": Role(("node", "fixed", "parameters", "q_in", "R_FM", "p_FoMo_F"), "p_FoMo_F[0]"),
    "set_axes": Role(("node", "fixed", "parameters", "q_in", "body"), 'body["H_PB_W"][0, 0]'),
    "add_bias": Role(("node", "fixed", "parameters", "q_in", "v_in", "body", "Ab_WB_W"), "Ab_WB_W[0]"),
    "set_rates": Role(("node", "q_in", "v_in", "qdot_out"), 'qdot_out[node["q_start"]]'),
    "set_velocities": Role(("node", "q_in", "qdot_in", "v_out"), 'v_out[node["v_start"]]'),
}


def _make_examples(scalar: Any) -> dict[str, Any]:
    records, vector = np.zeros(1, layout.parameter_dtype(scalar)), np.zeros(1, scalar)
    return {
        "node": np.zeros(1, layout.topology_dtype)[0], "fixed": records[0], "parameters": records,
        "q_in": vector, "v_in": vector, "qdot_in": vector, "qdot_out": vector, "v_out": vector, "Ab_WB_W": vector,
        "R_FM": np.zeros((3, 3), scalar), "p_FoMo_F": vector, "body": np.zeros(1, layout.position_dtype(scalar))[0],
    }  # fmt: skip


TABLE = KindTable("mobilizer", MobilizerKind, MOBILIZERS, ROLES, _make_examples, "mobilizer")
kind_of = TABLE.kind_of


def kinds_in(topology: NDArray[Any]) -> list[MobilizerKind]:
    """The kinds of mobilizers that there are in topology records, each once."""
    return [kind_of(number) for number in sorted(set(topology["mobilizer"].tolist()))]


def quaternion_starts(topology: NDArray[Any]) -> NDArray[np.int64]:
    """Where in q the quaternions start."""
    starts = [
        topology["q_start"][topology["mobilizer"] == TABLE.number_of(kind)] + kind.quaternion_start
        for kind in kinds_in(topology)
        if kind.quaternion_start is not None
    ]
    return np.sort(np.concatenate(starts)) if starts else np.zeros(0, np.int64)


def carries_mask(kind: MobilizerKind) -> int:
    """The pairs (l, k) of a kind for which velocity l carries velocity k, as bits 6 l + k (spatial.py)."""
    return sum(1 << (6 * l + k) for l, k in kind.carries or ())
