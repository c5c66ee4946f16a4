"""The kinds of force elements, one a file, and the table of them; see ../../plant/README.md for how to add one."""

from merganser.multibody.kernels.elements.kind import FINE, NO_FORCE, ForceElementKind
from merganser.multibody.kernels.elements.table import ELEMENTS, element_kind_of, set_element_kind

__all__ = ["ELEMENTS", "FINE", "NO_FORCE", "ForceElementKind", "element_kind_of", "set_element_kind"]
