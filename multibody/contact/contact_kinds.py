"""Contacts of kinds that a program brings: what makes pairs of two bodies that no geometry knows of.

A contact of a kind is a fixed number of places at which body A and body B may press on each other: the tip of a leg
over a terrain, two magnets that repel, the nodes of a cloth over a sphere. The kind says where these places are and how
deep they overlap, and the rest of a step takes them as it takes points of geometries: problem, impulses, friction,
results, derivatives. So a function is all that it takes, compiled apart (kernels/kind_table.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf
from merganser.multibody.contact.contact_pairs import OF_KIND, ContactPair, ContactPairs, contact_pair_dtype
from merganser.multibody.contact.layout import Count
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.kind_table import KindTable, Role
from merganser.multibody.kernels.layout import Positions
from merganser.multibody.kernels.spatial import dot, vector

_UNIT = 1e-6  # by which the square of the length of a normal may differ from 1


@dataclass(frozen=True, eq=False)
class ContactKind:
    """One kind of contact between two bodies.

    Its function is a kernel's helper: loops over arrays and records, of floats and complex numbers alike, which decides
    by real parts. For each place k that is near, it writes into the record `pairs_out[k]`

        p_WC                where the force acts, in W [m]
        nhat_BA_W           the normal, out of B into A, of length 1
        phi                 the gap there [m], negative where the bodies overlap
        stiffness           k [N/m]: the elastic force is -k phi
        dissipation         d of Hunt and Crossley [s/m]; 0 if it is not written, as are the next ones
        relaxation_time     tau of SAP [s]
        static_friction, dynamic_friction
        adhesion            by which A and B are pulled together where they touch, beside the contact force [N]
        v_SbSa_W            velocity of the surface of A on A less that of B on B [m/s]

    and what is not written is not there. A force f_0 that grows by k with the depth is one with phi = -f_0 / k.

    Attributes:
        name: such as "terrain".
        set_pairs: (source, numbers_in, pose_A, pose_B, pairs_out). `numbers_in` are those of the contact. The poses are
            position records of the two bodies, with fields R_WB and p_WoBo_W.
    """

    name: str
    set_pairs: Callable[..., None]


contact_source_dtype = np.dtype(
    [
        ("kind", np.int64),
        ("code", np.int64),  # addresses of the function, see kernels/kind_table.py
        ("complex_code", np.int64),
        ("mobod_A", np.int64),
        ("mobod_B", np.int64),
        ("first_pair", np.int64),  # number of its first place among those of all contacts of kinds
        ("num_pairs", np.int64),
        ("first_number", np.int64),  # where its numbers stand
        ("num_numbers", np.int64),
    ]
)
ContactSource = Annotated[Any, RecordOf(contact_source_dtype)]
ContactSources = Annotated[NDArray[Any], ArrayOf(contact_source_dtype)]


def _make_examples(scalar: Any) -> dict[str, Any]:
    from merganser.framework.native.memory.by_value import of_scalar

    pose = np.zeros(1, layout.position_dtype(scalar))[0]
    return {
        "source": np.zeros(1, contact_source_dtype)[0], "numbers_in": np.zeros(1, scalar), "pose_A": pose,
        "pose_B": pose, "pairs_out": np.zeros(1, of_scalar(contact_pair_dtype, scalar)),
    }  # fmt: skip


_ARGUMENTS = ("source", "numbers_in", "pose_A", "pose_B", "pairs_out")
_TABLE: KindTable[ContactKind] = KindTable(
    "contact", ContactKind, (), {"set_pairs": Role(_ARGUMENTS, 'pairs_out[0]["phi"]')}, _make_examples
)
set_contact_kind = _TABLE.set_kind
set_pairs = device(_TABLE.branches("set_pairs"))


@device
def calc_make_pairs_of_kinds(
    # Model:
    sources: ContactSources,  # of contact_source_dtype
    margin: float,  # up to which gap a pair counts [m]
    first: int,  # where the first pair stands
    # In:
    numbers_in: Floats,  # of all sources
    position_in: Positions,
    # Out:
    contact_pairs_out: ContactPairs,  # with room for all places of all sources, from the first on
) -> Count:
    """Writes the contact pairs; returns how many there are, with those before the first one.

    Returns -1 less the row of a source if a pair of it is not valid: a gap that is no number, a normal that is no unit
    vector, a negative stiffness; or if its function was left by an exception.
    """
    count = first
    for i in range(sources.shape[0]):
        source = sources[i]
        pairs = contact_pairs_out[count : count + source["num_pairs"]]
        for k in range(pairs.shape[0]):
            _clear(source, k, pairs[k])
        numbers = numbers_in[source["first_number"] : source["first_number"] + source["num_numbers"]]
        set_pairs(source, numbers, position_in[source["mobod_A"]], position_in[source["mobod_B"]], pairs)
        kept = count
        for k in range(pairs.shape[0]):
            pair = pairs[k]
            if pair["phi"] != pair["phi"]:
                return -1 - i
            if pair["phi"].real < margin:
                n = vector(pair["nhat_BA_W"])
                if not (abs(dot(n, n).real - 1.0) < _UNIT and pair["stiffness"].real >= 0.0):
                    return -1 - i
                pair["elastic_force"] = -pair["stiffness"] * pair["phi"]
                if kept < count + k:
                    contact_pairs_out[kept] = contact_pairs_out[count + k]
                kept += 1
        count = kept
    return count


make_pairs_of_kinds = kernel(calc_make_pairs_of_kinds)


@device
def _clear(source: ContactSource, k: int, pair: ContactPair) -> None:
    """Makes of a record a pair that is not there."""
    pair["origin"], pair["source"] = OF_KIND, source["first_pair"] + k
    pair["mobod_A"], pair["mobod_B"] = source["mobod_A"], source["mobod_B"]
    pair["phi"] = np.inf
    pair["stiffness"], pair["dissipation"], pair["relaxation_time"] = 0.0, 0.0, 0.0
    pair["static_friction"], pair["dynamic_friction"], pair["adhesion"] = 0.0, 0.0, 0.0
    for c in range(3):
        pair["p_WC"][c], pair["nhat_BA_W"][c], pair["v_SbSa_W"][c] = 0.0, 0.0, 0.0
