"""Wrenches and accelerations about the origin of the root frame, as RigidBodyDynamics.jl has them, and about bodies.

The kernels work with spatial vectors about the origin Bo of each body, expressed in W. With p = p_WoBo_W:

    wrench                [t; f] about Bo     ->  [t + p x f; f] about Wo                     (1)
    spatial acceleration  [alpha; a] of Bo    ->  [alpha; a - alpha x p - w x v] about Wo     (2)

(2) is the rate of the twist [w; v - w x p], the velocity field of the body at the fixed point Wo.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), sections 2.2 to 2.4 and 2.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody.algorithms.state import MechanismState
from merganser.multibody.math import SpatialForce
from merganser.multibody.math.vectors import cross
from merganser.multibody.plant.arguments import mobod_of
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import RigidBody

Array = NDArray[Any]
Wrenches: TypeAlias = Mapping[RigidBody, SpatialForce | ArrayLike]


def applied_forces(caller: str, state: MechanismState, w: Workspace, wrenches: Wrenches | None) -> Array:
    """Spatial forces on bodies about Bo in W, in the order of mobods, from wrenches about Wo, equation (1).

    Raises:
        TypeError: a key is not a body, or a value not a wrench.
        RuntimeError: a body is not of the plant.
        ValueError: a wrench is not finite, or of wrong size.
    """
    if not wrenches:
        return w.zeros_F
    F_Bo_W = w.zeros_F.copy()
    for body, wrench in wrenches.items():
        mobod = mobod_of(state.mechanism._model, caller, body)
        coefficients = wrench.get_coeffs() if isinstance(wrench, SpatialForce) else wrench
        F_Wo = state._vector(caller, coefficients, 6)
        F_Bo_W[mobod, :3] += F_Wo[:3] - cross(w.position[mobod]["p_WoBo_W"], F_Wo[3:])
        F_Bo_W[mobod, 3:] += F_Wo[3:]
    return F_Bo_W


def wrenches_about_root(state: MechanismState, w: Workspace, out: Array) -> Array:
    """Writes wrenches of inboard joints about Wo, by body, from the forces that inverse dynamics left, equation (1)."""
    mobods = state.mechanism._tree.mobod_of_body
    F = w.scratch["F_Bo_W"][mobods]
    F[mobods == 0] = 0.0
    out[:, :3] = F[:, :3] + _cross_rows(w.position["p_WoBo_W"][mobods], F[:, 3:])
    out[:, 3:] = F[:, 3:]
    return out


def accelerations_about_root(state: MechanismState, w: Workspace, out: Array) -> Array:
    """Writes spatial accelerations about Wo, by body, from those that inverse dynamics left, equation (2).

    Inverse dynamics let the world accelerate by -g, which is taken back.
    """
    mobods = state.mechanism._tree.mobod_of_body
    A, V = w.scratch["A_WB_W"][mobods], w.velocity["V_WB_W"][mobods]
    p = w.position["p_WoBo_W"][mobods]
    out[:, :3] = A[:, :3]
    out[:, 3:] = A[:, 3:] + w.gravity - _cross_rows(A[:, :3], p) - _cross_rows(V[:, :3], V[:, 3:])
    out[mobods == 0] = 0.0
    return out


def _cross_rows(a: Array, b: Array) -> Array:
    """a x b of every row; numpy's own does not take objects of all kinds."""
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )
