"""MultilayerPerceptron: a neural network of fully connected layers.

With x_0 the input (or its sines and cosines), W_n and b_n the weights and biases and s_n the activation functions,

    x_(n+1) = s_n(W_n x_n + b_n),                                                           (1)

and the output is the last x. A loss that depends on the outputs has the gradients (D. Rumelhart, G. Hinton and
R. Williams, 1986, "Learning representations by back-propagating errors")

    g_n = s_n'(W_n x_n + b_n) * dloss/dx_(n+1),    dloss/dx_n = W_n' g_n,                   (2)
    dloss/dW_n = g_n x_n',                         dloss/db_n = g_n.                        (3)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.cache import CacheEntry
from merganser.framework.core.declarations.native_function import NativeFunction, native
from merganser.framework.core.declarations.native_wires import MatrixOf, PartOf
from merganser.framework.core.scalars.element_functions import elements, product
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.random_values import RandomDistribution, RandomGenerator, draw
from merganser.framework.core.values.arguments import bind_overload, checked_size
from merganser.framework.core.values.values import BasicVector
from merganser.framework.math.element_functions import clamp, cos, sin, tanh
from merganser.framework.native.compiler.kernels import device

Array = NDArray[Any]
Loss = Callable[[Array, Array], float]


class PerceptronActivationType(Enumeration):
    """Activation functions of neural networks."""

    kIdentity = 0
    kReLU = 1
    kTanh = 2


_RELU, _TANH = PerceptronActivationType.kReLU.value, PerceptronActivationType.kTanh.value


@device
def activated(activation: int, x: Any) -> Any:
    """An activation function, by the value of its PerceptronActivationType."""
    if activation == _TANH:
        return tanh(x)
    if activation == _RELU:
        return clamp(x, 0.0, math.inf)
    return x


@native
def next_layer(W: Array, x: Array, b: Array, activation: int, y: Array) -> None:
    """(1)."""
    for i in elements(y):
        y[i] = activated(activation, product(W, x, i) + b[i])


@native
def sines_and_cosines(x: Array, is_angle: Array, seen: Array) -> None:
    """The features of x: sine and cosine of angles, and other elements as they are."""
    place = 0
    for i in range(len(x)):
        if is_angle[i]:
            seen[place] = sin(x[i])
            seen[place + 1] = cos(x[i])
            place += 2
        else:
            seen[place] = x[i]
            place += 1


class MultilayerPerceptron(LeafSystem):
    """A network (1) with the input port x and the output port y; weights and biases are parameters of the Context.

    Called with one of

        (layers, activation_type=PerceptronActivationType.kTanh)
        (layers, activation_types)
        (use_sin_cos_for_input, remaining_layers, activation_types)

    Args:
        layers: number of elements of each x_n, from the input to the output.
        activation_type: of all layers but the last one, whose activation is the identity.
        activation_types: of each layer after the input.
        use_sin_cos_for_input: for each input, whether the network sees its sine and cosine instead.
        remaining_layers: layers after the input.

    Weights and biases are zero by default; SetRandomContext() draws them uniformly, with the variance 1 / (number of
    elements of x_n), so that signals neither grow nor fade.

    Raises:
        ValueError: there are less than two layers, one is empty, or there is not one activation for each.
    """

    @overload
    def __init__(
        self, layers: Sequence[int], activation_type: PerceptronActivationType = PerceptronActivationType.kTanh
    ) -> None: ...
    @overload
    def __init__(self, layers: Sequence[int], activation_types: Sequence[PerceptronActivationType]) -> None: ...
    @overload
    def __init__(
        self,
        use_sin_cos_for_input: Sequence[bool],
        remaining_layers: Sequence[int],
        activation_types: Sequence[PerceptronActivationType],
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._is_angle, self._layers, self._activations = _structure(*args, **kwargs)
        pairs = zip(self._layers[1:], self._layers)
        sizes = [size for rows, columns in pairs for size in (rows * columns, rows)]
        self._ends = np.cumsum([0, *sizes]).tolist()
        self._x = self.DeclareVectorInputPort("x", len(self._is_angle))
        self._parameter_index = self.DeclareNumericParameter(BasicVector(np.zeros(self._ends[-1])))
        *hidden, last = range(len(self._activations))
        x: Any = self._x
        if any(self._is_angle):
            x = self._entry("input", self._layers[0], sines_and_cosines.given(x=x, is_angle=self._is_angle))
        for layer in hidden:
            x = self._entry(f"layer {layer + 1}", self._layers[layer + 1], self._next_layer(layer, x))
        self.DeclareVectorOutputPort("y", self._layers[-1], self._next_layer(last, x))

    def _next_layer(self, layer: int, x: Any) -> NativeFunction:
        """The step from `layer`, whose elements are x, to the next one."""
        rows, columns, begin = self._layers[layer + 1], self._layers[layer], self._ends[2 * layer]
        W = MatrixOf(PartOf(self._parameter_index, begin, rows * columns), (rows, columns), by_columns=True)
        b = PartOf(self._parameter_index, begin + rows * columns, rows)
        return next_layer.given(W=W, x=x, b=b, activation=self._activations[layer].value)

    def _entry(self, description: str, size: int, calc: NativeFunction) -> CacheEntry:
        return self._sys_declare_entry(description, BasicVector(np.zeros(size)), calc, {self.all_sources_ticket()})

    def num_parameters(self) -> int:
        """Returns the number of weights and biases."""
        return self._ends[-1]

    def layers(self) -> list[int]:
        """Returns the number of elements of each layer."""
        return list(self._layers)

    def activation_type(self, layer: int) -> PerceptronActivationType:
        """Returns the activation function from `layer` to the next one.

        Raises:
            IndexError: there is no such layer.
        """
        return self._activations[self._checked_layer(layer)]

    # ------------------------------------------------------------------ parameters

    def GetParameters(self, context: Context) -> Array:
        """Returns all weights and biases: W_0 (its columns one after the other), b_0, W_1, ...; not to be changed."""
        self.ValidateContext(context)
        return context.get_numeric_parameter(self._parameter_index).value()

    def GetMutableParameters(self, context: Context) -> Array:
        """Returns all weights and biases, as GetParameters(), for changing them."""
        self.ValidateContext(context)
        return context.get_mutable_numeric_parameter(self._parameter_index).get_mutable_value()

    def SetParameters(self, context: Context, params: ArrayLike) -> None:
        """Sets all weights and biases, in the order of GetParameters().

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        values = np.asarray(params).reshape(-1)
        if values.size != self.num_parameters():
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has {self.num_parameters()} parameters; got {values.size}."
            )
        context.get_mutable_numeric_parameter(self._parameter_index).SetFromVector(values)

    def GetWeights(self, context: Context | None = None, layer: int = 0, *, params: Any = None) -> Array:
        """Returns W of the step from `layer` to the next one, shape [size of the next layer, size of the layer].

        Args:
            context: a Context of this system, or all parameters (also as `params=`).
            layer: which one.

        Raises:
            IndexError: there is no such layer.
        """
        return self._part(self._parameters_in(context, params), 2 * self._checked_layer(layer))

    def GetBiases(self, context: Context | None = None, layer: int = 0, *, params: Any = None) -> Array:
        """Returns b of the step from `layer` to the next one, shape [size of the next layer]; see GetWeights()."""
        return self._part(self._parameters_in(context, params), 2 * self._checked_layer(layer) + 1)

    def SetWeights(self, context: Context | None = None, layer: int = 0, W: Any = None, *, params: Any = None) -> None:
        """Sets W of the step from `layer` to the next one.

        Args:
            context: a Context of this system, or an array of all parameters (also as `params=`), which is changed.
            layer: which one.
            W: shape [size of the next layer, size of the layer].

        Raises:
            IndexError: there is no such layer.
            ValueError: W has another shape.
        """
        self._set_part(context, params, 2 * self._checked_layer(layer), W)

    def SetBiases(self, context: Context | None = None, layer: int = 0, b: Any = None, *, params: Any = None) -> None:
        """Sets b of the step from `layer` to the next one, shape [size of the next layer]; see SetWeights()."""
        self._set_part(context, params, 2 * self._checked_layer(layer) + 1, b)

    def SetRandomParameters(self, context: Context, parameters: Any, generator: RandomGenerator) -> None:
        values = []
        for rows, columns in zip(self._layers[1:], self._layers):
            uniform = draw(RandomDistribution.kUniform, rows * (columns + 1), generator)
            values.append((2.0 * uniform - 1.0) * math.sqrt(3.0 / columns))
        parameters.get_mutable_numeric_parameter(self._parameter_index).SetFromVector(np.concatenate(values))

    # ------------------------------------------------------------------ batches

    def BatchOutput(
        self, context: Context, X: ArrayLike, Y: Array | None = None, dYdX: Array | None = None
    ) -> Array | None:
        """Computes outputs for many inputs.

        Args:
            context: has the parameters.
            X: inputs as columns, shape [num_inputs, n].
            Y: filled with the outputs as columns, shape [num_outputs, n].
            dYdX: for a network with one output, filled with its gradients as columns, shape [num_inputs, n].

        Returns:
            The outputs, if no Y is given.

        Raises:
            RuntimeError: gradients are asked for, but there are several outputs.
            ValueError: a matrix has another shape.
        """
        inputs = self._checked_batch(X, len(self._is_angle), "X")
        params = self.GetParameters(context)
        states, sums = self._forward(params, inputs)
        if dYdX is not None:
            if self._layers[-1] != 1:
                raise RuntimeError(
                    f"System '{self.GetSystemPathname()}': dYdX is for networks with one output; this one has "
                    f"{self._layers[-1]}."
                )
            if dYdX.shape != inputs.shape:
                raise ValueError(f"BatchOutput: dYdX must have shape {inputs.shape}, got {dYdX.shape}.")
            slopes, _ = self._backward(params, states, sums, np.ones_like(states[-1]))
            dYdX[...] = self._gradient_by_input(inputs, slopes)
        if Y is None:
            return states[-1]
        if Y.shape != states[-1].shape:
            raise ValueError(f"BatchOutput: Y must have shape {states[-1].shape}, got {Y.shape}.")
        Y[...] = states[-1]
        return None

    def Backpropagation(self, context: Context, X: ArrayLike, loss: Loss, dloss_dparams: Array) -> float:
        """Computes a loss for many inputs, and its gradient by all parameters, (2) and (3).

        Args:
            context: has the parameters.
            X: inputs as columns, shape [num_inputs, n].
            loss: loss(Y, dloss_dY) returns the loss of the outputs Y, shape [num_outputs, n], and fills in its
                gradient by them, of the same shape.
            dloss_dparams: filled with the gradient, in the order of GetParameters().

        Returns:
            The loss.

        Raises:
            ValueError: a matrix has another shape.
        """
        inputs = self._checked_batch(X, len(self._is_angle), "X")
        if np.shape(dloss_dparams) != (self.num_parameters(),):
            raise ValueError(
                f"Backpropagation: dloss_dparams must have shape ({self.num_parameters()},), got "
                f"{np.shape(dloss_dparams)}."
            )
        params = self.GetParameters(context)
        states, sums = self._forward(params, inputs)
        dloss_dY = np.zeros_like(states[-1])
        value = float(loss(states[-1], dloss_dY))
        _, parts = self._backward(params, states, sums, dloss_dY)
        dloss_dparams[...] = np.concatenate([part.ravel(order="F") for part in parts])
        return value

    def BackpropagationMeanSquaredError(
        self, context: Context, X: ArrayLike, Y_desired: ArrayLike, dloss_dparams: Array
    ) -> float:
        """Backpropagation() for the mean over all inputs of |y - y_desired|^2.

        Args:
            context: has the parameters.
            X: inputs as columns, shape [num_inputs, n].
            Y_desired: outputs as columns, shape [num_outputs, n].
            dloss_dparams: filled with the gradient.

        Returns:
            The loss.

        Raises:
            ValueError: a matrix has another shape.
        """
        desired = self._checked_batch(Y_desired, self._layers[-1], "Y_desired")

        def loss(Y: Array, dloss_dY: Array) -> float:
            error = Y - desired
            dloss_dY[...] = 2.0 * error / Y.shape[1]
            return float((error * error).sum() / Y.shape[1])

        return self.Backpropagation(context, X, loss, dloss_dparams)

    # ------------------------------------------------------------------ details

    def _gradient_by_input(self, X: Array, slopes: Array) -> Array:
        """The gradient by the input from that by x_0; shapes [num_inputs, n] and [size of layer 0, n]."""
        result, row = np.empty_like(X), 0
        for i, is_angle in enumerate(self._is_angle):
            if is_angle:
                result[i] = np.cos(X[i]) * slopes[row] - np.sin(X[i]) * slopes[row + 1]
            else:
                result[i] = slopes[row]
            row += 2 if is_angle else 1
        return result

    def _forward(self, params: Array, X: Array) -> tuple[list[Array], list[Array]]:
        """All x_n, and what each activation function is applied to."""
        # The features of a batch of inputs
        rows = [
            part for is_angle, row in zip(self._is_angle, X) for part in ((sin(row), cos(row)) if is_angle else (row,))
        ]
        states, sums = [np.array(rows).reshape(-1, X.shape[1])], []
        for layer, activation in enumerate(self._activations):  # (1)
            weights, biases = self._part(params, 2 * layer), self._part(params, 2 * layer + 1)
            sums.append(weights @ states[-1] + biases[:, np.newaxis])
            states.append(_ACTIVATIONS[activation](sums[-1]))
        return states, sums

    def _backward(
        self, params: Array, states: list[Array], sums: list[Array], by_output: Array
    ) -> tuple[Array, list[Array]]:
        """The gradient by x_0, and those by W_0, b_0, W_1, ..."""
        parts: list[Array] = []
        by_state = by_output
        for layer in reversed(range(len(sums))):
            g = _SLOPES[self._activations[layer]](sums[layer]) * by_state  # (2)
            parts = [g @ states[layer].T, g.sum(axis=1), *parts]  # (3)
            by_state = self._part(params, 2 * layer).T @ g
        return by_state, parts

    def _part(self, params: Array, number: int) -> Array:
        """A view of W_n (number 2 n) or b_n (2 n + 1)."""
        part = params[self._ends[number] : self._ends[number + 1]]
        layer = number // 2
        return part if number % 2 else part.reshape((self._layers[layer + 1], self._layers[layer]), order="F")

    def _set_part(self, context: Any, params: Any, number: int, value: Any) -> None:
        target = params if params is not None else context
        shape = self._part(np.zeros(self.num_parameters()), number).shape
        array = np.asarray(value)
        if array.shape != shape:
            what = "biases" if number % 2 else "weights"
            raise ValueError(
                f"System '{self.GetSystemPathname()}': {what} of layer {number // 2} have shape {shape}, got "
                f"{array.shape}."
            )
        if isinstance(target, Context):
            target = self.GetMutableParameters(target)
        target[self._ends[number] : self._ends[number + 1]] = array.ravel(order="F")

    def _parameters_in(self, context: Any, params: Any) -> Array:
        if params is None and isinstance(context, Context):
            return self.GetParameters(context)
        return np.asarray(context if params is None else params).reshape(-1)

    def _checked_layer(self, layer: int) -> int:
        if not 0 <= layer < len(self._activations):
            raise IndexError(
                f"System '{self.GetSystemPathname()}' has weights for the layers 0 to {len(self._activations) - 1}; "
                f"there is no layer {layer}."
            )
        return int(layer)

    def _checked_batch(self, X: ArrayLike, rows: int, what: str) -> Array:
        matrix = np.asarray(X, dtype=np.float64)
        if matrix.ndim != 2 or len(matrix) != rows:
            raise ValueError(
                f"System '{self.GetSystemPathname()}': {what} must have {rows} rows, got shape {matrix.shape}."
            )
        return matrix


