"""Radau IIA collocation methods as data (Hairer and Wanner 1996, IV.5 and IV.8).

With s stages at the fractions c of a step, A_ij the integral from 0 to c_i of the j-th Lagrange polynomial, and
z_i = x_i - x(t) the change of the state up to stage i,

    z_i = h sum_j A_ij f(t + c_j h, x + z_j),    x(t+h) = x + z_s               (1)
    A c^(k-1) = c^k / k,  k = 1 ... s            (powers by element)            (2)
    T^-1 A^-1 T = diag(lambda)                                                  (3)

An embedded method that also uses the derivatives f_0 at the start has order s and estimates the error:

    x^ = x + h gamma_0 f_0 + h sum_i b^_i f_i,   b^ . c^(k-1) = 1/k - gamma_0 [k = 1]    (4)
    error = (I - h gamma_0 J)^-1 (h gamma_0 f_0 + sum_i e_i z_i),   e = (b^ - A_s)^T A^-1   (5)

(IV.8, equations (8.17) to (8.19), for any number of stages.) The factor in front keeps the estimate bounded for
stiff components.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Fractions of the step at which the stages are: zeros of the right Radau polynomials (IV.5, (5.7)).
_FRACTIONS = {
    1: (1.0,),
    2: (1 / 3, 1.0),
    3: ((4.0 - math.sqrt(6.0)) / 10.0, (4.0 + math.sqrt(6.0)) / 10.0, 1.0),
}


@dataclasses.dataclass(frozen=True)
class CollocationMethod:
    """A method of equations (1) to (5).

    Attributes:
        c: fractions of the step at the stages, shape [s].
        A: weights, shape [s, s].
        eigenvalues: the lambda of (3), shape [s], complex; conjugates are neighbours.
        T: eigenvectors of A^-1, shape [s, s], complex.
        T_inv: inverse of T.
        gamma_0: weight of f_0 in (4).
        e: weights of the stages in (5), shape [s].
        order: order of the result.
        error_order: the error estimate is O(h^error_order).
    """

    c: NDArray[Any]
    A: NDArray[Any]
    eigenvalues: NDArray[Any]
    T: NDArray[Any]
    T_inv: NDArray[Any]
    gamma_0: float
    e: NDArray[Any]
    order: int
    error_order: int

    @property
    def has_real_eigenvalue(self) -> bool:
        """Whether one of the lambda is real."""
        return bool(np.abs(self.eigenvalues.imag).min() < 1e-9)

    @property
    def has_complex_eigenvalue(self) -> bool:
        """Whether there is a pair of complex ones."""
        return bool(self.eigenvalues.imag.max() >= 1e-9)

    def extrapolate(self, z: NDArray[Any], ratio: float) -> NDArray[Any]:
        """A guess for the stages of the next step, which is `ratio` times as long, from those of this one.

        The polynomial through 0 and the z_i, continued beyond the end of the step.
        """
        k = np.arange(1, len(self.c) + 1)
        coefficients = np.linalg.solve(self.c[:, np.newaxis] ** k, z)
        return ((1.0 + ratio * self.c[:, np.newaxis]) ** k - 1.0) @ coefficients


@functools.cache
def radau_iia(num_stages: int) -> CollocationMethod:
    """The Radau IIA method with 1, 2 or 3 stages, of order 1, 3 or 5.

    Raises:
        ValueError: another number of stages.
    """
    if num_stages not in _FRACTIONS:
        raise ValueError(f"Radau methods have 1, 2 or 3 stages here, got {num_stages}.")
    c = np.array(_FRACTIONS[num_stages])
    k = np.arange(1, num_stages + 1)
    powers = c[:, np.newaxis] ** (k - 1)
    A = (c[:, np.newaxis] ** k / k) @ np.linalg.inv(powers)  # (2)
    A_inv = np.linalg.inv(A)
    eigenvalues, T = np.linalg.eig(A_inv.astype(complex))  # (3)
    order = np.lexsort((eigenvalues.imag, np.abs(eigenvalues.imag).round(9)))
    eigenvalues, T = eigenvalues[order], T[:, order]
    # With the real eigenvalue for 1 / gamma_0, if there is one, (5) needs no matrix of its own.
    real = eigenvalues[np.abs(eigenvalues.imag) < 1e-9].real
    gamma_0 = 1.0 / float(real[0] if len(real) else abs(eigenvalues[0]))
    b_hat = (1.0 / k - gamma_0 * (k == 1)) @ np.linalg.inv(powers)  # (4)
    return CollocationMethod(
        c=c,
        A=A,
        eigenvalues=eigenvalues,
        T=T,
        T_inv=np.linalg.inv(T),
        gamma_0=gamma_0,
        e=(b_hat - A[-1]) @ A_inv,
        order=2 * num_stages - 1,
        error_order=num_stages + 1,
    )
