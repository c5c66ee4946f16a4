"""A force that pulls a body and what it touches together. It has no length: what it acts on is known with the contacts.

`../../contact/adhesion.py` spreads it over them.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.spatial import Array
from merganser.multibody.kernels.transmissions.kind import TransmissionKind


@device
def set_no_length(
    transmission: Array, nodes: Array, topology: Array, q_in: Array, position_in: Array, length_out: Array,
    arms_out: Array,
) -> None:  # fmt: skip
    """Leaves the length, and the moment arms by coordinates, 0."""


ADHESION = TransmissionKind("adhesion", set_no_length)
