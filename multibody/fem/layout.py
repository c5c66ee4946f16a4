"""The records that the kernels of deformable bodies work on.

Notation: X is where a point of the body is at rest, x where it is; F = dx/dX is the deformation gradient, constant in a
linear tetrahedron, and N_a(X) the function that is 1 at node a and 0 at the others. Nodes of a body are numbered as the
vertices of its mesh; q, v and forces have three numbers a node, in W: shape [3 num_nodes].
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import FLOAT, ONE_VALUE, ArrayOf, RecordOf
from merganser.multibody.fem.materials.kind import MOST_CONSTANTS
from merganser.multibody.linear.ordering import Pattern

# What a step returns.
CONVERGED = 0
NOT_CONVERGED = -1
SINGULAR_MATRIX = -2
NOT_FINITE = -3

MOST_PATCH_NODES = 10

material_dtype = np.dtype(
    [
        ("kind", np.int64),  # see materials/table.py
        ("code", np.int64),  # of kinds from outside the table
        ("complex_code", np.int64),
        ("mu", np.float64),  # Lame's parameters [Pa]
        ("lambda", np.float64),
        ("constants", np.float64, (MOST_CONSTANTS,)),  # of the kind
        ("density", np.float64),  # at rest [kg/m^3]
        ("mass_damping", np.float64),  # alpha [1/s]
        ("stiffness_damping", np.float64),  # beta [s]
        ("tolerance", np.float64),  # of Newton's method, relative to the forces that balance
        ("is_averaged", np.int64),  # whether elements have the growth of volume of their patch
    ]
)

element_dtype = np.dtype(
    [
        ("nodes", np.int64, (4,)),
        ("gradients", np.float64, (4, 3)),  # dN_a/dX [1/m]
        ("volume", np.float64),  # at rest [m^3]
        ("place", np.int64, (4, 4)),  # where the block of nodes a and b starts in the panels; -1 if it is not kept
        ("stride", np.int64, (4, 4)),  # from one of its rows to the next
        ("patch", np.int64),  # which one it is in
        ("seat", np.int64, (4,)),  # of its nodes among those of the patch
    ]
)

# Elements that have one growth of volume, see patches.py.
patch_dtype = np.dtype(
    [
        ("num_nodes", np.int64),
        ("nodes", np.int64, (MOST_PATCH_NODES,)),
        ("volume", np.float64),  # at rest [m^3]
        ("place", np.int64, (MOST_PATCH_NODES, MOST_PATCH_NODES)),  # as those of elements
        ("stride", np.int64, (MOST_PATCH_NODES, MOST_PATCH_NODES)),
    ]
)

patch_work_dtype = np.dtype(
    [
        ("growth", np.float64),  # mean theta of its elements
        ("rate", np.float64),  # of the growth [1/s]
        ("slope", np.float64, (MOST_PATCH_NODES, 3)),  # derivative of volume times growth by positions [m^2]
    ]
)

# What factor() of linear/factorization.py reads: here a tree is two nodes, of 6 velocities.
tree_dtype = np.dtype([("v_start", np.int64), ("num_v", np.int64)])

report_dtype = np.dtype(
    [
        ("iterations", np.int64),  # of Newton's method
        ("line_searches", np.int64),  # evaluations that line searches took
        ("residual", np.float64),  # norm of what is left of the forces [N]
        ("tolerance", np.float64),  # what it had to be [N]
        ("is_damping_kept", np.int64),  # whether damping is that before the step, see newton.py
    ]
)


def point_dtype(scalar: Any) -> np.dtype[Any]:
    """The record of an element's quadrature point: its strain, and what follows from it."""
    return np.dtype(
        [
            ("F", scalar, (3, 3)),  # deformation gradient
            ("rotation", scalar, (3, 3)),  # R, see materials/kind.py
            ("U", scalar, (3, 3)),  # F = U diag(sigma) V^T, both rotations, of isotropic materials
            ("sigma", scalar, (3,)),  # principal stretches; one is negative where an element is inside out
            ("V", scalar, (3, 3)),
            ("second", scalar, (3, 3)),  # room for derivatives of the energy by sigma [Pa]
            ("growth", scalar),  # theta, of volume, see materials/kind.py
            ("slope", scalar, (3, 3)),  # dtheta/dF
            ("P", scalar, (3, 3)),  # first Piola stress [Pa]
            ("is_convex", np.int64),  # whether stress derivatives are to be without their negative part
        ]
    )


# What kernels take.
Element = Annotated[Any, RecordOf(element_dtype)]
Elements = Annotated[NDArray[Any], ArrayOf(element_dtype)]
Material = Annotated[Any, RecordOf(material_dtype)]
FloatBlocks = Annotated[NDArray[Any], ArrayOf(FLOAT, 3)]
NodeTrees = Annotated[NDArray[Any], ArrayOf(tree_dtype)]
NodeValues = Floats  # of all nodes, shape [3 num_nodes]
Patches = Annotated[NDArray[Any], ArrayOf(patch_dtype)]
Point = Annotated[Any, RecordOf(point_dtype(np.float64))]
Report = Annotated[Any, RecordOf(report_dtype)]


class BodyArrays(NamedTuple):
    """A deformable body at rest, and the pattern of its matrices.

    Attributes:
        elements: shape [num_elements].
        material: one record.
        unknown: where the velocity of each node starts among the unknowns; -1 if it is held; shape [num_nodes].
        trees: two nodes each, shape [num_trees].
        padding: where in the panels the diagonals of nodes are that are missing in pairs.
        pattern: of the factor of the tangent matrix.
        patches: elements with one growth of volume, shape [num_patches]; none of most materials.
    """

    elements: Elements
    material: Material
    unknown: Integers
    trees: NodeTrees
    padding: Integers
    pattern: Annotated[Pattern, ONE_VALUE]
    patches: Patches


class StepWork(NamedTuple):
    """Room for a step.

    Attributes:
        points: records of quadrature points, shape [num_elements].
        patches: records of patch_work_dtype, shape [num_patches].
        derivative: dP/dF of one element [Pa], shape [9, 9].
        panels: the tangent matrix, and its factor.
        residual: forces that are left [N], shape [3 num_nodes].
        direction: of Newton's method, by unknowns [m/s].
        trial: v on the way [m/s], shape [3 num_nodes].
        damping_positions: where damping is that of, see newton.py [m], shape [3 num_nodes].
        report: of the last step, record of report_dtype.
    """

    points: Annotated[NDArray[Any], ArrayOf(point_dtype(np.float64))]
    patches: Annotated[NDArray[Any], ArrayOf(patch_work_dtype)]
    derivative: FloatTable
    panels: Floats
    residual: Floats
    direction: Floats
    trial: Floats
    damping_positions: Floats
    report: Report
