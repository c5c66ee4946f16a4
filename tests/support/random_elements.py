"""Random force elements on the random trees of random_trees.py, and calls of their kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from random_trees import Tree, random_rotation

from merganser.multibody import kernels
from merganser.multibody.kernels.layout import (
    BUSHING,
    DOOR_HINGE,
    JOINT_SPRING,
    SPRING_DAMPER,
    constant_dtype,
    element_dtype,
)

ALL_KINDS_OF_ELEMENT = (JOINT_SPRING, SPRING_DAMPER, DOOR_HINGE, BUSHING)


@dataclass
class Elements:
    """Force elements on a tree, whose kinematics must be current, in its scalar type."""

    tree: Tree
    elements: np.ndarray
    constants: np.ndarray

    @staticmethod
    def random(tree: Tree, seed: int, kinds: tuple[int, ...] = ALL_KINDS_OF_ELEMENT, count: int = 2) -> Elements:
        """`count` elements of each kind. Bushings have one stiffness along all axes, so that they have a potential."""
        rng = np.random.default_rng(seed)
        elements = np.zeros(count * len(kinds), element_dtype)
        constants = np.zeros(len(elements), constant_dtype())
        elements["kind"] = np.tile(kinds, count)
        joints = tree.topology[tree.topology["num_v"] == 1]
        for element, constant in zip(elements, constants):
            if len(joints):
                joint = rng.choice(joints)
                element["q"], element["v"] = joint["q_start"], joint["v_start"]
            element["mobod_0"], element["mobod_1"] = rng.choice(len(tree.topology), 2, replace=False)
            for field in ("X_L0A", "X_L1C"):
                constant[field] = np.column_stack([random_rotation(rng), rng.normal(size=3)])
            constant["stiffness"], constant["damping"] = rng.uniform(0.5, 3.0, (2, 6))
            constant["stiffness"][3:] = constant["stiffness"][3]
            for field in ("nominal", "catch_torque", "catch_width", "dynamic_friction", "static_friction"):
                constant[field] = rng.uniform(0.3, 2.0)
            constant["motion_threshold"] = rng.uniform(1.0, 2.0)
        return Elements(tree, elements, constants)

    def on(self, tree: Tree) -> Elements:
        """These elements on the tree in another scalar type or state."""
        return Elements(tree, self.elements, self.constants.astype(constant_dtype(tree.scalar)))

    def forces(self, tau: Any = 0.0, F_applied: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """tau and F of all elements, added to those given."""
        tree = self.tree
        tau = tree.array(np.zeros(tree.num_v) + tau)
        F_applied = tree.array(np.zeros((len(tree.topology), 6)) + F_applied)
        tau_out, F_out = tree.out(tree.num_v), tree.out(len(tree.topology), 6)
        status = tree.call(
            kernels.force_elements, self.elements, self.constants, 0, len(self.elements), tree.q, tree.v,
            tree.position, tree.velocity, tau, F_applied, tau_out, F_out,
        )  # fmt: skip
        assert status == 0
        return tau_out, F_out

    def generalized_forces(self) -> np.ndarray:
        """tau + J^T F, what inverse dynamics needs less with the forces of the elements than without."""
        tau, F = self.forces()
        zeros = np.zeros(self.tree.num_v)
        return tau + self.tree.inverse_dynamics(zeros) - self.tree.inverse_dynamics(zeros, F)

    def energies(self) -> np.ndarray:
        """Potential energy, conservative and other power."""
        tree, out = self.tree, self.tree.out(3)
        status = tree.call(
            kernels.element_energies, self.elements, self.constants, 0, len(self.elements), tree.q, tree.v,
            tree.position, tree.velocity, out,
        )  # fmt: skip
        assert status == 0
        return out

    def bushing_forces(self) -> np.ndarray:
        """Forces of the first bushing on its bodies."""
        tree, out = self.tree, self.tree.out(2, 6)
        number = int(np.flatnonzero(self.elements["kind"] == BUSHING)[0])
        status = tree.call(
            kernels.bushing_forces, self.elements, self.constants, number, tree.position, tree.velocity, out
        )
        assert status == 0
        return out
