"""ContactResults: where bodies touch, and with what forces."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import PenetrationAsPointPair
from merganser.multibody.contact.plant_layout import APPROACH, POINT, SLIP
from merganser.multibody.plant.contact_arrays import ContactSample
from merganser.multibody.tree import BodyIndex

if TYPE_CHECKING:
    from merganser.multibody.plant.multibody_plant import MultibodyPlant

__all__ = ["ContactResults", "PointPairContactInfo", "results_of"]

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

    Face on face, two geometries may touch in several points, each of which counts as one contact here; pydrake has
    one. Contact is between points always: there are no hydroelastic and no deformable contacts.
    """

    def __init__(self, plant: MultibodyPlant | None = None, infos: list[PointPairContactInfo] | None = None) -> None:
        self._plant = plant
        self._infos = infos or []

    def plant(self) -> MultibodyPlant | None:
        """Returns the plant; None for an empty object."""
        return self._plant

    def num_point_pair_contacts(self) -> int:
        """Returns the number of contact points."""
        return len(self._infos)

    def num_hydroelastic_contacts(self) -> int:
        """Returns 0."""
        return 0

    def num_deformable_contacts(self) -> int:
        """Returns 0."""
        return 0

    def point_pair_contact_info(self, i: int) -> PointPairContactInfo:
        """Returns a contact.

        Raises:
            IndexError: there is no contact `i`.
        """
        if not 0 <= i < len(self._infos):
            raise IndexError(
                f"ContactResults.point_pair_contact_info({i}): there are {len(self._infos)} point pair contacts."
            )
        return self._infos[i]

    def SelectHydroelastic(self, selector: Callable[[Any], bool]) -> ContactResults:
        """Returns the same contacts, as none is hydroelastic."""
        return ContactResults(self._plant, list(self._infos))

    def __copy__(self) -> ContactResults:
        return ContactResults(self._plant, list(self._infos))

    def __deepcopy__(self, memo: dict[int, Any]) -> ContactResults:
        return ContactResults(self._plant, copy.deepcopy(self._infos, memo))  # the plant is no part of a value

    def __repr__(self) -> str:
        return f"<ContactResults: {len(self._infos)} point pair contacts>"


def results_of(plant: MultibodyPlant, sample: ContactSample | None) -> ContactResults:
    """The results that a sample stands for."""
    if sample is None:
        return ContactResults(plant)
    infos = []
    ids, bodies = sample.geometry_ids, sample.bodies
    for (a, b), contact, force in zip(sample.geometries.tolist(), sample.contacts, sample.forces):
        normal, depth, middle = contact["nhat_BA_W"].copy(), float(contact["depth"]), contact["p_WC"]
        # The record's point lies midway between the surfaces; that of A is inside of B, against the normal.
        pair = PenetrationAsPointPair(
            id_A=ids[a], id_B=ids[b], p_WCa=middle - 0.5 * depth * normal, p_WCb=middle + 0.5 * depth * normal,
            nhat_BA_W=normal, depth=depth,
        )  # fmt: skip
        separation, slip, p_WC = -float(force[APPROACH]), float(force[SLIP]), force[POINT:]
        A, B = BodyIndex(bodies[a]), BodyIndex(bodies[b])
        infos.append(PointPairContactInfo(A, B, -force[:3], p_WC, separation, slip, pair))
    return ContactResults(plant, infos)
