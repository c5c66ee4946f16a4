"""Observers in the native plan: operations that run the tapes of the observed system (analysis/plan/model_tape.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    OUTPUT,
    DiscreteStateOf,
    NativeCode,
    NextDiscreteStateOf,
)

if TYPE_CHECKING:
    from merganser.analysis.estimators.observer import Observer


class KeptAlive:
    """Keeps objects alive that an operation refers to by address.

    Args:
        things: tapes of the model, and anything else.
    """

    def __init__(self, *things: Any) -> None:
        self._things = things

    def __call__(self) -> None:
        """Called when Python takes over, see NativeCode.on_stop."""
        for thing in self._things:
            settle = getattr(thing, "settle", None)
            if settle is not None:
                settle()


class ObserverCode:
    """The dynamics of an observer as an operation, unless its model runs Python.

    Derived classes say which one, in `code`.

    Args:
        observer: the block.
    """

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation in a Context; None if it must run in Python now."""
        observer = self.observer
        if context.store.flat.dtype != np.float64:
            return None
        model = observer._model(context)
        if model.can_be_lowered(context) and model.native_code is None:
            if observer._period:
                offsets: tuple[Any, Any] = NextDiscreteStateOf(0), DiscreteStateOf(0)
            else:
                offsets = OUTPUT, CONTINUOUS_STATE
            model.native_code = self.code(context, model, *offsets)
        code: NativeCode | None = model.native_code
        return code

    def code(self, context: Any, model: Any, result: Any, state: Any) -> NativeCode | None:
        """The operation; None if it must run in Python.

        Args:
            context: of the observer.
            model: the ObservedModel there, which has tapes.
            result: placeholder for the offset of the result.
            state: placeholder for the offset of the observer's state.
        """
        raise NotImplementedError
