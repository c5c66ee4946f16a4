"""Tendons and other transmissions of a plant in a Context: lengths, rates and moment arms, energies, and paths."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.multibody.kernels.scalars import real_part
from merganser.multibody.kernels.transmissions import transmission_motion
from merganser.multibody.kernels.transmissions.arms import node_axis, node_point
from merganser.multibody.kernels.transmissions.motion import stretch_of
from merganser.multibody.kernels.transmissions.records import PULLEY, SITE, SPHERE
from merganser.multibody.kernels.transmissions.wrapping import wrap
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel

Array = NDArray[Any]


class PlantTransmissions:
    """Transmissions of a plant.

    Args:
        model, kinematics: of the plant.
    """

    def __init__(self, model: PlantModel, kinematics: PlantKinematics) -> None:
        self._model, self._tree, self._kinematics = model, model.tree, kinematics

    def calc_motion(self, context: Context) -> tuple[Array, Array, Array, Array]:
        """Lengths l, rates J v and moment arms J of all transmissions, and Jdot v of those with armature.

        Shapes are [num_transmissions] but that of J, [num_transmissions, num_v].
        """
        self._model.require_finalized("The length of a transmission")
        tree, kinematics = self._tree, self._kinematics
        w = kinematics.eval_velocity(context) if tree.has_armature() else kinematics.eval_position(context)
        num_q, num_v, num_t = len(w.q), len(w.v), len(tree.transmissions)
        lengths, rates = np.zeros(num_q + num_t, w.dtype), np.zeros(num_v + 2 * num_t, w.dtype)
        arms = np.zeros((num_t, num_v), w.dtype)
        given = tree.topology, tree.transmission_records, tree.transmission_nodes, w.q, w.v, w.position
        w.call(transmission_motion, *given, w.velocity, w.scratch, lengths, rates, arms)
        return lengths[num_q:], rates[num_v : num_v + num_t], arms, rates[num_v + num_t :]

    def add_masses(self, context: Context, M: Array) -> Array:
        """M with armature of tendons, see ../kernels/transmissions/armature.py."""
        if not self._tree.has_armature():
            return M
        arms = self.calc_motion(context)[2]
        return M + arms.T @ (self._tree.transmission_records["armature"][:, None] * arms)

    def add_inertial_forces(self, context: Context, vdot: Array, tau: Array) -> Array:
        """tau with what armature of tendons needs for vdot, J^T a (J vdot + Jdot v)."""
        if not self._tree.has_armature():
            return tau
        _, _, arms, products = self.calc_motion(context)
        return tau + arms.T @ (self._tree.transmission_records["armature"] * (arms @ vdot + products))

    def calc_kinetic_energy(self, context: Context) -> Any:
        """That of armature of tendons, a ldot^2 / 2 [J]."""
        if not self._tree.has_armature():
            return 0.0
        rates = self.calc_motion(context)[1]
        return 0.5 * (self._tree.transmission_records["armature"] * rates).dot(rates)

    def calc_path(self, context: Context, index: int) -> list[Array]:
        """Where a spatial tendon runs in W [m]: each of its branches as points that straight lines join, shape [n, 3].

        Arcs on surfaces are drawn by chords that stand for 6 degrees at most; without derivatives.
        """
        self._model.require_finalized("The path of a tendon")
        w, record = self._kinematics.eval_position(context), self._tree.transmission_records[index]
        position = w.position
        branches: list[list[Array]] = [[]]
        nodes = self._tree.transmission_nodes[record["first"] : record["end"]]
        for n, node in enumerate(nodes):
            if node["what"] == PULLEY:
                branches.append([])
            elif node["what"] == SITE:
                branches[-1].append(_numbers(node_point(node, position))[None])
            else:
                p_WP, p_WQ = (node_point(nodes[k], position) for k in (n - 1, n + 1))
                wraps, arc, p_WA, p_WB = wrap(node, position, p_WP, p_WQ)
                if wraps:
                    P, A, B = _numbers(p_WP), _numbers(p_WA), _numbers(p_WB)
                    branches[-1].append(_arc(node, position, P, A, B, real_part(arc)))
        return [np.concatenate(points) for points in branches if points]

    def calc_energies(self, context: Context) -> Array:
        """Potential energy of the springs [J], its loss and the power of dampers [W], of all together, shape [3]."""
        lengths, rates, *_ = self.calc_motion(context)
        energies: Array = np.zeros(3, lengths.dtype)
        for record, length, rate in zip(self._tree.transmission_records, lengths, rates):
            stretch = stretch_of(record, length)
            energies[0] += 0.5 * record["stiffness"] * stretch * stretch
            energies[1] -= record["stiffness"] * stretch * rate
            energies[2] -= record["damping"] * rate * rate
        return energies


def _numbers(vector: Any) -> Array:
    """A vector without derivatives, shape [3]."""
    return np.array([real_part(x) for x in vector])


def _arc(surface: Any, position: Array, p_WP: Array, p_WA: Array, p_WB: Array, arc: float) -> Array:
    """Points of an arc of a length on a surface, from A, where the line from P arrives, to B; shape [n, 3]."""
    center, z = _numbers(node_point(surface, position)), _numbers(node_axis(surface, position, 2))
    rise = 0.0 if surface["what"] == SPHERE else float(z @ (p_WB - p_WA))
    flat = np.eye(3) if surface["what"] == SPHERE else np.eye(3) - np.outer(z, z)
    radial, r = flat @ (p_WA - center), surface["number"]
    for forward in (p_WA - p_WP, p_WB - p_WA):  # the second if P is on the surface
        tangent = flat @ forward
        tangent = tangent - (tangent @ radial) / (r * r) * radial
        if np.linalg.norm(tangent) > 1e-9 * r:
            break
    else:
        return np.array([p_WA])
    angle = np.sqrt(max(arc * arc - rise * rise, 0.0)) / r
    share = np.linspace(0.0, 1.0, 1 + int(np.ceil(angle / np.radians(6.0))))[:, None]
    across = r / np.linalg.norm(tangent) * tangent
    points: Array = p_WA - radial + np.cos(angle * share) * radial + np.sin(angle * share) * across + share * rise * z
    return points
