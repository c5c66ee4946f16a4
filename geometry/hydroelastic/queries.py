"""Contact surfaces in terms of ids, as `QueryObject` offers them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.hydroelastic.contact_surface import ContactSurface
from merganser.geometry.hydroelastic.derivatives import differentiate_surfaces
from merganser.geometry.hydroelastic.engine import HydroelasticEngine
from merganser.geometry.hydroelastic.representation import compliance_of
from merganser.geometry.proximity.queries import GetState, ProximityQueries, with_derivatives
from merganser.geometry.registration.materials import HydroelasticContactRepresentation, HydroelasticType
from merganser.geometry.registration.query_results import PenetrationAsPointPair
from merganser.geometry.scene.pose_layout import WorldPoses
from merganser.geometry.shapes import HalfSpace

Array = NDArray[Any]
_NONE = np.zeros((0, 2), np.int64)
_STEP = 1e-170  # of derivatives in imaginary parts: its square is zero


class HydroelasticQueries:
    """Contact surfaces of the proximity geometries of one GeometryState.

    Args:
        proximity: queries on the same geometries.

    Raises:
        RuntimeError: a geometry has hydroelastic properties that are not fit for it.
    """

    def __init__(self, proximity: ProximityQueries) -> None:
        self._proximity = proximity
        self._layout = layout = proximity.layout
        self._arrays = layout.hydroelastic
        self._engine = HydroelasticEngine(self._arrays)
        self._margin = layout.hydroelastic_margin()
        self._is_compliant = [compliance_of(of) == HydroelasticType.kCompliant for of in layout.properties]

    def contact_surfaces(
        self, get_state: GetState, poses: WorldPoses, representation: HydroelasticContactRepresentation, query: str
    ) -> list[ContactSurface]:
        """See `QueryObject.ComputeContactSurfaces`; `query` is what messages call this."""
        X_WG, dX_WG = self._proximity.poses(poses)
        surfaces, others = self._meet(X_WG, dX_WG, representation, query)
        touching = self._proximity.overlaps(get_state, X_WG, others)
        if len(touching):
            raise self._no_surface(query, int(touching[0]["row_a"]), int(touching[0]["row_b"]))
        return surfaces

    def contact_surfaces_with_fallback(
        self, get_state: GetState, poses: WorldPoses, representation: HydroelasticContactRepresentation, query: str
    ) -> tuple[list[ContactSurface], list[PenetrationAsPointPair]]:
        """See `QueryObject.ComputeContactSurfacesWithFallback`; `query` is what messages call this."""
        X_WG, dX_WG = self._proximity.poses(poses)
        surfaces, others = self._meet(X_WG, dX_WG, representation, query)
        overlaps = self._proximity.overlaps(get_state, X_WG, others)
        return surfaces, self._proximity.point_pairs(get_state, query, X_WG, dX_WG, overlaps)

    def _meet(
        self, X_WG: Array, dX_WG: Array | None, representation: HydroelasticContactRepresentation, query: str
    ) -> tuple[list[ContactSurface], NDArray[np.int64]]:
        """The contact surfaces, and the pairs that may meet and have none."""
        if not isinstance(representation, HydroelasticContactRepresentation):
            raise TypeError(f"{query}() takes a HydroelasticContactRepresentation; given {representation!r}.")
        candidates = self._proximity.engine.find_candidates(X_WG, self._margin)
        have = self._arrays.have_surfaces(candidates)
        pairs = candidates if all(have) else candidates[np.array(have)]
        faces = self._engine.contact_surfaces(X_WG, pairs)
        corners, numbers, owners = faces.corners.copy(), faces.numbers.copy(), faces.owners.copy()
        if dX_WG is not None and dX_WG.shape[-1] and len(owners):
            given = corners, numbers, owners
            lanes = differentiate_surfaces(self._arrays, X_WG, dX_WG, pairs, given, _STEP)
            d_corners, d_numbers = (np.moveaxis(of.imag, 0, -1) / _STEP for of in lanes)
            corners, numbers = with_derivatives(corners, d_corners), with_derivatives(numbers, d_numbers)
        starts = [0, len(owners)]
        if len(pairs) != 1:
            starts = np.searchsorted(owners[:, 0], np.arange(len(pairs) + 1)).tolist()
        ids, is_compliant = self._layout.geometry_ids, self._is_compliant
        surfaces = []
        for (m, n), start, end in zip(pairs.tolist(), starts, starts[1:]):
            if end > start:
                of_pair = corners[start:end], numbers[start:end], owners[start:end]
                compliant = is_compliant[m], is_compliant[n]
                surfaces.append(ContactSurface((ids[m], ids[n]), representation, of_pair, compliant))
        return surfaces, _NONE if all(have) else candidates[~np.array(have)]

    def _no_surface(self, query: str, a: int, b: int) -> RuntimeError:
        """Why two geometries that overlap have no contact surface, and what to do."""
        names = " and ".join(self._describe(row) for row in (a, b))
        compliance = [compliance_of(self._layout.properties[row]) for row in (a, b)]
        if HydroelasticType.kUndefined in compliance:
            why = "one of them has no hydroelastic properties"
        elif HydroelasticType.kCompliant not in compliance:
            why = "both are rigid"
        else:
            why = "a compliant half space has contact surfaces with rigid geometries only"
        return RuntimeError(
            f"{query}(): {names} overlap, and {why}. Make one of them compliant and the other rigid or compliant, "
            "filter the pair, or take ComputeContactSurfacesWithFallback(), where their contact is a point; in a "
            "plant, ContactModel.kHydroelasticWithFallback."
        )

    def _describe(self, row: int) -> str:
        layout = self._layout
        compliance = compliance_of(layout.properties[row])
        kind = "" if compliance == HydroelasticType.kUndefined else f"{compliance.value} "
        shape = "half space" if isinstance(layout.shapes[row], HalfSpace) else type(layout.shapes[row]).__name__
        return f"geometry '{layout.names[row]}' ({layout.geometry_ids[row]!r}), a {kind}{shape},"
