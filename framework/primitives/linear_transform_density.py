"""LinearTransformDensity: a linear transformation of random numbers, with the probability density of the result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context import Context
from merganser.framework.core.element_functions import left_to_right_product
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import FAILURE, OUTPUT, InputOf, NativeCode
from merganser.framework.core.ports import InputPort, OutputPort
from merganser.framework.core.random_values import RandomDistribution
from merganser.framework.core.store import FixedInputPortValue
from merganser.framework.core.values import BasicVector
from merganser.framework.math import elementwise, inv
from merganser.framework.primitives._arguments import checked_size
from merganser.framework.trajectories._scalars import plain

__all__ = ["LinearTransformDensity"]

Array = NDArray[Any]
_SMALLEST_RECIPROCAL_CONDITION = 2.0**-52


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
        inputs = {self.all_input_ports_ticket()}
        self._w_out = self.DeclareVectorOutputPort("w_out", m, self._calc_w_out, inputs)
        self._density = self.DeclareVectorOutputPort("w_out_density", 1, self._calc_density, inputs)
        self._w_out.cache_entry().use_native(_CodeOfTransform())
        if m == n > 0:
            room = np.zeros(n * n)
            arguments = (FAILURE, distribution.value, n, InputOf(0), InputOf(1), OUTPUT, room)
            self._density.cache_entry().use_native(NativeCode("transformed_density", arguments))

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
        A = self._matrix(context)
        values = _values(A)
        if A.shape[0] != A.shape[1] or not 1.0 / np.linalg.cond(values) > _SMALLEST_RECIPROCAL_CONDITION:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}': the density needs a matrix A that has an inverse, got "
                f"{values.tolist()}."
            )
        if A.dtype == np.float64:
            return self._density_at(self._w_in.EvalBasicVector(context).value()) / abs(_determinant(A))
        w_out = _values(self._transformed(context))
        w_in = inv(A) @ (w_out - self._offset(context))
        # det(A) with its first derivatives: det(V) (1 + tr(inv(V) (A - V))), V being the values of A.
        determinant = np.linalg.det(values) * (1.0 + np.trace(np.linalg.inv(values) @ (A - values)))
        return self._density_at(w_in) / elementwise.abs(determinant)

    def _density_at(self, w: Array) -> Any:
        """The density of a vector w_in."""
        density = 1.0
        for element in w.tolist():
            density = density * self._density_of(element)
        return density

    def _density_of(self, w: Any) -> Any:
        """The density of one element of w_in."""
        if self._distribution is RandomDistribution.kGaussian:
            return elementwise.exp(-0.5 * w * w) / math.sqrt(2.0 * math.pi)
        if self._distribution is RandomDistribution.kUniform:
            return 1.0 if 0.0 <= plain(w) < 1.0 else 0.0
        return elementwise.exp(-w) if plain(w) >= 0.0 else 0.0

    def _matrix(self, context: Context) -> Array:
        columns = self._A.EvalBasicVector(context).value()
        return columns.reshape((self._w_out.size(), self._w_in.size()), order="F")

    def _offset(self, context: Context) -> Array:
        b = self.EvalVectorInput(context, self._b.get_index())
        return np.zeros(self._w_out.size()) if b is None else b.value()

    def _transformed(self, context: Context) -> Array:
        w_in = self._w_in.EvalBasicVector(context).value()
        return left_to_right_product(self._matrix(context), w_in) + self._offset(context)

    def _calc_w_out(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._transformed(context))

    def _calc_density(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector([self.CalcDensity(context)])


class _CodeOfTransform:
    """w_out as an operation, with b where it is connected."""

    operation = ""

    def resolve(self, context: Any) -> NativeCode:
        """The operation."""
        system = context.system
        b = (True, InputOf(2)) if context.has_input(2) else (False, 0)
        sizes = system._w_out.size(), system._w_in.size()
        return NativeCode("transform", (*sizes, InputOf(0), InputOf(1), OUTPUT, *b))


def _determinant(A: Array) -> float:
    """By elimination with row pivots, the same operations in the same order as in compiled code."""
    A, determinant = A.copy(), 1.0
    for k in range(len(A)):
        best = k + int(np.argmax(np.abs(A[k:, k])))
        if best != k:
            determinant = -determinant
            A[[k, best]] = A[[best, k]]
        pivot = A.item(k, k)
        determinant = determinant * pivot
        if pivot == 0.0:
            return 0.0
        A[k + 1 :, k + 1 :] -= (A[k + 1 :, k] / pivot)[:, None] * A[k, k + 1 :]
    return determinant


def _values(array: Array) -> NDArray[np.float64]:
    return np.array([plain(x) for x in array.ravel().tolist()], dtype=np.float64).reshape(array.shape)
