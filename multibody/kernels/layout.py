"""The record arrays on which the multibody kernels work.

A finalized tree is a list of *mobilized bodies* ("mobods"), numbered depth first with the world as number 0,
so that every parent precedes its children and every subtree is one contiguous range. One record a mobod, in
five arrays (in `parameters`, records of path segments follow, see below):

========== ============ ======================================================================================
array      scalar       holds
========== ============ ======================================================================================
topology   integers     who is whose parent, the kind of mobilizer, where its coordinates start
parameters T            what may change in a Context: mass properties, frame poses, damping, reflected inertia
position   T            everything that depends on q alone
velocity   T            everything that depends on q and v
scratch    T            workspace of the recursive algorithms; no value outlives a call
========== ============ ======================================================================================

T is float64, complex128 (derivatives by the complex step) or object (symbolic expressions): the same fields
each time. All fields of `parameters` have type T, so the array is a view into the numeric parameters of a
Context.

A curvilinear mobilizer moves M along a path of lines and arcs. Its segments are records of `parameters` behind those
of the mobods, numbers path_start to path_end of its topology record: R_PF and p_PoFo_P of such a record are the pose
of M in F where the segment starts, arc_start the distance there, and turning_rate the curvature.

Force elements have records of their own: integers (element_dtype) and constants of type T (constant_dtype), which are
numeric parameters of a Context too, as are the poses of the offset frames (frame_dtype).

Notation. P is the parent (inboard) body of B, F the frame fixed to P and M the frame fixed to B that the
mobilizer connects; W is the world. Spatial vectors are [rotational; translational], in W, about the origin Bo
of the body.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf

MAX_VELOCITIES = 6  # of one mobilizer

# Kinds of mobilizer: their numbers in the table (mobilizers/table.py).
WELD = 0  # no coordinates
REVOLUTE = 1  # q: angle about axis_F [rad]
PRISMATIC = 2  # q: displacement along axis_F [m]
QUATERNION_FLOATING = 3  # q: quaternion w, x, y, z of R_FM, then p_FoMo_F [m]; v: w_FM_F, v_FMo_F
SCREW = 4  # q: angle about axis_F [rad], with a displacement of pitch times the angle
PLANAR = 5  # q: x, y of Mo in F [m], angle about Fz [rad]
BALL_RPY = 6  # q: roll, pitch, yaw of R_FM [rad]; v: w_FM_F
RPY_FLOATING = 7  # q: roll, pitch, yaw of R_FM, then p_FoMo_F; v: w_FM_F, v_FMo_F
UNIVERSAL = 8  # q: angle about Fx, then about My [rad]
CURVILINEAR = 9  # q: distance along a planar path of lines and arcs [m]
BALL_QUATERNION = 10  # q: quaternion w, x, y, z of R_FM; v: w_FM_F

topology_dtype = np.dtype(
    [
        ("parent", np.int64),  # mobod number of P; -1 for the world
        ("mobilizer", np.int64),  # one of the kinds above
        ("q_start", np.int64),
        ("num_q", np.int64),
        ("v_start", np.int64),
        ("num_v", np.int64),
        ("subtree_end", np.int64),  # the subtree of B is range(B, subtree_end)
        ("path_start", np.int64),  # the segments of the path of a curvilinear mobilizer are the parameter
        ("path_end", np.int64),  # records range(path_start, path_end)
        ("is_weightless", np.int64),  # 1 if gravity does not act on B, 0 if it does
        # Of the world alone: 1 if discrete steps take forces of velocity products at their beginning, see
        # velocity_products.py.
        ("has_explicit_products", np.int64),
        ("carries", np.int64),  # which of its velocities carry which, see spatial.py
        # Of a kind from outside the table of mobilizers, which has the addresses of its functions (kind_table.py),
        # for floats and for complex numbers. Addresses are those of one process.
        ("code", np.int64),
        ("complex_code", np.int64),
    ]
)

# Kinds of force element.
JOINT_SPRING = 0  # on the position of one joint
SPRING_DAMPER = 1  # between a point of one body and a point of another
DOOR_HINGE = 2  # spring, catch and friction on one revolute joint
BUSHING = 3  # between a frame of one body and a frame of another

element_dtype = np.dtype(
    [
        ("kind", np.int64),  # one of the kinds above, or one of a user (elements/table.py)
        ("code", np.int64),  # addresses of the functions of such a kind, for floats and for complex numbers
        ("complex_code", np.int64),
        ("mobod_0", np.int64),  # mobod numbers of L0 and L1, if it acts between bodies
        ("mobod_1", np.int64),
        ("q", np.int64),  # which position and velocity, if it acts on a joint
        ("v", np.int64),
    ]
)


_INTERNED: dict[np.dtype[Any], np.dtype[Any]] = {}


def _interned(fields: list[Any]) -> np.dtype[Any]:
    """One object for equal dtypes: numba then knows a record array by identity (0.3 us less an argument)."""
    dtype = np.dtype(fields)
    return _INTERNED.setdefault(dtype, dtype)


@functools.cache
def parameter_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Numeric parameters of one mobod, all of type `scalar`."""
    return _interned(
        [
            ("R_PF", scalar, (3, 3)),
            ("p_PoFo_P", scalar, (3,)),
            ("R_MB", scalar, (3, 3)),
            ("p_MoBo_M", scalar, (3,)),
            ("axis_F", scalar, (3,)),  # unit vector of revolute, prismatic and screw mobilizers, the same in M
            # Of a screw: displacement by angle [m/rad]. Of a path: its length if it closes on itself, or 0 [m].
            ("pitch", scalar),
            ("constants", scalar, (4,)),  # whatever a kind of mobilizer of a user needs
            ("arc_start", scalar),  # of a path segment [m]
            ("turning_rate", scalar),  # of a path segment: signed curvature about Mz [1/m]
            ("is_locked", scalar),  # 1 if the velocities of the mobilizer stay as they are, 0 if not
            ("mass", scalar),
            ("p_BoBcm_B", scalar, (3,)),
            ("G_BBo_B", scalar, (3, 3)),  # unit inertia (inertia for mass 1) about Bo [m^2]
            ("damping", scalar, (MAX_VELOCITIES,)),  # tau = -damping v
            ("friction", scalar, (MAX_VELOCITIES,)),  # dry, |tau| <= friction
            ("reflected_inertia", scalar),  # armature and rotors, on the diagonal of M, of one velocity or a ball
        ]
    )


