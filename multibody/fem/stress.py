"""Measures of stress that are drawn.

    sigma = P F^T / J              Cauchy's stress, of isotropic materials                            (1)
    sigma = P R^T                  of linear ones, whose strains are small                            (2)
    sigma_M = sqrt(3/2 s : s),     s = sigma - (tr sigma) / 3 1                                       (3)

Source: J. Bonet, R. Wood, Nonlinear Continuum Mechanics for Finite Element Analysis (2008), section 5.5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.materials.table import kind_of

Array = NDArray[np.float64]


def cauchy_stresses(body: FemBody, q: Array) -> Array:
    """Returns the stress of each tetrahedron, without damping, in W [Pa], shape [num_elements, 3, 3].

    Args:
        body: of which.
        q: where its vertices are [m], shape [3 num_vertices].
    """
    points = body.deformed_points(q)
    P, F = points["P"], points["F"]
    if kind_of(body.config).is_linear:
        return np.asarray(P @ points["rotation"].transpose(0, 2, 1))
    with np.errstate(divide="ignore", invalid="ignore"):  # of elements that are flat it is not finite
        return np.asarray(P @ F.transpose(0, 2, 1) / np.linalg.det(F)[:, np.newaxis, np.newaxis])


def von_mises_stresses(stresses: Array) -> Array:
    """Returns equation (3) [Pa], shape [n]; `stresses` are Cauchy's, shape [n, 3, 3]."""
    mean = np.trace(stresses, axis1=1, axis2=2) / 3.0
    deviators = stresses - mean[:, np.newaxis, np.newaxis] * np.eye(3)
    return np.sqrt(1.5 * (deviators * deviators).sum(axis=(1, 2)))


def mean_at_vertices(body: FemBody, values: Array) -> Array:
    """Returns for each vertex the mean of the tetrahedra around it, by volume, shape [num_vertices].

    Args:
        body: of which.
        values: of the tetrahedra, shape [num_elements].
    """
    elements, totals = body.arrays.elements, np.zeros((2, body.num_nodes))
    for total, of_element in zip(totals, (values * elements["volume"], elements["volume"]), strict=True):
        np.add.at(total, elements["nodes"], of_element[:, np.newaxis])
    return np.asarray(totals[0] / totals[1])
