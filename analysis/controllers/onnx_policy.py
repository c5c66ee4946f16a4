"""OnnxPolicy: a policy that was trained elsewhere, in the format ONNX, as a block."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, DiscreteValues, LeafSystem

_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}


class _Network:
    """A session of onnxruntime, which copies of the block share; it is loaded again where a copy is read."""

    _never_changes = True

    def __init__(self, path: str) -> None:
        from onnxruntime import InferenceSession

        self._path, self.session = path, InferenceSession(path, providers=["CPUExecutionProvider"])

    def __deepcopy__(self, memo: dict[int, Any]) -> _Network:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _Network, (self._path,)


class OnnxPolicy(LeafSystem):
    """Gives actions for observations by a network of one input and one output, run by onnxruntime.

    Without a period the output follows the input; with one, the network runs every `period` and its action is held, as
    a program on a robot does. Numbers are those of the network (32 bits, mostly). It cannot be differentiated here.

    Ports:
        input `observation`: shape [number of inputs].
        output `action`: shape [number of outputs].

    Args:
        path: of the file .onnx. Its input and output are of shape [batch, n] or [n], of floats; other outputs are not
            used.
        period: between two actions [s]; None for none. Before the first one the action is zero.

    Raises:
        ImportError: the extra `onnx` is not installed.
        FileNotFoundError: there is no such file.
        ValueError: the network has several inputs, other shapes or types, or the period is not positive.
    """

    def __init__(self, path: str | os.PathLike[str], period: float | None = None) -> None:
        super().__init__()
        try:
            import onnxruntime  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "OnnxPolicy needs onnxruntime. Install the extra: pip install 'merganser[onnx]'."
            ) from error
        if not os.path.isfile(path):
            raise FileNotFoundError(f"OnnxPolicy: there is no file '{os.fspath(path)}'.")
        if period is not None and not 0.0 < period < math.inf:
            raise ValueError(f"OnnxPolicy: the period must be positive, got {period!r} s.")
        self._path = os.fspath(path)
        self._network = _Network(self._path)
        inputs, outputs = self._network.session.get_inputs(), self._network.session.get_outputs()
        if len(inputs) != 1:
            names = ", ".join(each.name for each in inputs)
            raise ValueError(f"OnnxPolicy: '{self._path}' has the inputs {names}; a policy has one.")
        num_inputs, num_outputs = self._size_of(inputs[0]), self._size_of(outputs[0])
        self._names = inputs[0].name, outputs[0].name
        self._shape = (-1,) if len(inputs[0].shape) == 1 else (1, -1)
        self._type = _TYPES[inputs[0].type]
        self.DeclareVectorInputPort("observation", num_inputs)
        if period is None:
            self.DeclareVectorOutputPort("action", num_outputs, self._calc_action)
            return
        self.DeclareStateOutputPort("action", self.DeclareDiscreteState(num_outputs))
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, self._update)

    def _size_of(self, tensor: Any) -> int:
        shape = tensor.shape
        is_vector = 1 <= len(shape) <= 2 and isinstance(shape[-1], int)
        if not is_vector or (len(shape) == 2 and isinstance(shape[0], int) and shape[0] != 1):
            raise ValueError(
                f"OnnxPolicy: '{tensor.name}' of '{self._path}' has shape {list(shape)}; [batch, n] or [n] is expected."
            )
        if tensor.type not in _TYPES:
            raise ValueError(f"OnnxPolicy: '{tensor.name}' of '{self._path}' has type {tensor.type}, not of floats.")
        return int(shape[-1])

    def _action(self, context: Context) -> NDArray[np.float64]:
        observation = self.get_input_port().Eval(context)
        given, (name, wanted) = np.asarray(observation, dtype=self._type).reshape(self._shape), self._names
        (action,) = self._network.session.run([wanted], {name: given})
        return np.asarray(action, dtype=np.float64).reshape(-1)

    def _calc_action(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._action(context))

    def _update(self, context: Context, values: DiscreteValues) -> None:
        values.set_value(0, self._action(context))
