"""The one place where sympy is imported, with a remedy where it is missing."""

from __future__ import annotations

__all__ = ["StrPrinter", "sympy"]

try:
    import sympy
    from sympy.printing.str import StrPrinter
except ImportError as error:
    raise ImportError(
        "merganser.framework.symbolic needs sympy, which is not installed. Install the extra: "
        "pip install 'merganser[symbolic]'."
    ) from error
