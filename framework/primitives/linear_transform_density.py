"""LinearTransformDensity: a linear transformation of random numbers, with the probability density of the result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context.context import Context
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import InputOr, MatrixOf
from merganser.framework.core.declarations.ports import InputPort, OutputPort
from merganser.framework.core.inside import declare_vector_entry
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.random_values import RandomDistribution
from merganser.framework.core.values.values import BasicVector
from merganser.framework.math.element_functions import exp
from merganser.framework.primitives._arguments import checked_size
from merganser.framework.primitives.linear.linear_system import affine

__all__ = ["LinearTransformDensity"]

Array = NDArray[Any]
_ROUNDING = 2.0**-52
_ROOT_OF_TWO_PI = math.sqrt(2.0 * math.pi)
_UNIFORM, _GAUSSIAN = RandomDistribution.kUniform.value, RandomDistribution.kGaussian.value


@native
def eliminated(A: Array, b: Array, w: Array, result: Array) -> bool:
    """Brings A to triangular form and finds by how much w_in changes with A and b while w_out stays.

    That is inv(A) (dA w_in + db): zero, but for its derivatives. Elimination with row pivots.

    Args:
        A: shape [m, n].
        b: shape [m].
        w: the random numbers, shape [n].
        result: rows of the triangular matrix, each followed by an element of that change, shape [n (n + 1)].

    Returns:
        Whether A has no inverse.
    """
    n, width, largest = A.shape[1], A.shape[1] + 1, 0.0
    if n != A.shape[0]:
        return True
    for i in range(n):
        change = b[i] - b[i].real
        for j in range(n):
            result[width * i + j] = A[i, j]
            largest = max(largest, abs(A[i, j].real))
            change = change + (A[i, j] - A[i, j].real) * w[j].real
        result[width * i + n] = change
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(result[width * i + k].real) > abs(result[width * best + k].real):
                best = i
        for j in range(k, width):
            swapped = result[width * best + j]
            result[width * best + j] = result[width * k + j]
            result[width * k + j] = swapped
        pivot = result[width * k + k]
        if not abs(pivot.real) > _ROUNDING * largest:
            return True
        for i in range(k + 1, n):
            factor = result[width * i + k] / pivot
            for j in range(k + 1, width):
                result[width * i + j] -= factor * result[width * k + j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            result[width * i + n] -= result[width * i + j] * result[width * j + n]
        result[width * i + n] = result[width * i + n] / result[width * i + i]
    return False


@native
def transformed_density(distribution: int, w: Array, triangle: Array, density: Array) -> None:
    """p(w_in) / |det A| at a fixed w_out, with what `eliminated` gives, shape [n, n + 1]."""
    n = len(w)
    p, determinant = 1.0, 1.0
    for i in range(n):
        x = w[i].real - triangle[i, n]
        if distribution == _GAUSSIAN:
            p = p * (exp(-0.5 * x * x) / _ROOT_OF_TWO_PI)
        elif distribution == _UNIFORM:
            p = p if 0.0 <= x.real < 1.0 else 0.0 * p
        else:
            p = p * exp(-x) if x.real >= 0.0 else 0.0 * p
        determinant = determinant * triangle[i, i]
    density[0] = p / (-determinant if determinant.real < 0.0 else determinant)


class LinearTransformDensity(LeafSystem):
    """Gives w_out = A w_in + b and the probability density of w_out, for random numbers w_in.

    With p the density of the distribution of w_in, that of w_out is p(inv(A) (w_out - b)) / |det A|. Its derivatives by
    A and b are those at a fixed w_out: how much more likely this sample would have been.

    Input ports: w_in, A (its columns one after the other) and b, which is zero if it is not connected. Output ports:
    w_out and w_out_density.

    Args:
        distribution: of each element of w_in, which the source of the port must have too.
        input_size: number of elements of w_in.
        output_size: number of elements of w_out.

    Raises:
        TypeError: the distribution is no RandomDistribution.
        ValueError: a size is negative.
    """

    def __init__(self, distribution: RandomDistribution, input_size: int, output_size: int) -> None:
        super().__init__()
        if not isinstance(distribution, RandomDistribution):
            raise TypeError(f"LinearTransformDensity: distribution must be a RandomDistribution, got {distribution!r}.")
        self._distribution = distribution
        n = checked_size(input_size, "LinearTransformDensity: input_size")
        m = checked_size(output_size, "LinearTransformDensity: output_size")
        self._w_in = self.DeclareVectorInputPort("w_in", n, distribution)
        self._A = self.DeclareVectorInputPort("A", m * n)
        self._b = self.DeclareVectorInputPort("b", m)
        w, b, A = self._w_in, InputOr(self._b, np.zeros(m)), MatrixOf(self._A, (m, n), by_columns=True)
        self._w_out = self.DeclareVectorOutputPort("w_out", m, affine.given(offset=b, M=A, v=w))
        shape, calc = (n, n + 1), eliminated.given(A=A, b=b, w=w).or_raise(self._explain)
        room, anything = BasicVector(np.zeros(n * (n + 1))), {self.all_sources_ticket()}
        triangle = declare_vector_entry(self, "elimination", room, calc, anything)
        density = transformed_density.given(distribution=distribution.value, w=w, triangle=MatrixOf(triangle, shape))
        self._density = self.DeclareVectorOutputPort("w_out_density", 1, density)

    def get_input_port_w_in(self) -> InputPort:
        """Returns the input port of w_in."""
        return self._w_in

    def get_input_port_A(self) -> InputPort:
        """Returns the input port of A."""
        return self._A

    def get_input_port_b(self) -> InputPort:
        """Returns the input port of b."""
        return self._b

    def get_output_port_w_out(self) -> OutputPort:
        """Returns the output port of w_out."""
        return self._w_out

    def get_output_port_w_out_density(self) -> OutputPort:
        """Returns the output port of the density."""
        return self._density

    def get_distribution(self) -> RandomDistribution:
        """Returns the distribution of w_in."""
        return self._distribution

    def FixConstantA(self, context: Context, A: ArrayLike) -> FixedInputPortValue:
        """Fixes the input port A to a matrix of shape [output_size, input_size].

        Raises:
            ValueError: wrong shape.
        """
        matrix, shape = np.asarray(A), (self._w_out.size(), self._w_in.size())
        if matrix.shape != shape:
            raise ValueError(f"System '{self.GetSystemPathname()}': A must have shape {shape}, got {matrix.shape}.")
        return self._A.FixValue(context, matrix.ravel(order="F"))

    def FixConstantB(self, context: Context, b: ArrayLike) -> FixedInputPortValue:
        """Fixes the input port b to a vector of shape [output_size].

        Raises:
            ValueError: wrong size.
        """
        return self._b.FixValue(context, np.asarray(b).reshape(-1))

    def CalcDensity(self, context: Context) -> Any:
        """Returns the density of w_out.

        Raises:
            RuntimeError: A has no inverse.
        """
        return self._density.Eval(context)[0]

    def _explain(self, context: Context) -> None:
        """Raises an exception for a matrix that has no inverse."""
        columns = self._A.EvalBasicVector(context).value()
        A = columns.reshape((self._w_out.size(), self._w_in.size()), order="F")
        raise RuntimeError(
            f"System '{self.GetSystemPathname()}': the density needs a matrix A that has an inverse, got {A.tolist()}."
        )
