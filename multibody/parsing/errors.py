"""The one exception and the one warning channel for what model files say."""

from __future__ import annotations

__all__ = ["Diagnostics", "ParsingError", "SourceLocation", "located"]

import logging
from dataclasses import dataclass, field

from merganser.framework.common.source_location import ParsingError, SourceLocation, located, warn_of_file

_logger = logging.getLogger("merganser.multibody.parsing")


@dataclass
class Diagnostics:
    """Collects warnings about what a parser understood but does not support.

    Attributes:
        strict: raise a ParsingError in place of every warning.
        warnings: what was issued so far, and of which places.
        contents: identifies the document that is being read.
    """

    strict: bool = False
    warnings: list[tuple[SourceLocation, str]] = field(default_factory=list)
    contents: int = 0

    def warn(self, location: SourceLocation, message: str) -> None:
        """Logs `message` to the logger `merganser.multibody.parsing`, once in a process for the same document.

        Raises:
            ParsingError: parsing is strict.
        """
        if self.strict:
            raise ParsingError(location, f"{message} (strict parsing treats this warning as an error)")
        self.warnings.append((location, message))
        warn_of_file(_logger, f"{location}: {message}", self.contents)
