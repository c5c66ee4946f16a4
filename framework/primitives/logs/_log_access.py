"""What the sinks that keep a log have in common: ways to the log."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from merganser.framework.core.context.context import Context

__all__ = ["LogAccess"]

Log = TypeVar("Log")


class LogAccess(Generic[Log]):
    """The base, beside LeafSystem, of a sink that keeps a log in its cache entry `_log_entry`."""

    def GetLog(self: Any, context: Context) -> Log:
        """Returns the log in this system's own context.

        Raises:
            ValueError: the context is another system's.
        """
        self.ValidateContext(context)
        log: Log = self._log_entry.Eval(context)
        return log

    def GetMutableLog(self, context: Context) -> Log:
        """Returns the log in this system's own context, for changing it."""
        return self.GetLog(context)

    def FindLog(self: Any, context: Context) -> Log:
        """Returns the log in the context of the whole diagram.

        Raises:
            ValueError: the context is no root context, or that of a diagram without this system.
        """
        log: Log = self.GetLog(self.GetMyContextFromRoot(context))
        return log

    def FindMutableLog(self, context: Context) -> Log:
        """Returns the log in the context of the whole diagram, for changing it."""
        return self.FindLog(context)
