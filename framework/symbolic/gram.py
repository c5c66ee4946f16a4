"""Polynomials as quadratic forms of monomials."""

from __future__ import annotations

__all__ = ["CalcPolynomialWLowerTriangularPart"]

import numpy as np
import numpy.typing as npt

from merganser.framework.symbolic.polynomial import Polynomial


def CalcPolynomialWLowerTriangularPart(monomial_basis: npt.ArrayLike, gram_lower: npt.ArrayLike) -> Polynomial:
    """The polynomial m'Q m of monomials m and a symmetric matrix Q.

    Args:
        monomial_basis: m, shape [n].
        gram_lower: the lower triangle of Q, column by column, as numbers, variables or expressions,
            shape [n (n + 1) / 2].

    Raises:
        ValueError: there are not as many entries.
    """
    basis, entries = np.ravel(np.asarray(monomial_basis)).tolist(), np.ravel(np.asarray(gram_lower)).tolist()
    size = len(basis)
    if len(entries) != size * (size + 1) // 2:
        raise ValueError(
            f"CalcPolynomialWLowerTriangularPart: the lower triangle of a {size} x {size} matrix has "
            f"{size * (size + 1) // 2} entries, given {len(entries)}."
        )
    result, remaining = Polynomial(), iter(entries)
    for j in range(size):
        for i in range(j, size):
            entry = next(remaining)
            result.AddProduct(entry if i == j else 2.0 * entry, basis[i] * basis[j])
    return result
