"""What a kind of material is: one record of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["MaterialKind"]


@dataclass(frozen=True, eq=False)
class MaterialKind:
    """One kind of elastic material: an energy density, its derivative by F, and that one's.

    The functions are kernels' helpers. They take the record `material`, whose kind it is (layout.py), and `point`, the
    record of a quadrature point, of which F is set; what else they read, their own `prepare` or `start` has set.

    Attributes:
        name: such as "corotated".
        start: (material, point) sets what stays as it is during a step, from F before it; None if there is nothing.
        prepare: (material, point) sets what follows from F; None if there is nothing.
        set_growth: (material, point) sets point["growth"], the growth of the volume theta(F) of which the energy has
            lambda theta^2 / 2, and point["slope"], dtheta/dF. After it, other functions take point["growth"] as it
            stands there, which may be the mean of several elements (patches.py).
        add_energy: (material, point, energy_out) adds the energy per volume at rest, Psi(F) [J/m^3], shape [1].
        set_stress: (material, point) sets point["P"], dPsi/dF, the first Piola stress [Pa].
        set_derivative: (material, point, derivative_out) sets dP_ij/dF_kl, at [3 i + j, 3 k + l] [Pa]; where
            point["is_convex"] is not 0 without the part that is negative, so that no step of Newton's method climbs.
            Where material["is_averaged"] is not 0 without lambda dtheta/dF dtheta/dF, which is that of a patch.
    """

    name: str
    start: Callable[..., None] | None
    prepare: Callable[..., None] | None
    set_growth: Callable[..., None]
    add_energy: Callable[..., None]
    set_stress: Callable[..., None]
    set_derivative: Callable[..., None]
