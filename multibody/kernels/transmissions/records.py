"""The records of transmissions, of the nodes along them, and of the springs and limits that some of them have."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf

# What a node of a transmission is.
COORDINATE = 0  # a position and its velocity
SITE = 1  # a frame that is fixed to a body
PULLEY = 2  # divides the lengths that follow; what comes next begins a new branch
SPHERE = 3  # a surface around which the line between the sites before and after it may wrap
CYLINDER = 4  # the same; its axis is z of its frame
BODY = 5  # a body, for whatever touches it

node_dtype = np.dtype(
    [
        ("what", np.int64),  # see above
        ("q", np.int64),  # of a coordinate
        ("v", np.int64),
        ("mobod", np.int64),  # of a site or a surface
        ("X_BN", np.float64, (3, 4)),  # [R p] of its frame N in that body
        ("number", np.float64),  # coefficient, divisor or radius [m]
        ("side_mobod", np.int64),  # of a surface with a side site; -1 without
        ("p_BS", np.float64, (3,)),  # the side site in its body [m]
    ]
)

transmission_dtype = np.dtype(
    [
        ("kind", np.int64),  # number in the table of kinds
        ("code", np.int64),  # addresses of kinds from outside the table, see kind_table.py
        ("complex_code", np.int64),
        ("first", np.int64),  # its nodes are those from here
        ("end", np.int64),  # up to here
        ("tree_0", np.int64),  # of the contact problem, whose velocities change the length; -1 for none
        ("tree_1", np.int64),
        ("constants", np.float64, (8,)),  # whatever its kind needs
        # Of a tendon, springs and limits of its length l [m, or rad]:
        ("stiffness", np.float64),  # [N/m]
        ("rest_lower", np.float64),  # between these no spring acts
        ("rest_upper", np.float64),
        ("damping", np.float64),  # [N s/m]
        ("friction", np.float64),  # dry [N]
        ("armature", np.float64),  # inertia that moves with the rate [kg], see armature.py
        ("lower", np.float64),
        ("upper", np.float64),
        ("limit_stiffness", np.float64),  # of the springs that keep limits in continuous time [N/m]
        ("limit_dissipation", np.float64),  # [s/m]
    ]
)

Node = Annotated[Any, RecordOf(node_dtype)]
Nodes = Annotated[NDArray[Any], ArrayOf(node_dtype)]
Transmission = Annotated[Any, RecordOf(transmission_dtype)]
Transmissions = Annotated[NDArray[Any], ArrayOf(transmission_dtype)]
