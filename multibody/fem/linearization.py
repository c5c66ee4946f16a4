"""All first derivatives of the equations of a step (assembly.py), as sparse matrices.

Of an element with deformation gradient F and its rate dF/dt, stress and damping stress are

    P(F; F_0),   S = beta H+(F; F_0) : dF/dt,   H = dP/dF                                 (1)

where F_0 is F before the step, of which linear corotated elements have their rotation R, and H+ is H without its
negative part. With H = sum_i w_i W_i W_i^T, and f(w) = max(w, 0),

    dH+ = sum_ij f[w_i, w_j] (W_i . dH W_j) W_i W_j^T                                     (2)
    f[w_i, w_j] = (f(w_i) - f(w_j)) / (w_i - w_j), or f'(w_i) where these are equal

so that dS/dF takes the third derivative of the energy, and equal stretches need no care. A material whose R turns with
F_0 does not see rotations of both: with dR = Omega R, from dF_0,

    dP = Omega P - H : (Omega F),   dS = Omega S - beta H : (Omega dF/dt)                 (3)

Elements of a patch have a mean growth of volume: N takes means, and rows of L are dtheta/dF,

    dP/dF = H + lambda L^T N L,   dS/d(dF/dt) = beta (H+ + lambda L^T N L)                (4)

Sources: R. Bhatia, Matrix Analysis (1997), theorem V.3.3 ((2), Daleckii and Krein); J. Bonet, R. Wood, Nonlinear
Continuum Mechanics for Finite Element Analysis (2008), section 5.4 ((3), objectivity).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_matrix, csr_matrix, diags, identity

from merganser.framework.native import kernel
from merganser.multibody.fem.assembly import set_state, start_step
from merganser.multibody.fem.layout import BodyArrays, FloatBlocks, NodeValues, StepWork
from merganser.multibody.fem.materials.table import kind_of, set_derivative, set_stress
from merganser.multibody.fem.materials.third import rotation_derivatives, rotations

if TYPE_CHECKING:
    from merganser.multibody.fem.body import FemBody

Array = NDArray[np.float64]

_SAME = 1e-9  # of two stress derivatives, relative to their size


@kernel
def stress_derivatives(
    body: BodyArrays,
    q_start: NodeValues,  # q before the step [m], shape [3 num_nodes]
    q_in: NodeValues,  # [m]
    is_convex: int,  # whether H is to be H+
    work: StepWork,  # points are written
    P_out: FloatBlocks,  # [Pa], shape [num_elements, 3, 3]
    H_out: FloatBlocks,  # [Pa], shape [num_elements, 9, 9]
) -> None:
    """P and H of equation (1)."""
    start_step(body, q_start, work)
    set_state(body, q_in, work)
    for e in range(body.elements.shape[0]):
        point = work.points[e]
        set_stress(body.material, point)
        for i in range(3):
            for j in range(3):
                P_out[e, i, j] = point["P"][i, j]
        point["is_convex"] = is_convex
        set_derivative(body.material, point, H_out[e])


class Linearization:
    """Derivatives of equation (2) of assembly.py, r(q, v, v+), about a solution; of all nodes, the held ones too.

    Args:
        body: and its material.
        time_step: h [s]; None at rest, where neither mass nor damping counts.
        q, v: before the step [m], [m/s], shape [3 num_nodes].
        v_next: after it [m/s].
        is_damping_kept: whether damping is that before the step, see newton.py.

    Attributes:
        by_q, by_v, by_v_next: derivatives of r but for external forces [N/m], [N s/m], sparse, shape [3 num_nodes,
            3 num_nodes].
        G, centers: sparse matrices that take positions to all F, shape [9 num_elements, 3 num_nodes], and to the
            centers of elements, shape [3 num_elements, 3 num_nodes].

    Raises:
        RuntimeError: the kind of the material does not say enough.
    """

    def __init__(
        self, body: FemBody, time_step: float | None, q: Array, v: Array, v_next: Array, is_damping_kept: bool = False
    ) -> None:
        material, h = body.arrays.material, 0.0 if time_step is None else time_step
        q_next, alpha, self._beta = q + 0.5 * h * (v + v_next), material["mass_damping"], material["stiffness_damping"]
        if time_step is None:
            self._beta = 0.0
        self._body, self._work, self._q, self._q_next = body, body.make_work(), q, q_next
        self._q_damped = q if is_damping_kept else q_next
        self._set_operators()
        self._rate = (self.G @ v_next).reshape(-1, 9)

        # P, S and their derivatives by F, F where damping is, dF/dt, and F before the step.
        stress, H = self._stress(material, q_next, 0)
        by_F = self._with_mean(H, material["lambda"])
        by_F_damped, by_rate = 0.0 * by_F, 0.0 * by_F
        if self._beta > 0.0:
            S, by_F_damped, by_rate = self._damping()
            stress = stress + S
        by_F_start = 0.0 * by_F
        if kind_of(body.config).start is not None:
            by_F_start = self._by_rotation(stress, by_F, by_F_damped, by_rate)

        K, K_start, K_damped, D = map(self._assembled, (by_F, by_F_start, by_F_damped, by_rate))
        K_start, K = (K_start + K_damped, K) if is_damping_kept else (K_start, K + K_damped)
        self.by_q, self.by_v, self.by_v_next = K + K_start, 0.5 * h * K, 0.5 * h * K + D
        self._acceleration = np.zeros_like(q)
        if time_step is not None:
            self.by_v = self.by_v - self._M / h
            self.by_v_next = self.by_v_next + (1.0 / h + alpha) * self._M
            self._acceleration = (v_next - v) / h + alpha * v_next
        self._v_next = v_next

    def _set_operators(self) -> None:
        """G, centers, M, and the means of patches."""
        elements, n = self._body.arrays.elements, len(self._body.arrays.elements)
        self._volumes, width = elements["volume"], 3 * self._body.num_nodes
        e, a, i, j = (index.ravel() for index in np.indices((n, 4, 3, 3)))
        columns = 3 * elements["nodes"][e, a] + i
        self.G = csr_matrix((elements["gradients"][e, a, j], (9 * e + 3 * i + j, columns)), (9 * n, width))
        once = j == 0
        self.centers = csr_matrix((np.full(12 * n, 0.25), ((3 * e + i)[once], columns[once])), (3 * n, width))
        masses = np.repeat(self._body.element_masses(), 3)
        self._M = self.centers.T @ diags(masses) @ self.centers
        self._mean, self._is_averaged = identity(n, format="csr"), bool(self._body.arrays.material["is_averaged"])
        if self._is_averaged:
            member = csr_matrix((np.ones(n), (elements["patch"], np.arange(n))))
            self._mean = member.T @ diags(1.0 / (member @ self._volumes)) @ member @ diags(self._volumes)

    def _assembled(self, by_F: Any) -> Any:
        """Of forces by positions, from that of stresses by deformation gradients."""
        return self.G.T @ diags(np.repeat(self._volumes, 9)) @ by_F @ self.G

    def _stress(self, material: Any, q: Array, is_convex: int) -> tuple[Array, Array]:
        """P and H of a material, shape [num_elements, 9] and [num_elements, 9, 9]; points are those at q."""
        n = len(self._volumes)
        P, H = np.empty((n, 3, 3)), np.empty((n, 9, 9))
        body = self._body.arrays._replace(material=material)
        stress_derivatives(body, self._q, q, is_convex, self._work, P, H)
        return P.reshape(n, 9), H

    def _slopes(self) -> Any:
        """L, of the points where they are."""
        return _rows(self._work.points["slope"].reshape(-1, 9))

    def _with_mean(self, H: Array, second_lame: float) -> Any:
        """Equation (4)."""
        total = block_diagonal(H)
        if self._is_averaged:
            L = self._slopes()
            total = total + second_lame * (L.T @ self._mean @ L)
        return total

    def _damping(self) -> tuple[Array, Any, Any]:
        """S, its derivative by F, and that by dF/dt."""
        material, beta, rate = self._body.arrays.material, self._beta, self._rate[:, :, np.newaxis]
        kind = kind_of(self._body.config)
        H, convex = (self._stress(material, self._q_damped, is_convex)[1] for is_convex in (0, 1))
        self._spectrum = w, W = np.linalg.eigh(H)
        by_rate = beta * self._with_mean(convex, material["lambda"])
        S = (by_rate @ rate.ravel()).reshape(-1, 9)
        if kind.is_linear:
            return S, 0.0 * by_rate, by_rate
        positive = (W * np.maximum(w, 0.0)[:, np.newaxis]) @ W.transpose(0, 2, 1)
        if kind.calc_third is None or not np.allclose(positive, convex, rtol=0.0, atol=_SAME * abs(H).max()):
            lacking = "has no calc_third" if kind.calc_third is None else (
                "leaves out something else than the negative part of its derivative, where is_convex is not 0"
            )
            raise RuntimeError(
                f"Deformable body '{self._body.name}': its kind of material, '{kind.name}', {lacking}, so that the "
                "motion of a body with stiffness_damping has no derivatives by its material. See MaterialKind."
            )
        points = self._work.points
        third, second = kind.calc_third(material, points["F"], points["growth"])
        L, pressure = self._slopes(), material["lambda"] * second[..., np.newaxis]
        by_F, by_growth = (block_diagonal(self._convex_change(change)) for change in (third, pressure))
        by_F = by_F + by_growth @ self._mean @ L
        if self._is_averaged:
            rates = (self._mean @ (L @ rate.ravel()))[:, np.newaxis, np.newaxis]
            by_slope = block_diagonal(rates * second) + L.T @ self._mean @ _rows((second @ rate)[..., 0])
            by_F = by_F + material["lambda"] * by_slope
        return S, beta * by_F, by_rate

    def _convex_change(self, dH: Array) -> Array:
        """Equation (2) times dF/dt; of changes dH of shape [num_elements, 9, 9, n], shape [num_elements, 9, n]."""
        w, W = self._spectrum
        size, positive = abs(w), np.maximum(w, 0.0)
        total = size[:, :, np.newaxis] + size[:, np.newaxis]
        share = (positive[:, :, np.newaxis] + positive[:, np.newaxis]) / np.maximum(total, np.finfo(float).tiny)
        inner = np.einsum("eai,eabk,ebj->eijk", W, dH, W, optimize=True)
        along = (W.transpose(0, 2, 1) @ self._rate[:, :, np.newaxis])[..., 0]
        return np.einsum("eai,eij,eijk,ej->eak", W, share, inner, along, optimize=True)

    def _by_rotation(self, stress: Array, by_F: Any, by_F_damped: Any, by_rate: Any) -> Any:
        """Equation (3), of P + S."""
        F = (self.G @ self._q).reshape(-1, 3, 3)
        R = rotations(F)
        if not np.allclose(R, self._work.points["rotation"], rtol=0.0, atol=_SAME):
            raise RuntimeError(
                f"Deformable body '{self._body.name}': start of its kind of material, "
                f"'{kind_of(self._body.config).name}', sets something else than the rotation of F, so that its state "
                "has no derivatives by its material. See MaterialKind."
            )
        turn = np.einsum("eimk,ejm->eijk", rotation_derivatives(F)[0].reshape(-1, 3, 3, 9), R)  # Omega of each dF_0

        def turned(tensor: Array) -> Any:
            return block_diagonal(np.einsum("eimk,emj->eijk", turn, tensor.reshape(-1, 3, 3)).reshape(-1, 9, 9))

        total = turned(stress) - by_rate @ turned(self._rate)
        for by, q in ((by_F, self._q_next), (by_F_damped, self._q_damped)):
            total = total - by @ turned(self.G @ q)
        return total

    def by_number(self, name: str) -> Array:
        """dr/dp of a number of a DeformableBodyConfig, but for external forces, shape [3 num_nodes]."""
        config, material = self._body.config, self._body.arrays.material
        E, nu = config.youngs_modulus(), config.poissons_ratio()
        if name == "mass_density":
            return np.asarray(self._M @ self._acceleration / config.mass_density())
        if name == "mass_damping_coefficient":
            return np.asarray(self._M @ self._v_next)
        if name == "stiffness_damping_coefficient":
            stress = np.zeros_like(self._rate)
            if self._v_next.any():
                convex = self._stress(material, self._q_damped, 1)[1]
                stress = self._with_mean(convex, material["lambda"]) @ self._rate.ravel()
        elif name == "youngs_modulus":
            stress = self._by_lame(material["mu"] / E, material["lambda"] / E)
        else:
            share = (1.0 + nu) * (1.0 - 2.0 * nu)
            stress = self._by_lame(-0.5 * E / (1.0 + nu) ** 2, E * (1.0 + 2.0 * nu * nu) / share**2)
        return np.asarray(self.G.T @ (np.repeat(self._volumes, 9) * stress.ravel()))

    def _by_lame(self, of_mu: float, of_lambda: float) -> Array:
        """What P + S change by with Lame's parameters, of which both are affine, shape [num_elements, 9]."""
        material = self._body.arrays.material

        def change(q: Array) -> list[Array]:
            """Of P and H."""
            pairs = (0.0, 0.0), (of_mu, of_lambda), (2.0 * of_mu, 2.0 * of_lambda)
            records = [material.copy() for _ in pairs]
            for record, pair in zip(records, pairs, strict=True):
                record["mu"], record["lambda"] = pair
            found = []
            for none, once, twice in zip(*(self._stress(record, q, 0) for record in records), strict=True):
                if not np.allclose(twice - once, once - none, rtol=0.0, atol=_SAME * abs(once).max()):
                    raise RuntimeError(
                        f"Deformable body '{self._body.name}': stresses of its kind of material, "
                        f"'{kind_of(self._body.config).name}', are not linear in mu and lambda, so that they have no "
                        "derivatives by Young's modulus and Poisson's ratio."
                    )
                found.append(once - none)
            return found

        stress, dH = change(self._q_next)
        if self._beta > 0.0:
            dH = change(self._q_damped)[1]
            rate = self._convex_change(dH[..., np.newaxis])[..., 0]
            if self._is_averaged:
                L = self._slopes()
                rate = rate + of_lambda * (L.T @ (self._mean @ (L @ self._rate.ravel()))).reshape(-1, 9)
            stress = stress + self._beta * rate
        return stress


def block_diagonal(values: Array) -> Any:
    """The matrix with these blocks on its diagonal."""
    n = len(values)
    return bsr_matrix((values, np.arange(n), np.arange(n + 1))).tocsr()


def _rows(values: Array) -> Any:
    """The matrix with these rows, one behind the other."""
    return block_diagonal(values[:, np.newaxis])

