"""Forces that pull bodies and what they touch together: suction cups, magnets that hold, sticky feet.

A force F along an adhesion is spread evenly over the n contact points of its body that touch. At each of them

    f_A = -F / n nhat_BA,   f_B = F / n nhat_BA                                           (1)

act on the bodies A and B, beside what the law of contact exerts: so the points press on each other by F / n more than
they would otherwise, and can hold as much more by friction. Points count whose gap is a picometre at most: rounding
does not decide whether a body sticks that is put exactly against another.

Source: MuJoCo's documentation of adhesion actuators, whose contacts are those of its own.
"""

from __future__ import annotations

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
    """Computes (1); returns 0, or less the number of a transmission whose body touches on a surface, less 1."""
    first = forces_in.shape[0] - transmissions.shape[0]
    for i in range(F_Bo_W_in.shape[0]):
        for k in range(6):
            F_Bo_W_out[i, k] = F_Bo_W_in[i, k]
    zero = (0.0, 0.0, 0.0)
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
            pair = contact_pairs_in[c]
            if _touches(pair, node["mobod"]):
                f, p_WC = scaled(forces_in[first + i] / count, vector(pair["nhat_BA_W"])), vector(pair["p_WC"])
                push(position_in, F_Bo_W_out, pair["mobod_A"], p_WC, zero, scaled(-1.0, f))
                push(position_in, F_Bo_W_out, pair["mobod_B"], p_WC, zero, f)
    return 0


@device
def _touches(pair: ContactPair, mobod: int) -> bool:
    """Whether it is a contact of that body."""
    is_of_body: bool = pair["mobod_A"] == mobod or pair["mobod_B"] == mobod
    return is_of_body and bool(real_part(pair["phi"]) <= NEAR)
