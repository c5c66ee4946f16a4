"""Columns of the numbers of a face of a contact surface."""

from __future__ import annotations

AREA = 0  # [m²]
CENTROID = 1  # in W [m]
NORMAL = 4  # unit vector out of N into M, in W
PRESSURE = 7  # at the centroid [Pa]
GRAD_M = 8  # gradient of M's pressure, in W [Pa/m]; zero if M is rigid
GRAD_N = 11  # that of N's
FACE_NUMBERS = 14
