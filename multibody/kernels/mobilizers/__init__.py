"""The kinds of mobilizers, one a file, and the table of them; see kernels/README.md for how to add one."""

from merganser.multibody.kernels.mobilizers.dispatch import set_kind
from merganser.multibody.kernels.mobilizers.kind import Closing, MobilizerKind
from merganser.multibody.kernels.mobilizers.table import MOBILIZERS, kind_of, kinds_in, quaternion_starts

__all__ = ["MOBILIZERS", "Closing", "MobilizerKind", "kind_of", "kinds_in", "quaternion_starts", "set_kind"]
