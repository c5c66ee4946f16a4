"""What joints exert on their child bodies, from the forces of inboard joints that inverse dynamics finds.

Notation: a joint connects frame Jp of its parent body with frame Jc of its child body C. The mobilizer that is made of
it connects F on the inboard body P with M on the outboard body B, and exerts F_Bo_W on B, about Bo. Mostly C is B and
Jc is M; where the joint is reversed, C is P, which feels the opposite, and Jc is F, or for a weld fixed to F at X_FJc.

    R_WJc = R_WB R_BM,          p_WJc = p_WBo + R_WB p_BoMo_B                        (1)
    R_WJc = R_WP R_PF R_FJc,    p_WJc = p_WPo + R_WP (p_PoFo_P + R_PF p_FoJc_F)      (2), reversed
    F_CJc = +-[t_Bo - (p_WJc - p_WBo) x f, f]                                        (3)

(Featherstone 2008, section 2.8: spatial forces about another point.)
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.spatial import (
    Array,
    Matrix3,
    Vector3,
    add,
    column,
    cross,
    dot,
    rotate,
    rotational,
    scaled,
    set_spatial,
    subtract,
    translational,
    vector,
)

__all__ = ["calc_reaction_forces", "reaction_forces"]


@device
def _child_frame(
    parameters: Array, position: Array, mobod: int, parent: int, is_reversed: int, X_FJc: Array
) -> tuple[Matrix3, Vector3]:
    """The axes of Jc in W, as a tuple of columns of R_WJc, and p_WJc."""
    joint, inboard, outboard = parameters[mobod], position[parent], position[mobod]
    if is_reversed:  # (2)
        R_WP, R_PF = inboard["R_WB"], joint["R_PF"]
        reversed_axes_W = (
            rotate(R_WP, rotate(R_PF, column(X_FJc, 0))),
            rotate(R_WP, rotate(R_PF, column(X_FJc, 1))),
            rotate(R_WP, rotate(R_PF, column(X_FJc, 2))),
        )
        p_PJc_P = add(vector(joint["p_PoFo_P"]), rotate(R_PF, column(X_FJc, 3)))
        return reversed_axes_W, add(vector(inboard["p_WoBo_W"]), rotate(R_WP, p_PJc_P))
    R_WB, R_MB, p_MoBo_M = outboard["R_WB"], joint["R_MB"], joint["p_MoBo_M"]
    axes_W = rotate(R_WB, vector(R_MB[0])), rotate(R_WB, vector(R_MB[1])), rotate(R_WB, vector(R_MB[2]))  # (1)
    p_MoBo_W = add(add(scaled(p_MoBo_M[0], axes_W[0]), scaled(p_MoBo_M[1], axes_W[1])), scaled(p_MoBo_M[2], axes_W[2]))
    return axes_W, subtract(vector(outboard["p_WoBo_W"]), p_MoBo_W)


@device
def calc_reaction_forces(
    # Model:
    topology: Array,  # shape [num_mobods]
    parameters: Array,  # shape [>= num_mobods]
    mobods: Array,  # of each joint, shape [num_joints]
    is_reversed: Array,  # 1 where the child body is the inboard one, shape [num_joints]
    X_FJc: Array,  # of reversed joints, [R p], shape [num_joints, 3, 4]
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    F_Bo_W_in: Array,  # forces of the inboard joints on B about Bo [N m, N], shape [num_mobods, 6]
    # Out:
    F_CJc_Jc_out: Array,  # of the joints on C at Jc, in Jc [N m, N], shape [num_joints, 6]
) -> None:
    """Computes the reaction forces of all joints, equation (3)."""
    for j in range(mobods.shape[0]):
        mobod = mobods[j]
        axes_W, p_WJc = _child_frame(
            parameters, position_in, mobod, topology[mobod]["parent"], is_reversed[j], X_FJc[j]
        )
        sign = -1.0 if is_reversed[j] else 1.0
        f_W = scaled(sign, translational(F_Bo_W_in[mobod]))
        arm = subtract(p_WJc, vector(position_in[mobod]["p_WoBo_W"]))
        t_W = subtract(scaled(sign, rotational(F_Bo_W_in[mobod])), cross(arm, f_W))
        t_Jc = dot(axes_W[0], t_W), dot(axes_W[1], t_W), dot(axes_W[2], t_W)
        f_Jc = dot(axes_W[0], f_W), dot(axes_W[1], f_W), dot(axes_W[2], f_W)
        set_spatial(F_CJc_Jc_out[j], t_Jc, f_Jc)


reaction_forces = kernel(calc_reaction_forces)