@functools.cache
def constant_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Constants of one force element; which of them count depends on its kind."""
    return _interned(
        [
            ("X_L0A", scalar, (3, 4)),  # [R p] of frame A in body L0; of a spring and damper, only p counts
            ("X_L1C", scalar, (3, 4)),
            # Of a bushing: about roll, pitch, yaw [N m/rad, N m s/rad], then along x, y, z [N/m, N s/m]; of the other
            # kinds: the first element.
            ("stiffness", scalar, (6,)),
            ("damping", scalar, (6,)),
            ("nominal", scalar),  # position without force, or free length [rad or m]
            ("catch_torque", scalar),  # of a door hinge, from here on: [N m]
            ("catch_width", scalar),  # [rad]
            ("dynamic_friction", scalar),  # [N m]
            ("static_friction", scalar),  # [N m]
            ("motion_threshold", scalar),  # [rad/s]
            ("constants", scalar, (8,)),  # whatever a kind of element of a user needs
        ]
    )


@functools.cache
def frame_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Poses [R p] of one offset frame F, in its parent frame P and in its body B."""
    return _interned([("X_PF", scalar, (3, 4)), ("X_BF", scalar, (3, 4))])


@functools.cache
def position_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Quantities that depend on q: poses, hinge matrices and inertias in the world frame."""
    return _interned(
        [
            ("R_WB", scalar, (3, 3)),
            ("p_WoBo_W", scalar, (3,)),
            ("p_PoBo_W", scalar, (3,)),
            ("R_WF", scalar, (3, 3)),
            ("p_MoBo_W", scalar, (3,)),
            # V_PB_W = sum_k H_PB_W[k] v_k: one row per velocity of the mobilizer, the rest undefined.
            ("H_PB_W", scalar, (MAX_VELOCITIES, 6)),
            # Spatial inertia of B about Bo, in W: mass * [G, p x; -p x, 1].
            ("mass", scalar),
            ("p_BoBcm_W", scalar, (3,)),
            ("I_BBo_W", scalar, (3, 3)),  # rotational inertia [kg m^2]
        ]
    )


@functools.cache
def velocity_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Quantities that depend on q and v."""
    return _interned(
        [
            ("V_PB_W", scalar, (6,)),  # across the hinge
            ("V_WB_W", scalar, (6,)),
            # Part of A_WB_W that is not the shifted acceleration of the parent and vanishes with v;
            # A_WB_W is Phi(A_WP_W) + Ab_WB_W + H_PB_W vdot, where Phi shifts (a += alpha x p) without the
            # centripetal term.
            ("Ab_WB_W", scalar, (6,)),
            ("Fb_Bo_W", scalar, (6,)),  # gyroscopic bias: F_Bo_W = M_BBo_W A_WB_W + Fb_Bo_W
        ]
    )


@functools.cache
def scratch_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Workspace of the recursive algorithms, one record a mobod."""
    return _interned(
        [
            ("A_WB_W", scalar, (6,)),
            ("F_Bo_W", scalar, (6,)),
            # Composite body inertia: B and all bodies outboard of it, as one rigid body.
            ("mass_C", scalar),
            ("mp_C_W", scalar, (3,)),  # mass times centre of mass, from Bo
            ("I_C_W", scalar, (3, 3)),  # rotational inertia about Bo (mass matrix)
            ("trace_C", scalar),  # its trace (forward dynamics)
            # Articulated body inertia (forward dynamics): P = [J, K^T; K, M], then P+, what the parent feels
            # through the hinge. Of J and M, the lower triangle.
            ("J_B_W", scalar, (3, 3)),
            ("K_B_W", scalar, (3, 3)),
            ("M_B_W", scalar, (3, 3)),
            ("Z_B_W", scalar, (6,)),
            ("Y_B_W", scalar, (MAX_VELOCITIES, 6)),  # rows: U_k = P H_k, then L^-1 U
            ("D_B", scalar, (MAX_VELOCITIES, MAX_VELOCITIES)),  # hinge inertia L Delta L^T: L below 1/Delta
            ("e_B", scalar, (MAX_VELOCITIES,)),  # hinge force left over, L^-1 e
        ]
    )


# What kernels take, by the hints of their parameters (framework/native/memory/hinted_types.py).
Mobod = Annotated[Any, RecordOf(topology_dtype)]
Topology = Annotated[NDArray[Any], ArrayOf(topology_dtype)]
Elements = Annotated[NDArray[Any], ArrayOf(element_dtype)]
Parameter = Annotated[Any, RecordOf(parameter_dtype())]
Parameters = Annotated[NDArray[Any], ArrayOf(parameter_dtype())]
Constants = Annotated[NDArray[Any], ArrayOf(constant_dtype())]
Positions = Annotated[NDArray[Any], ArrayOf(position_dtype())]
Velocities = Annotated[NDArray[Any], ArrayOf(velocity_dtype())]
Scratch = Annotated[NDArray[Any], ArrayOf(scratch_dtype())]
