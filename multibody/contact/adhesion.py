"""Forces that pull bodies and what they touch together: suction cups, magnets that hold, sticky feet.

At each contact point that touches

    f_A = -F nhat_BA,   f_B = F nhat_BA                                                   (1)

act on the bodies A and B, beside what the law of contact exerts: so the points press on each other by F more than they
would otherwise, can hold as much more by friction, and part when they are pulled apart by more. F is the sum of what
the materials of both geometries say, and of F_k / n of the forces F_k along adhesions of body A or B, if that has n
such points. Points count whose gap is a picometre at most: rounding does not decide whether a body sticks that is put
exactly against another. Deformable bodies do not adhere.

Source: MuJoCo's documentation of adhesion actuators and of the adhesion of geoms.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.contact.contact_pairs import NEAR, OF_FACE, ContactPair, ContactPairs
from merganser.multibody.contact.layout import Count
from merganser.multibody.contact.plant_forces import push
from merganser.multibody.kernels.layout import Positions
from merganser.multibody.kernels.scalars import real_part
from merganser.multibody.kernels.spatial import scaled, vector
from merganser.multibody.kernels.transmissions.records import BODY, Nodes, Transmissions


@kernel
def adhesion_forces(
    # Model:
    transmissions: Transmissions,
    nodes: Nodes,
    # In:
    position_in: Positions,
    contact_pairs_in: ContactPairs,
    forces_in: Floats,  # forces of actuators and inputs, those along transmissions last
    F_Bo_W_in: FloatTable,  # other forces on the bodies, shape [num_mobods, 6]
    # Out:
    F_Bo_W_out: FloatTable,  # the same with those of adhesion; may be the same array
) -> Count:
    """Computes (1); returns 0, or -1 less the number of a transmission, or of all of them, that a surface prevents."""
    first = forces_in.shape[0] - transmissions.shape[0]
    for i in range(F_Bo_W_in.shape[0]):
        for k in range(6):
            F_Bo_W_out[i, k] = F_Bo_W_in[i, k]
    for c in range(contact_pairs_in.shape[0]):
        pair = contact_pairs_in[c]
        if pair["adhesion"].real > 0.0:
            if pair["origin"] == OF_FACE:
                return -1 - transmissions.shape[0]
            if real_part(pair["phi"]) <= NEAR:
                _pull(pair, position_in, pair["adhesion"], F_Bo_W_out)
    for i in range(transmissions.shape[0]):
        node = nodes[transmissions[i]["first"]]
        if node["what"] != BODY:
            continue
        count = 0
        for c in range(contact_pairs_in.shape[0]):
            if _touches(contact_pairs_in[c], node["mobod"]):
                if contact_pairs_in[c]["origin"] == OF_FACE:
                    return -1 - i
                count += 1
        for c in range(contact_pairs_in.shape[0] if count > 0 else 0):
            if _touches(contact_pairs_in[c], node["mobod"]):
                _pull(contact_pairs_in[c], position_in, forces_in[first + i] / count, F_Bo_W_out)
    return 0


@device
def _pull(pair: ContactPair, position_in: Positions, F: Any, F_Bo_W_io: FloatTable) -> None:
    """Adds (1) to the forces on the bodies."""
    f, p_WC, zero = scaled(F, vector(pair["nhat_BA_W"])), vector(pair["p_WC"]), (0.0, 0.0, 0.0)
    push(position_in, F_Bo_W_io, pair["mobod_A"], p_WC, zero, scaled(-1.0, f))
    push(position_in, F_Bo_W_io, pair["mobod_B"], p_WC, zero, f)


@device
def _touches(pair: ContactPair, mobod: int) -> bool:
    """Whether it is a contact of that body."""
    is_of_body: bool = pair["mobod_A"] == mobod or pair["mobod_B"] == mobod
    return is_of_body and bool(real_part(pair["phi"]) <= NEAR)
