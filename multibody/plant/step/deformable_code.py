"""The kernels of steps of deformable bodies, by their names in DeformableCode: for Python, and as addresses."""

from __future__ import annotations

import functools

from merganser.framework.native.memory.hinted_types import hinted_address
from merganser.geometry.deformable.moving_meshes import put_meshes
from merganser.geometry.hydroelastic.surfaces import contact_surfaces
from merganser.multibody.contact.deformable_motion import end_motion, place_fixed, start_motion
from merganser.multibody.contact.deformable_pairs import make_deformable_pairs
from merganser.multibody.contact.deformable_participants import find_participants
from merganser.multibody.contact.deformable_problem import pose_coupled_problem
from merganser.multibody.contact.deformable_records import DeformableCode
from merganser.multibody.fem.newton import free_motion
from merganser.multibody.fem.schur import couple_nodes, follow_nodes
from merganser.multibody.plant.workspace import Workspace

__all__ = ["deformable_code_of_addresses", "deformable_code_of_functions"]

_KERNELS = DeformableCode(
    start_motion=start_motion,
    free_motion=free_motion,
    end_motion=end_motion,
    put_meshes=put_meshes,
    contact_surfaces=contact_surfaces,
    make_deformable_pairs=make_deformable_pairs,
    place_fixed=place_fixed,
    find_participants=find_participants,
    couple_nodes=couple_nodes,
    pose_coupled_problem=pose_coupled_problem,
    follow_nodes=follow_nodes,
)
_OF_FREE_MOTION = "start_motion", "free_motion", "end_motion"


def deformable_code_of_functions(w: Workspace) -> DeformableCode:
    """What Python calls: compiled functions, once they have been called, or what compiles them."""
    return DeformableCode(*(w.codes.get(kernel) or functools.partial(w.call, kernel) for kernel in _KERNELS))


def deformable_code_of_addresses(may_constrain: bool) -> DeformableCode:
    """The addresses of the kernels, compiled where they are not; 0 for those that steps do not come to.

    Args:
        may_constrain: whether there may be contacts and constraints.
    """
    needed = DeformableCode._fields if may_constrain else _OF_FREE_MOTION
    known = _KERNELS._asdict()
    return DeformableCode(*(hinted_address(kernel) if name in needed else 0 for name, kernel in known.items()))
