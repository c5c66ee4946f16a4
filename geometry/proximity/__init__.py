"""The proximity engine: how far shapes are from each other, on arrays."""

from merganser.geometry.proximity.arrays import ProximityArrays
from merganser.geometry.proximity.broad_phase import find_candidates
from merganser.geometry.proximity.engine import ProximityEngine
from merganser.geometry.proximity.layout import Hulls, contact_dtype, distance_dtype, geometry_dtype, work_dtype
from merganser.geometry.proximity.manifolds import contact_manifolds
from merganser.geometry.proximity.narrow_phase import signed_distances

__all__ = [
    "Hulls",
    "ProximityArrays",
    "ProximityEngine",
    "contact_dtype",
    "contact_manifolds",
    "distance_dtype",
    "find_candidates",
    "geometry_dtype",
    "signed_distances",
    "work_dtype",
]
