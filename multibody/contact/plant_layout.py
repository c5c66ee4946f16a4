"""The arrays in which a plant says what may touch, and what holds it together: see plant_problem.py."""

from __future__ import annotations

import numpy as np

__all__ = [
    "APPROACH",
    "BALL",
    "COUPLER",
    "DISTANCE",
    "NO_LINK",
    "NUM_FORCE_VALUES",
    "POINT",
    "SLIP",
    "WELD",
    "drive_dtype",
    "limit_dtype",
    "link_dtype",
    "material_dtype",
]

# Kinds of link.
NO_LINK = -1  # switched off
COUPLER = 0  # q_0 = gear_ratio q_1 + offset
DISTANCE = 1  # a rod from P to Q
BALL = 2  # P is at Q
WELD = 3  # frame P is frame Q

# What a plant learns about a contact: the force on the body of the first geometry in W [N], then
APPROACH = 3  # the speed at which the bodies approach [m/s],
SLIP = 4  # the speed at which they slip,
POINT = 5  # and the point p_WC at which the force acts [m].
NUM_FORCE_VALUES = 8

material_dtype = np.dtype(
    [
        ("mobod", np.int64),  # to which the geometry is fixed
        ("stiffness", np.float64),  # k [N/m]
        ("dissipation", np.float64),  # d of Hunt and Crossley [s/m]
        ("relaxation_time", np.float64),  # tau of SAP [s]
        ("static_friction", np.float64),
        ("dynamic_friction", np.float64),
    ]
)

limit_dtype = np.dtype(
    [
        ("q", np.int64),  # which position
        ("v", np.int64),  # and its velocity
        ("lower", np.float64),
        ("upper", np.float64),
    ]
)

drive_dtype = np.dtype(
    [
        ("v", np.int64),  # which velocity
        ("p", np.float64),  # gains
        ("d", np.float64),
        ("error", np.float64),  # q - q_d
        ("v_desired", np.float64),
        ("feedforward", np.float64),
        ("limit", np.float64),  # of the effort
    ]
)

link_dtype = np.dtype(
    [
        ("kind", np.int64),
        ("mobod_A", np.int64),
        ("mobod_B", np.int64),
        ("X_AP", np.float64, (3, 4)),  # [R p]
        ("X_BQ", np.float64, (3, 4)),
        ("q_0", np.int64),  # of a coupler: positions and velocities
        ("v_0", np.int64),
        ("q_1", np.int64),
        ("v_1", np.int64),
        ("gear_ratio", np.float64),
        ("offset", np.float64),
        ("length", np.float64),  # of a rod: free length [m]
        ("stiffness", np.float64),
        ("damping", np.float64),
    ]
)
