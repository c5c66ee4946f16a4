"""Transmissions: lengths that follow from positions, along which actuators, springs and limits act."""

from merganser.multibody.kernels.transmissions.adhesion import ADHESION
from merganser.multibody.kernels.transmissions.fixed import BALL, FIXED
from merganser.multibody.kernels.transmissions.kind import TransmissionKind
from merganser.multibody.kernels.transmissions.motion import transmission_forces, transmission_motion
from merganser.multibody.kernels.transmissions.records import Nodes, Transmissions, node_dtype, transmission_dtype
from merganser.multibody.kernels.transmissions.site import SITE_FORCE
from merganser.multibody.kernels.transmissions.slider_crank import SLIDER_CRANK
from merganser.multibody.kernels.transmissions.spatial import SPATIAL
from merganser.multibody.kernels.transmissions.table import set_transmission_kind, transmission_number_of

__all__ = [
    "ADHESION",
    "BALL",
    "FIXED",
    "SITE_FORCE",
    "SLIDER_CRANK",
    "SPATIAL",
    "Nodes",
    "TransmissionKind",
    "Transmissions",
    "node_dtype",
    "set_transmission_kind",
    "transmission_dtype",
    "transmission_forces",
    "transmission_motion",
    "transmission_number_of",
]
