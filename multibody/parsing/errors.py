"""The one exception and the one warning channel for what model files say."""

from __future__ import annotations

__all__ = ["Diagnostics", "ParsingError", "SourceLocation", "located"]

import logging
from dataclasses import dataclass, field

from merganser.framework.core.source_location import ParsingError, SourceLocation, located

_logger = logging.getLogger("merganser.multibody.parsing")


@dataclass
class Diagnostics:
    """Collects what a parser understood but will not honour.

    Attributes:
        strict: raise a ParsingError in place of every warning.
        warnings: the messages issued so far, each starting with `file:line`.
    """

    strict: bool = False
    warnings: list[str] = field(default_factory=list)

    def warn(self, location: SourceLocation, message: str) -> None:
        """Logs `message` to the logger `merganser.multibody.parsing`.

        Raises:
            ParsingError: parsing is strict.
        """
        if self.strict:
            raise ParsingError(location, f"{message} (strict parsing treats this warning as an error)")
        self.warnings.append(f"{location}: {message}")
        _logger.warning("%s: %s", location, message)
