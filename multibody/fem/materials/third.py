"""Third derivatives of energies, of many points at once, which derivatives of a damped step take.

With the permutation symbol e, J = det F has

    d^2 J/dF_ij dF_kl = e_ikm e_jln F_mn,   dJ/dF = (d^2 J/dF^2 : F) / 2                  (1)

The rotation R of F = R S changes with F by R^T dR = B, the skew matrix of b. In directions X = R^T dF and X', to which
B' and dS' belong,

    K b = axis(X),   K = tr(S) 1 - S,   dS = X - B S                                      (2)
    R^T ddR = B' B + C,   K c = axis(-B' X) - (tr(dS') 1 - dS') b                         (3)

where axis(A) is that of the skew matrix A - A^T, and C the skew matrix of c. Nothing is singular at equal stretches; K
is where the sum of two stretches is zero.

Source: J. Barbic, Exact Corotational Linear FEM Stiffness Matrix (2012), section 3 ((2)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_PERMUTATION = np.zeros((3, 3, 3))
for _i in range(3):
    _PERMUTATION[_i, (_i + 1) % 3, (_i + 2) % 3], _PERMUTATION[_i, (_i + 2) % 3, (_i + 1) % 3] = 1.0, -1.0
_THIRD_OF_VOLUME = np.einsum("ikm,jln->ijklmn", _PERMUTATION, _PERMUTATION).reshape(9, 9, 9)


def second_of_volume(F: Array) -> Array:
    """Equation (1), left, of deformation gradients of shape [n, 3, 3], shape [n, 9, 9]."""
    second: Array = (F.reshape(-1, 9) @ _THIRD_OF_VOLUME.reshape(81, 9).T).reshape(-1, 9, 9)
    return second


def third_of_volume(F: Array, share: float, pressure: Array) -> Array:
    """The derivative of share (dJ/dF dJ/dF) + pressure d^2 J/dF^2 by F alone, shape [n, 9, 9, 9]."""
    second = second_of_volume(F)
    slope = 0.5 * (second @ F.reshape(-1, 9, 1))
    product = share * second[:, :, np.newaxis, :] * slope[:, np.newaxis]
    third: Array = product + product.transpose(0, 2, 1, 3)
    third += pressure[:, np.newaxis, np.newaxis, np.newaxis] * _THIRD_OF_VOLUME
    return third


def rotations(F: Array) -> Array:
    """R of F = R S, det R = 1, shape [n, 3, 3]."""
    U, _, V_T = np.linalg.svd(F)
    U[..., 2] *= np.sign(np.linalg.det(U @ V_T))[:, np.newaxis]
    return np.asarray(U @ V_T)


def rotation_derivatives(F: Array) -> tuple[Array, Array]:
    """dR/dF, shape [n, 9, 9], and d^2 R/dF^2, shape [n, 9, 9, 9]: equations (2) and (3)."""

    def axis(A: Array) -> Array:
        return -np.einsum("ijk,...jk->...i", _PERMUTATION, A)

    def skew(b: Array) -> Array:
        return -np.einsum("ijk,...k->...ij", _PERMUTATION, b)

    R, X, one = rotations(F), np.eye(9).reshape(9, 3, 3), np.eye(3)
    S = R.transpose(0, 2, 1) @ F
    inverse = np.linalg.pinv(np.trace(S, axis1=1, axis2=2)[:, np.newaxis, np.newaxis] * one - S)
    b = axis(X) @ inverse  # shape [n, 9, 3]
    B = skew(b)
    dS = X - B @ S[:, np.newaxis]
    dK = np.trace(dS, axis1=2, axis2=3)[..., np.newaxis, np.newaxis] * one - dS
    right = axis(-np.einsum("nyij,xjk->nxyik", B, X)) - np.einsum("nyij,nxj->nxyi", dK, b)
    ddR = np.einsum("nyij,nxjk->nxyik", B, B) + skew(right @ inverse[:, np.newaxis])
    first = np.einsum("nia,nblaj,nkb->nijkl", R, B.reshape(-1, 3, 3, 3, 3), R, optimize=True)
    ddR = ddR.reshape(-1, 3, 3, 3, 3, 3, 3)
    second = np.einsum("nia,nblcoaj,nkb,nmc->nijklmo", R, ddR, R, R, optimize=True)
    return first.reshape(-1, 9, 9), second.reshape(-1, 9, 9, 9)
