"""ContactResults: where bodies touch, at points and on surfaces, deformable bodies too, and with what forces."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import GeometryId, HydroelasticContactRepresentation, PenetrationAsPointPair, PolygonSurfaceMesh
from merganser.geometry.hydroelastic.contact_surface import ContactSurface
from merganser.geometry.registration.query_results import NHAT, P_WCA, P_WCB
from merganser.multibody.contact.plant_layout import APPROACH, POINT, SLIP
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant.step.sample import ContactSample, Surfaces
from merganser.multibody.tree import BodyIndex

if TYPE_CHECKING:
    from merganser.multibody.plant.multibody_plant import MultibodyPlant

_Info = TypeVar("_Info")


class DeformableContactInfo:
    """The contact of the geometry A of a deformable body with a geometry B, on a surface of polygons.

    Args:
        id_A: of the deformable body.
        id_B: of the other one, which may be deformable, too.
        contact_mesh_W: the surface in W, with normals out of A into B.
        F_Ac_W: spatial force on the deformable body [N m, N], at the centroid C of the surface, in W.
    """

    def __init__(
        self, id_A: GeometryId, id_B: GeometryId, contact_mesh_W: PolygonSurfaceMesh, F_Ac_W: SpatialForce
    ) -> None:
        self._ids, self._contact_mesh, self._F_Ac_W = (id_A, id_B), contact_mesh_W, F_Ac_W

    def id_A(self) -> GeometryId:
        """Returns the geometry of the deformable body."""
        return self._ids[0]

    def id_B(self) -> GeometryId:
        """Returns the other geometry."""
        return self._ids[1]

    def contact_mesh(self) -> PolygonSurfaceMesh:
        """Returns the surface in W [m]."""
        return self._contact_mesh

    def F_Ac_W(self) -> SpatialForce:
        """Returns the spatial force on the deformable body, at the centroid of the surface, in W."""
        return self._F_Ac_W

    def __repr__(self) -> str:
        return (
            f"DeformableContactInfo(id_A={self._ids[0]!r}, id_B={self._ids[1]!r}, "
            f"contact_mesh_W={self._contact_mesh!r}, F_Ac_W={self._F_Ac_W!r})"
        )


class HydroelasticContactInfo:
    """The contact of geometries M and N, fixed to bodies A and B, on a surface.

    Args:
        contact_surface: with its pressures.
        F_Ac_W: spatial force of the surface on body A [N m, N], at the centroid C of the surface, in W.
    """

    def __init__(self, contact_surface: ContactSurface, F_Ac_W: SpatialForce) -> None:
        self._contact_surface, self._F_Ac_W = contact_surface, F_Ac_W

    def contact_surface(self) -> ContactSurface:
        """Returns the surface."""
        return self._contact_surface

    def F_Ac_W(self) -> SpatialForce:
        """Returns the spatial force on body A, to which geometry M is fixed, at the centroid of the surface, in W."""
        return self._F_Ac_W

    def Save(self, path: Any) -> None:
        """Writes the surface with its pressures to a file, see `ContactSurface.Save`, which pydrake has not."""
        self._contact_surface.Save(path)

    def __repr__(self) -> str:
        return f"HydroelasticContactInfo({self._contact_surface!r}, F_Ac_W={self._F_Ac_W!r})"


Vector = NDArray[np.float64]


class PointPairContactInfo:
    """One contact point C of two bodies A and B.

    Args:
        bodyA_index, bodyB_index: the bodies.
        f_Bc_W: force on body B at C, in W [N], shape [3].
        p_WC: position of C in W [m], shape [3].
        separation_speed: rate at which the bodies part along the normal [m/s]; negative while they approach.
        slip_speed: tangential speed of B relative to A at C [m/s].
        point_pair: the overlap of the two geometries.
    """

    def __init__(
        self,
        bodyA_index: BodyIndex,
        bodyB_index: BodyIndex,
        f_Bc_W: Vector,
        p_WC: Vector,
        separation_speed: float,
        slip_speed: float,
        point_pair: PenetrationAsPointPair,
    ) -> None:
        self._bodies = bodyA_index, bodyB_index
        self._force, self._point = np.array(f_Bc_W), np.array(p_WC)
        self._speeds = separation_speed, slip_speed
        self._point_pair = point_pair

    def bodyA_index(self) -> BodyIndex:
        """Returns the index of body A, to which geometry id_A of the point pair is fixed."""
        return self._bodies[0]

    def bodyB_index(self) -> BodyIndex:
        """Returns the index of body B."""
        return self._bodies[1]

    def contact_force(self) -> Vector:
        """Returns the force f_Bc_W on body B [N], shape [3]."""
        return self._force.copy()

    def contact_point(self) -> Vector:
        """Returns the position p_WC of the contact point [m], shape [3]."""
        return self._point.copy()

    def separation_speed(self) -> float:
        """Returns the rate at which the bodies part along the normal [m/s]."""
        return self._speeds[0]

    def slip_speed(self) -> float:
        """Returns the tangential speed of B relative to A [m/s]."""
        return self._speeds[1]

    def point_pair(self) -> PenetrationAsPointPair:
        """Returns the overlap of the geometries at this point."""
        return self._point_pair

    def __repr__(self) -> str:
        return (
            f"PointPairContactInfo(bodyA_index={int(self._bodies[0])}, bodyB_index={int(self._bodies[1])}, "
            f"contact_force={self._force.tolist()}, contact_point={self._point.tolist()})"
        )


class ContactResults:
    """The contacts of a plant at one time; empty if made without arguments.

    Geometries touch at points, or on surfaces where both have hydroelastic properties and one of them is compliant.
    Face on face, two geometries may touch in several points, each of which counts as one contact here; pydrake has one.
    Their forces add up to what one point would carry, see multibody/contact/README.md, also for how to have one only.
    Deformable bodies touch others on surfaces of their own.
    """

    def __init__(self, plant: MultibodyPlant | None = None, sample: ContactSample | None = None) -> None:
        self._plant = plant
        self._sample = sample
        # Made when they are first asked for: many programs only count them, or look at a few.
        self._infos: list[PointPairContactInfo | None] = [None] * (0 if sample is None else len(sample.forces))
        self._overlaps: NDArray[np.float64] | None = None
        surfaces = None if sample is None else sample.surfaces
        # Faces of one pair stand side by side.
        self._starts = [0] if surfaces is None else _starts_of(surfaces.owners[:, 0])
        self._surface_infos: list[HydroelasticContactInfo | None] = [None] * (len(self._starts) - 1)
        deformables = None if sample is None else sample.deformables
        self._deformable_starts = [0] if deformables is None else _starts_of(deformables.owners[:, 0])
        self._deformable_infos: list[DeformableContactInfo | None] = [None] * (len(self._deformable_starts) - 1)

    def plant(self) -> MultibodyPlant | None:
        """Returns the plant; None for an empty object."""
        return self._plant

    def num_point_pair_contacts(self) -> int:
        """Returns the number of contact points."""
        return len(self._infos)

    def num_hydroelastic_contacts(self) -> int:
        """Returns the number of contact surfaces."""
        return len(self._surface_infos)

    def num_deformable_contacts(self) -> int:
        """Returns the number of surfaces on which deformable bodies touch others."""
        return len(self._deformable_infos)

    def point_pair_contact_info(self, i: int) -> PointPairContactInfo:
        """Returns a contact.

        Raises:
            IndexError: there is no contact `i`.
        """
        if not 0 <= i < len(self._infos):
            raise IndexError(
                f"ContactResults.point_pair_contact_info({i}): there are {len(self._infos)} point pair contacts."
            )
        info = self._infos[i]
        if info is None:
            info = self._infos[i] = self._make_info(i)
        return info

    def _make_info(self, i: int) -> PointPairContactInfo:
        assert self._sample is not None
        if self._overlaps is None:
            self._overlaps = _overlaps_of(self._sample.contacts)
        ids, bodies, force = self._sample.geometry_ids, self._sample.bodies, self._sample.forces[i]
        a, b = self._sample.geometries[i].tolist()
        pair = PenetrationAsPointPair._of(ids, a, b, self._overlaps.item(i, 0), self._overlaps, i)
        separation, slip = -force.item(APPROACH), force.item(SLIP)
        A, B = BodyIndex(bodies[a]), BodyIndex(bodies[b])
        return PointPairContactInfo(A, B, -force[:3], force[POINT:], separation, slip, pair)

    def point_pair_arrays(self) -> tuple[list[tuple[GeometryId, GeometryId]], Vector, Vector]:
        """Returns all contact points at once: what viewers need, in a fiftieth of the time that objects take.

        Returns:
            The geometries A and B of each; the forces f_Bc_W on B [N], shape [n, 3]; their points of application p_WC
                [m], shape [n, 3].
        """
        if self._sample is None:
            return [], np.zeros((0, 3)), np.zeros((0, 3))
        ids, forces = self._sample.geometry_ids, self._sample.forces
        pairs = [(ids[a], ids[b]) for a, b in self._sample.geometries.tolist()]
        return pairs, -forces[:, :3], forces[:, POINT : POINT + 3]

    def hydroelastic_contact_info(self, i: int) -> HydroelasticContactInfo:
        """Returns a contact surface, and what it exerts.

        Raises:
            IndexError: there is no contact surface `i`.
        """
        return _info_at(self._surface_infos, i, "hydroelastic", self._make_surface_info)

    def _make_surface_info(self, i: int) -> HydroelasticContactInfo:
        assert self._sample is not None and self._sample.surfaces is not None
        start, end = self._starts[i : i + 2]
        sample, kinds = self._sample.surfaces, HydroelasticContactRepresentation
        is_compliant = tuple(map(bool, sample.is_compliant[sample.pairs[sample.owners[start, 0]]]))
        kind = kinds.kTriangle if sample.is_triangle else kinds.kPolygon
        surface = _surface_of(sample, slice(start, end), kind, is_compliant)
        of_faces = slice(*np.searchsorted(sample.sources, [start, end]).tolist())
        return HydroelasticContactInfo(surface, _force_of(sample, of_faces, surface.centroid()))

    def deformable_contact_info(self, i: int) -> DeformableContactInfo:
        """Returns a surface on which a deformable body touches another one, and what it exerts.

        Raises:
            IndexError: there is no such contact `i`.
        """
        return _info_at(self._deformable_infos, i, "deformable", self._make_deformable_info)

    def _make_deformable_info(self, i: int) -> DeformableContactInfo:
        assert self._sample is not None and self._sample.deformables is not None
        start, end = self._deformable_starts[i : i + 2]
        sample, kind = self._sample.deformables, HydroelasticContactRepresentation.kPolygon
        surface = _surface_of(sample, slice(start, end), kind, (True, False))
        mesh, of_faces = surface.poly_mesh_W(), (sample.sources >= start) & (sample.sources < end)
        return DeformableContactInfo(
            surface.id_M(), surface.id_N(), mesh, _force_of(sample, of_faces, mesh.centroid())
        )

    def SelectHydroelastic(self, selector: Callable[[HydroelasticContactInfo], bool]) -> ContactResults:
        """Returns a copy with those contact surfaces of which the selector says True, and all other contacts."""
        results = copy.copy(self)
        chosen = [i for i in range(len(self._surface_infos)) if selector(self.hydroelastic_contact_info(i))]
        results._surface_infos = [self._surface_infos[i] for i in chosen]
        return results

    def __copy__(self) -> ContactResults:
        results = ContactResults(self._plant, self._sample)  # a sample never changes
        results._infos[:] = self._infos
        results._starts, results._surface_infos = self._starts, list(self._surface_infos)
        results._deformable_infos[:] = self._deformable_infos
        return results

    def __deepcopy__(self, memo: dict[int, Any]) -> ContactResults:
        results = ContactResults(self._plant, self._sample)  # the plant is not a part of a value
        results._infos[:] = copy.deepcopy(self._infos, memo)
        results._starts, results._surface_infos = self._starts, list(self._surface_infos)  # they never change
        results._deformable_infos[:] = self._deformable_infos
        return results

    def __repr__(self) -> str:
        return (
            f"<ContactResults: {len(self._infos)} point pair contacts, {len(self._surface_infos)} hydroelastic "
            f"contacts, {len(self._deformable_infos)} deformable contacts>"
        )


def _info_at(infos: list[_Info | None], i: int, kind: str, make: Callable[[int], _Info]) -> _Info:
    """What is known of contact i of a kind, made when it is first asked for."""
    if not 0 <= i < len(infos):
        raise IndexError(f"ContactResults.{kind}_contact_info({i}): there are {len(infos)} {kind} contacts.")
    info = infos[i]
    if info is None:
        info = infos[i] = make(i)
    return info


def _surface_of(
    sample: Surfaces, faces: slice, kind: HydroelasticContactRepresentation, is_compliant: tuple[Any, ...]
) -> ContactSurface:
    """The contact surface that some faces of one pair make."""
    m, n = sample.pairs[sample.owners[faces.start, 0]].tolist()
    arrays = sample.corners[faces], sample.faces[faces], sample.owners[faces]
    return ContactSurface((sample.geometry_ids[m], sample.geometry_ids[n]), kind, arrays, is_compliant)


def _force_of(sample: Surfaces, chosen: Any, p_WC: Vector) -> SpatialForce:
    """What some contact pairs exert on the body of M, about a point C."""
    f, p_WQ = sample.forces[chosen, :3], sample.forces[chosen, POINT:]
    return SpatialForce(np.cross(p_WQ - p_WC, f).sum(axis=0), f.sum(axis=0))


def _starts_of(pairs: NDArray[np.int64]) -> list[int]:
    """Where the faces of each pair begin, and where they end."""
    changes = np.flatnonzero(np.diff(pairs)) + 1
    return [0, *changes.tolist(), len(pairs)] if len(pairs) else [0]


def _overlaps_of(contacts: NDArray[Any]) -> NDArray[np.float64]:
    """Records of contact_dtype as numbers of distance_dtype, as far as results of penetration need them."""
    numbers = np.empty((len(contacts), P_WCB + 3))
    normal, depth, middle = contacts["nhat_BA_W"], contacts["depth"], contacts["p_WC"]
    # The record's point lies midway between the surfaces; that of A is inside of B, against the normal.
    half = (0.5 * depth)[:, np.newaxis] * normal
    numbers[:, 0], numbers[:, NHAT : NHAT + 3] = -depth, normal
    numbers[:, P_WCA : P_WCA + 3], numbers[:, P_WCB:] = middle - half, middle + half
    return numbers
