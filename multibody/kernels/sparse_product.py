"""Products with matrices of derivatives, most of whose elements are zero.

Variables mostly are elements of q, v, vdot and tau themselves, so that the rows of a matrix D of derivatives are those
of an identity matrix, or zero, or have a few elements: of every row, only what lies between its first and its last
element that is not zero takes part. To look for these takes numbers: these functions serve floats only.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.spatial import Array

__all__ = ["add_product", "calc_product", "product"]


@device
def calc_product(
    # In:
    A_in: Array,  # shape [num_rows, num_velocities]
    D_in: Array,  # shape [num_velocities, num_variables]
    # In and out:
    product_io: Array,  # in: 0; out: A D, shape [num_rows, num_variables]
) -> None:
    """Computes A D."""
    add_product(A_in, D_in, product_io)


@device
def add_product(A: Array, D: Array, out: Array) -> None:
    """out += A D."""
    for j in range(D.shape[0]):
        first, end = 0, D.shape[1]
        while first < end and D[j, first] == 0.0:
            first += 1
        while end > first and D[j, end - 1] == 0.0:
            end -= 1
        for r in range(out.shape[0]):
            for c in range(first, end):
                out[r, c] += A[r, j] * D[j, c]


product = kernel(calc_product)
