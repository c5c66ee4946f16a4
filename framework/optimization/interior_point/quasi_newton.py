"""A quasi-Newton approximation of the Hessian of the Lagrangian, in compact form.

    B = sigma I - U M^-1 U^T,   U = [sigma S, Y],   M = [sigma S^T S   L ]                  (1)
                                                       [L^T          -D ]

S and Y hold the last steps and the changes of the gradient along them, D the diagonal of S^T Y and L what is below it.
Changes that would make B indefinite are mixed with B s (Powell's damping), so that B is always positive definite.

Sources: R. Byrd, J. Nocedal, R. Schnabel, Math. Program. 63 (1994), theorem 2.3; M. Powell (1978), damping.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.interior_point.problem import Array


class LimitedMemory:
    """The pairs of B, which is sigma I at first.

    Attributes:
        sigma: of (1).
        U, M: of (1), shapes [num_x, 2 k] and [2 k, 2 k].
    """

    def __init__(self, num_x: int, history: int) -> None:
        self._history = history
        self._steps, self._changes = np.zeros((num_x, 0)), np.zeros((num_x, 0))
        self.sigma, self.U, self.M = 1.0, np.zeros((num_x, 0)), np.zeros((0, 0))

    def multiply(self, x: Array) -> Array:
        """B x."""
        product: Array = self.sigma * x
        if len(self.M):
            product = product - self.U @ np.linalg.solve(self.M, self.U.T @ x)
        return product

    def add(self, step: Array, change: Array) -> None:
        """Takes in a step and the change of the gradient of the Lagrangian along it."""
        image = self.multiply(step)
        curvature, expected = float(step @ change), float(step @ image)
        if not expected > 1e-300 or not np.all(np.isfinite(change)):
            return
        if curvature < 0.2 * expected:
            theta = 0.8 * expected / (expected - curvature)
            change = theta * change + (1.0 - theta) * image
            curvature = 0.2 * expected
        self._steps = np.column_stack([self._steps, step])[:, -self._history :]
        self._changes = np.column_stack([self._changes, change])[:, -self._history :]
        self.sigma = min(max(curvature / float(step @ step), 1e-8), 1e8)
        products = self._steps.T @ self._changes
        below = np.tril(products, -1)
        self.U = np.hstack([self.sigma * self._steps, self._changes])
        self.M = np.block([[self.sigma * self._steps.T @ self._steps, below], [below.T, -np.diag(np.diag(products))]])
