"""PickleSystem: systems and contexts as bytes, closures included."""

from __future__ import annotations

import pickle
from typing import Any


def PickleSystem(*objects: Any) -> bytes:
    """Returns one object, or a tuple of several, as bytes for `pickle.loads`.

    What is pickled together belongs together afterwards: after `diagram, context =
    pickle.loads(PickleSystem(diagram, context))`, the context is one of that diagram. A subsystem brings the Diagram
    around it along. Callbacks that are methods or importable functions need nothing but `pickle`; closures, lambdas
    and classes of the main script need the package `cloudpickle` (extra `pickle`), also where they are loaded.

    Raises:
        TypeError: something cannot be pickled; the message says what, and the remedy.
    """
    content = objects[0] if len(objects) == 1 else objects
    try:
        return pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        first_error = error
    try:
        import cloudpickle
    except ImportError:
        raise TypeError(
            f"PickleSystem: {first_error}. Use methods or importable functions as callbacks, or install cloudpickle "
            "(pip install merganser[pickle])."
        ) from first_error
    try:
        return cloudpickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"PickleSystem: {error}. Keep such objects out of systems and contexts.") from error
