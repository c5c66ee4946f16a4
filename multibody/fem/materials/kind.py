"""What a kind of material is: one record of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MOST_CONSTANTS = 8  # numbers of a kind beside those of all materials


@dataclass(frozen=True, eq=False)
class MaterialKind:
    """One kind of elastic material: an energy density, its derivative by F, and that one's.

    The functions are kernels' helpers. They take the record `material`, whose kind it is, with Lame's parameters and up
    to MOST_CONSTANTS numbers of the kind's own in material["constants"] (layout.py); and `point`, the record of a
    quadrature point, of which F is set; what else they read, their own `prepare` or `start` has set.

    Attributes:
        name: as in model files, such as "linear_corotated".
        add_energy: (material, point, energy_out) adds the energy per volume at rest, Psi(F) [J/m^3], shape [1].
        set_stress: (material, point) sets point["P"], dPsi/dF, the first Piola stress [Pa].
        set_derivative: (material, point, derivative_out) sets dP_ij/dF_kl, at [3 i + j, 3 k + l] [Pa]; where
            point["is_convex"] is not 0 without the part that is negative, so that no step of Newton's method climbs.
            Where material["is_averaged"] is not 0 without lambda dtheta/dF dtheta/dF, which is that of a patch.
        start: (material, point) sets what stays as it is during a step, from F before it, which is point["rotation"],
            R of F = R S; None if there is nothing.
        prepare: (material, point) sets what follows from F; None if there is nothing.
        set_growth: (material, point) sets point["growth"], the growth of the volume theta(F) of which the energy has
            lambda theta^2 / 2, and point["slope"], dtheta/dF. After it, other functions take point["growth"] as it
            is in the record, which may be the mean of several elements (patches.py). None if the energy has no such
            part: then elements cannot change their volume together.
        calc_third: (material, F, growth) returns, for n points, the derivative of dP/dF by F at a given growth, at
            [3 i + j, 3 k + l, 3 m + n], shape [n, 9, 9, 9] [Pa], and d^2 theta/dF^2, shape [n, 9, 9]. It is Python, of
            arrays F, shape [n, 3, 3], and growth, shape [n]. Derivatives by numbers of the material need it where
            deformation is damped; None if both are zero.
        is_linear: whether strains are small and seen from point["rotation"]: then P R^T is the stress.
        stable_for: of which numbers it is stable at rest, for messages, such as "a Poisson's ratio above 1/8".
    """

    name: str
    add_energy: Callable[..., None]
    set_stress: Callable[..., None]
    set_derivative: Callable[..., None]
    start: Callable[..., None] | None = None
    prepare: Callable[..., None] | None = None
    set_growth: Callable[..., None] | None = None
    calc_third: Callable[..., Any] | None = None
    is_linear: bool = False
    stable_for: str = ""
