"""What a plant is made of, as all its parts read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import LeafSystem
from merganser.multibody.plant.step.contact_arrays import ContactModelArrays
from merganser.multibody.tree import MultibodyTree

__all__ = ["PlantModel"]


class PlantModel:
    """The elements of a plant, and what follows from them; frozen by Finalize().

    Args:
        system: the plant as a system with ports, state and parameters.
        tree: the elements.
        time_step: period of the discrete update [s]; 0 for a continuous plant.

    Attributes:
        system, tree, time_step: as given.
        quaternions: where in q quaternions start, and of which joint they are.
        pitches: which positions are pitch angles, and of which joint they are; pitch_indices: these positions.
        force_sizes: numbers of bodies and of velocities.
        num_deformables: how many deformable bodies there are, which the native plan leaves to Python.
        default_setters: put other state than q and v of a Context at its defaults.
        contact: trees and limits of contact problems, once it is frozen.
    """

    contact: ContactModelArrays
    pitch_indices: NDArray[np.int64]

    def __init__(self, system: LeafSystem, tree: MultibodyTree, time_step: float) -> None:
        self.system, self.tree, self.time_step = system, tree, time_step
        self.quaternions: dict[int, str] = {}
        self.pitches: dict[int, str] = {}
        self.force_sizes = 0, 0
        self.num_deformables = 0
        self.default_setters: list[Callable[[Any], None]] = []

    @property
    def is_discrete(self) -> bool:
        """Whether the state is discrete."""
        return self.time_step > 0.0

    def set_explicit_products(self, use_explicit_velocity_products: bool) -> None:
        """Chooses how discrete steps take the forces of velocity products C(q, v) v: Coriolis, gyroscopic and such.

        By default so that what turns neither gains nor loses energy by them, however fast, see
        kernels/velocity_products.py. Explicit ones, M (v+ - v) = h (tau - C(q, v) v), are pydrake's: they feed energy
        into bodies that tumble, a share of about x^2 a step for bodies that turn by x radians in one. Continuous plants
        have no such choice, and take no notice.

        Raises:
            RuntimeError: the plant is finalized already.
        """
        if self.tree.is_finalized():
            raise RuntimeError(
                f"SetUseExplicitVelocityProducts(): plant '{self.path()}' is finalized already. Call it before "
                "Finalize()."
            )
        self.tree.has_explicit_products = bool(use_explicit_velocity_products)

    def freeze(self, equal: PlantModel | None = None) -> None:
        """Takes over what follows from the finalized tree, or what an equal plant knows of it."""
        tree = self.tree
        self.force_sizes = tree.num_bodies(), tree.num_velocities()
        self.contact = ContactModelArrays(tree) if equal is None else equal.contact.of_copy(tree)
        for joint in tree.joints:
            if joint.kind.quaternion_start is not None:
                self.quaternions[joint.position_start() + joint.kind.quaternion_start] = joint.name()
            if joint.kind.pitch_position is not None:
                self.pitches[joint.position_start() + joint.kind.pitch_position] = joint.name()
        self.pitch_indices = np.array(list(self.pitches), dtype=np.int64)

    def moves(self, mobods: NDArray[Any]) -> NDArray[Any]:
        """Which of some mobods can move, shape as given."""
        is_mobile: NDArray[Any] = self.contact.tree_of_mobod[mobods] >= 0
        return is_mobile

    def path(self) -> str:
        """The path of the plant in its diagram, for messages."""
        return self.system.GetSystemPathname()

    def require_finalized(self, what: str) -> None:
        """Refuses `what` before Finalize() with RuntimeError."""
        if not self.tree.is_finalized():
            raise RuntimeError(
                f"Plant '{self.path()}': {what} needs a finalized plant; call Finalize() once all elements have been "
                "added."
            )
