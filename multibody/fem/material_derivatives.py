"""Derivatives of where a deformable body is, by what it is made of.

A step is r(q, v, v+; p) = 0 in the velocities v+ after it, with the state q, v before it and the numbers p of the
material (assembly.py, equation (2)); rest is r(q; p) = 0 without mass and damping. By the implicit function theorem

    dr/dv+ v+_p = -(dr/dq q_p + dr/dv v_p + dr/dp)                                        (1)
    dr/dq  q_p  = -dr/dp                                                                  (2)

from step to step, and q+_p = q_p + h/2 (v_p + v+_p). Derivatives of r are closed forms (linearization.py), with
rotations of linear corotated elements, damping, and forces that follow from positions. As damping leaves out negative
stiffness, the matrix of (1) is not symmetric.

Source: S. Krantz, H. Parks, The Implicit Function Theorem (2002), chapter 1.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu

from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.geometry.meshes.volume_mesh import tetrahedron_volumes
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.config import DeformableBodyConfig
from merganser.multibody.fem.force_density_field import ForceDensityType, GravityForceField
from merganser.multibody.fem.linearization import Linearization, block_diagonal
from merganser.multibody.fem.materials.third import second_of_volume

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.deformable.body import DeformableBody

Array = NDArray[np.float64]

_AT_REST = 1e6  # a step so long that inertia and damping are nothing [s]
_MOST_STEPS = 500
_STILL = 1e-13  # a change of positions, by the size of the body, that counts as zero
_SINGULAR = 1e-12  # pivots of a matrix, relative to the largest one, that count as zero


class MaterialDerivatives(NamedTuple):
    """Where the vertices of a body are, and derivatives by numbers of its material.

    Attributes:
        p_WV: positions in W [m], shape [3, num_vertices].
        v_WV: velocities in W [m/s], shape [3, num_vertices].
        dp_WV: derivatives of the positions, by the name of the number [m by its unit], shape [3, num_vertices] each.
        dv_WV: those of the velocities [m/s by its unit].
    """

    p_WV: Array
    v_WV: Array
    dp_WV: dict[str, Array]
    dv_WV: dict[str, Array]


def differentiate_equilibrium(
    body: DeformableBody, context: Context, parameters: Sequence[str], config: DeformableBodyConfig | None = None
) -> MaterialDerivatives:
    """Returns where a body comes to rest, and how that changes with its material.

    What holds it and pulls at it is as in the Context, where the search begins. The Context stays as it is.

    Args:
        body: of a finalized plant; without proximity properties, as contact does not count here.
        context: of the plant.
        parameters: names of numbers of a DeformableBodyConfig, such as "youngs_modulus".
        config: a material in place of that of the body.

    Raises:
        ValueError: there is no such parameter.
        RuntimeError: the body touches things or is fixed to a rigid body that moves; it finds no rest; or rest hangs
            by nothing, as that of a body that is not held; or an external force takes no AutoDiffXd.
    """
    equations = _Equations(body, context, parameters, config)
    q = equations.settle()
    v = np.zeros_like(q)
    return equations.result(q, v, [(dq, v) for dq in equations.derivatives_at_rest(q)])


def differentiate_motion(
    body: DeformableBody,
    context: Context,
    num_steps: int,
    parameters: Sequence[str],
    config: DeformableBodyConfig | None = None,
) -> MaterialDerivatives:
    """Returns where a body is after some steps of its plant, and how that changes with its material.

    It starts where it is in the Context, whatever it is made of. The Context stays as it is.

    Args:
        body: of a finalized plant; without proximity properties, as contact does not count here.
        context: of the plant; rigid bodies stay where they are, and so do values of input ports and the time.
        num_steps: how many steps.
        parameters: names of numbers of a DeformableBodyConfig, such as "youngs_modulus".
        config: a material in place of that of the body.

    Raises:
        ValueError: there is no such parameter, or the number of steps is negative.
        RuntimeError: the body touches things or is fixed to a rigid body that moves; a step has no solution; its
            kind of material does not say enough, see MaterialKind; or an external force takes no AutoDiffXd.
    """
    if num_steps < 0:
        raise ValueError(f"differentiate_motion(): num_steps must not be negative; given {num_steps}.")
    equations = _Equations(body, context, parameters, config)
    q, v = equations.q, equations.v
    changes = [(np.zeros_like(q), np.zeros_like(v)) for _ in parameters]
    for _ in range(num_steps):
        q, v, changes = equations.step(q, v, changes)
    return equations.result(q, v, changes)


_NUMBERS = (
    "youngs_modulus", "poissons_ratio", "mass_density", "mass_damping_coefficient", "stiffness_damping_coefficient",
)  # fmt: skip


class _Equations:
    """The equations of a body in a Context, of one material.

    Attributes:
        q, v: where the body is, and how fast [m], [m/s], shape [3 num_vertices].
    """

    def __init__(
        self, body: DeformableBody, context: Context, parameters: Sequence[str], config: DeformableBodyConfig | None
    ) -> None:
        for name in parameters:
            if name not in _NUMBERS:
                raise ValueError(f"A material has no parameter {name!r}; there are {', '.join(_NUMBERS)}.")
        body.check_alone(context, "Derivatives by the material")
        self._body, self._context, self._parameters = body, context, list(parameters)
        own = body.fem_body()
        self._fem = FemBody(own.mesh, copy.copy(body.config() if config is None else config), own.is_held, own.name)
        self._work, self._h = self._fem.make_work(), body.GetParentPlant().time_step()
        self.q = body.place_held(context).ravel()
        self._moves = np.repeat(~own.is_held, 3)
        self.v = np.where(self._moves, body.GetVelocities(context).T.ravel(), 0.0)

    def _force(self, q: Array, density: float | None = None) -> Array:
        """External forces [N], shape [3 num_vertices]; by default of the material's density."""
        density = float(self._fem.config.mass_density()) if density is None else density
        return self._body.calc_force(self._context, q.reshape(-1, 3), density).ravel()

    def settle(self) -> Array:
        """Where the body is at rest."""
        q, v = self.q, np.zeros_like(self.q)
        for _ in range(_MOST_STEPS):
            q_next, _ = self._fem.step(_AT_REST, q, v, self._force(q), self._work)
            change = float(abs(q_next - q).max())
            q = q_next
            if change <= _STILL * max(float(np.ptp(self._fem.mesh.vertex_array())), float(abs(q).max())):
                return q
        raise RuntimeError(
            f"Deformable body '{self._fem.name}' finds no rest: after {_MOST_STEPS} steps of Newton's method it still "
            f"moves by {change:.3g} m. Start from a Context in which it is nearly at rest."
        )

    def derivatives_at_rest(self, q: Array) -> list[Array]:
        """Equation (2)."""
        v = np.zeros_like(q)
        of = Linearization(self._fem, None, q, v, v)
        solve = self._factored(of.by_q - self._force_by_position(of, q))
        return [solve(-self._by_number(of, name, q)) for name in self._parameters]

    def step(
        self, q: Array, v: Array, changes: list[tuple[Array, Array]]
    ) -> tuple[Array, Array, list[tuple[Array, Array]]]:
        """Positions and velocities after a step of the plant, and their changes: equation (1)."""
        h, at = self._h, q + self._h * v  # where external forces are
        q_next, v_next = self._fem.step(h, q, v, self._force(at), self._work, self._context.get_time())
        if not changes:
            return q_next, v_next, []
        of = Linearization(self._fem, h, q, v, v_next, bool(self._work.report["is_damping_kept"]))
        force, solve = self._force_by_position(of, at), self._factored(of.by_v_next)
        found = []
        for name, (dq, dv) in zip(self._parameters, changes, strict=True):
            by_state = of.by_q @ dq + of.by_v @ dv - force @ (dq + h * dv)
            dv_next = solve(-by_state - self._by_number(of, name, at))
            found.append((dq + 0.5 * h * (dv + dv_next), dv_next))
        return q_next, v_next, found

    def _by_number(self, of: Linearization, name: str, q: Array) -> Array:
        """dr/dp, with external forces: those of gravity are as the density."""
        found = of.by_number(name)
        return found - (self._force(q, 1.0) - self._force(q, 0.0)) if name == "mass_density" else found

    def _force_by_position(self, of: Linearization, q: Array) -> Any:
        """The derivative of external forces by positions [N/m], sparse, shape [3 num_vertices, 3 num_vertices]."""
        elements, n = self._fem.arrays.elements, self._fem.mesh.num_elements()
        total = csr_matrix((len(q), len(q)))
        F = (of.G @ q).reshape(n, 3, 3)
        growth = 0.5 * (second_of_volume(F) @ F.reshape(n, 9, 1))[..., 0]  # dJ/dF
        for field in self._body.external_forces():
            if type(field) is GravityForceField:
                continue
            density, slope = np.empty((n, 3, 1)), np.empty((n, 3, 3))
            for e, p_WQ in enumerate((of.centers @ q).reshape(n, 3)):
                try:
                    value = np.asarray(field.DoEvaluateAt(self._context, InitializeAutoDiff(p_WQ).ravel()))
                except TypeError as error:
                    raise RuntimeError(
                        f"{type(field).__name__}.DoEvaluateAt() must take a point of AutoDiffXd, so that positions of "
                        f"deformable body '{self._fem.name}' have derivatives by its material; it raised {error}. Use "
                        "functions of merganser.math in place of those of math, and no float()."
                    ) from error
                density[e, :, 0] = field.EvaluateAt(self._context, p_WQ)
                slope[e] = ExtractGradient(value.reshape(3)) if value.dtype == object else 0.0
            volumes = elements["volume"]
            if field.density_type() == ForceDensityType.kPerCurrentVolume:
                volumes = tetrahedron_volumes(q.reshape(-1, 3), elements["nodes"])
                by_F = density * (elements["volume"][:, np.newaxis] * growth)[:, np.newaxis]
                total = total + of.centers.T @ block_diagonal(by_F) @ of.G
            total = total + of.centers.T @ block_diagonal(volumes[:, np.newaxis, np.newaxis] * slope) @ of.centers
        return total

    def _factored(self, matrix: Any) -> Callable[[Array], Array]:
        """What solves for the vertices that move, with a matrix of all; others do not."""
        moves = np.flatnonzero(self._moves)
        try:
            factor = splu(matrix.tocsc()[moves][:, moves]) if len(moves) else None
            pivots = np.ones(1) if factor is None else abs(factor.U.diagonal())
        except RuntimeError:
            pivots = np.zeros(1)
        if not pivots.min() > _SINGULAR * pivots.max():
            raise RuntimeError(
                f"Deformable body '{self._fem.name}': its state does not determine how it changes with the material; "
                "it may be about to buckle, or be held by nothing. Hold more of its vertices, or change what pulls at "
                "it."
            )

        def solve(right: Array) -> Array:
            found = np.zeros(len(right))
            if factor is not None:
                found[moves] = factor.solve(right[moves])
            return found

        return solve

    def result(self, q: Array, v: Array, changes: list[tuple[Array, Array]]) -> MaterialDerivatives:
        """All in the shapes of GetPositions()."""

        def columns(values: Array) -> Array:
            return values.reshape(-1, 3).T.copy()

        of_q, of_v = ([columns(change[i]) for change in changes] for i in (0, 1))
        named = (dict(zip(self._parameters, of, strict=True)) for of in (of_q, of_v))
        return MaterialDerivatives(columns(q), columns(v), *named)
