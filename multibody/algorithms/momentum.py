"""Momentum matrix, masses, centres of mass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from merganser.multibody import kernels
from merganser.multibody.algorithms.jacobians import TransformFunction, express_columns
from merganser.multibody.algorithms.state import MechanismState, output
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.arguments import mobod_of
from merganser.multibody.tree import RigidBody

Array = NDArray[Any]


def momentum_matrix(
    state: MechanismState, root_to_desired: TransformFunction = None, *, out: Array | None = None
) -> Array:
    """Computes A(q) of the total momentum A v of a mechanism, [angular; linear] (Orin and Goswami 2008).

    Rotors have no part in it: their inertia is felt in the joint alone.

    Args:
        state: of the mechanism.
        root_to_desired: the pose of the world frame in the frame in which, and about whose origin, to express the
            momentum, by default the world frame; or a function that transforms momenta, the columns of an array of
            shape [6, nv], from there.
        out: where to write A, shape [6, nv].

    Returns:
        A [N m s, N s per unit of velocity], shape [6, nv]; `out`, if given.

    Raises:
        TypeError, ValueError: `out` is of wrong type or shape.
    """
    w = state._position()
    A = output("momentum_matrix", "out", out, (6, len(w.v)), w)
    w.call(kernels.momentum_matrix, w.topology, w.position, w.scratch, A)
    return express_columns(root_to_desired, A, is_momentum=True)


def mass(mechanism: MultibodyPlant | MechanismState) -> Any:
    """Returns the total mass of a mechanism [kg], from the defaults of the bodies or from a state's parameters."""
    return _mass(mechanism, _plant(mechanism)._tree.bodies)


def subtree_mass(base: RigidBody, mechanism: MultibodyPlant | MechanismState) -> Any:
    """Returns the mass of a body and all that it carries [kg], as mass() does; of the world, that of all.

    Raises:
        RuntimeError: the body is not of the plant, or before Finalize().
    """
    plant = _plant(mechanism)
    mobod = mobod_of(plant._model, "subtree_mass", base)
    subtree = range(mobod, int(plant._tree.topology["subtree_end"][mobod]))
    return _mass(mechanism, (body for body in plant._tree.bodies if body._mobod in subtree))


def _plant(mechanism: MultibodyPlant | MechanismState) -> MultibodyPlant:
    return mechanism.mechanism if isinstance(mechanism, MechanismState) else mechanism


def _mass(mechanism: MultibodyPlant | MechanismState, bodies: Iterable[RigidBody]) -> Any:
    """Of bodies, the world left out."""
    moving = [body for body in bodies if body.index() != 0]
    if isinstance(mechanism, MechanismState):
        return sum((body.get_mass(mechanism.context) for body in moving), 0.0)
    return sum((body.default_mass() for body in moving), 0.0)


def center_of_mass(state: MechanismState, bodies: Iterable[RigidBody] | None = None) -> Array:
    """Returns the centre of mass of some bodies, or of the whole mechanism, in the world frame [m], shape [3].

    Args:
        state: of the mechanism.
        bodies: by default all; the world does not count.

    Raises:
        RuntimeError: their mass is zero, or a body is not of the plant.
    """
    w = state._position()
    chosen = state.mechanism._tree.bodies if bodies is None else bodies
    mobods = [m for m in (mobod_of(state.mechanism._model, "center_of_mass", body) for body in chosen) if m]
    masses = w.position["mass"][mobods]
    if not masses.sum() != 0.0:
        raise RuntimeError("center_of_mass(): the total mass is zero, so there is no centre of mass.")
    centres = w.position["p_WoBo_W"][mobods] + w.position["p_BoBcm_W"][mobods]
    result: Array = masses @ centres / masses.sum()
    return result
