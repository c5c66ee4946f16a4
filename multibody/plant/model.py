"""The data of a plant that all its parts read, and pydrake's names of how it models contact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import LeafSystem
from merganser.framework.common.enumeration import Enumeration
from merganser.multibody.plant.step.contact_arrays import ContactModelArrays
from merganser.multibody.tree import MultibodyTree


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
        self.default_setters: list[Callable[[Any], None]] = []

    @property
    def is_discrete(self) -> bool:
        """Whether the state is discrete."""
        return self.time_step > 0.0

    def set_explicit_products(self, use_explicit_velocity_products: bool) -> None:
        """Chooses how discrete steps take the forces of velocity products C(q, v) v: Coriolis, gyroscopic and such.

        By default at the mean u = (v + v+) / 2 of the velocities before and after the step, with all that constrains it
        (kernels/velocity_products.py): second order if v is seen as the velocity half a step before q, and
        little change of energy while bodies turn by less than about 0.1 rad in a step. Explicit ones,
        M (v+ - v) = h (tau - C(q, v) v), are pydrake's, and 1.1 to 1.95 times as fast: they feed energy into bodies
        that tumble, a share of about x^2 a step for bodies that turn by x radians in one. Continuous plants have
        no such choice, and take no notice.

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
        """Stores the data of the finalized tree, or shares those of an equal plant."""
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


class ContactModel(Enumeration):
    """Which contacts are surfaces of hydroelastic contact, and which are points."""

    kHydroelastic = 0  # surfaces only; pairs of shapes that allow none are refused
    kPoint = 1  # points only
    kHydroelasticWithFallback = 2  # surfaces where shapes allow them, points elsewhere

    kHydroelasticsOnly = 0
    kPointContactOnly = 1


class DiscreteContactApproximation(Enumeration):
    """How the step of a discrete plant approximates compliance and friction of contacts."""

    kTamsi = 0
    kSap = 1
    kSimilar = 2
    kLagged = 3


class DiscreteContactSolver(Enumeration):
    """The solver of contact forces of a discrete step."""

    kTamsi = 0
    kSap = 1
