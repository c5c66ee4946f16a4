"""Sample: what a sensor gave at one time."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.values.plain_values import declare_plain


class Sample:
    """Values by name, which do not change any more: copies share them.

    Args:
        values: images, a pose, a time.
    """

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = dict(values)

    def __copy__(self) -> Sample:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Sample:
        return self


declare_plain(Sample, lambda sample: [sample.values])