def _structure(*args: Any, **kwargs: Any) -> tuple[list[bool], list[int], list[PerceptronActivationType]]:
    """Which inputs are angles, sizes of all layers, and activation functions."""
    name = "MultilayerPerceptron"
    if len(args) > 2 or "use_sin_cos_for_input" in kwargs or "remaining_layers" in kwargs:
        names = ("use_sin_cos_for_input", "remaining_layers", "activation_types")
        angles, remaining, given = bind_overload(name, names, {}, args, kwargs).values()
        is_angle = [bool(value) for value in angles]
        layers = [len(is_angle) + sum(is_angle), *remaining]
    else:
        last = "activation_types" if "activation_types" in kwargs else "activation_type"
        defaults = {last: PerceptronActivationType.kTanh}
        layers, given = bind_overload(name, ("layers", last), defaults, args, kwargs).values()
        is_angle = [False] * checked_size(layers[0] if len(layers) else 0, f"{name}: size of a layer", 1)
    layers = [checked_size(size, f"{name}: size of a layer", 1) for size in layers]
    if len(layers) < 2:
        raise ValueError(f"{name}: there must be at least two layers, got {layers}.")
    if isinstance(given, PerceptronActivationType):
        given = [given] * (len(layers) - 2) + [PerceptronActivationType.kIdentity]
    activations = list(given)
    if len(activations) != len(layers) - 1 or not all(isinstance(a, PerceptronActivationType) for a in activations):
        raise ValueError(
            f"{name}: there must be a PerceptronActivationType for each of {len(layers) - 1} layers after the input; "
            f"got {activations}."
        )
    return is_angle, layers, activations


_ACTIVATIONS: dict[PerceptronActivationType, Callable[[Array], Array]] = {
    PerceptronActivationType.kIdentity: lambda x: x,
    PerceptronActivationType.kReLU: lambda x: np.maximum(x, 0.0),
    PerceptronActivationType.kTanh: np.tanh,
}
_SLOPES: dict[PerceptronActivationType, Callable[[Array], Array]] = {
    PerceptronActivationType.kIdentity: np.ones_like,
    PerceptronActivationType.kReLU: lambda x: (x > 0.0).astype(np.float64),
    PerceptronActivationType.kTanh: lambda x: 1.0 - np.tanh(x) ** 2,
}
