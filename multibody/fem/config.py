"""What a deformable body is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.core.scalars.scalars import cast, numeric_scalars
from merganser.framework.core.scalars.templates import ValueTemplate
from merganser.multibody.fem.materials.kind import MOST_CONSTANTS, MaterialKind


class MaterialModel(Enumeration):
    """How stress follows from strain, see multibody/fem/README.md."""

    kLinearCorotated = 0  # linear for each step, seen from the rotation of an element before it
    kCorotated = 1  # fixed corotated: linear in principal stretches
    kNeoHookean = 2  # for large strains
    kLinear = 3  # for small strains and rotations


class DeformableBodyConfig:
    """The material of a deformable body: by default about that of hard rubber, without damping.

    Numbers are floats, of a `DeformableBodyConfig_[AutoDiffXd]` AutoDiffXd. Forces of damping are those of Rayleigh,
    -(a M + b K) v, with the mass damping a, the stiffness damping b, and the mass and stiffness matrices M and K.

    Raises:
        RuntimeError: of all setters: a number is not finite or out of its range.
    """

    _constants: tuple[float, ...] = ()  # of the kind of material; pickles of old have none
    _tolerance = 1e-10

    def __init__(self) -> None:
        self._material_model: MaterialModel | MaterialKind = MaterialModel.kLinearCorotated
        # Young's modulus, Poisson's ratio, mass and stiffness damping, density
        self._numbers: list[Any] = [1e8, 0.49, 0.0, 0.0, 1.5e3]
        self._scalar: type[Any] = float
        self._averages_volume = False

    def set_youngs_modulus(self, youngs_modulus: float) -> None:
        """Sets the stiffness [Pa]: positive; 1e8 by default."""
        self._set(0, "set_youngs_modulus", youngs_modulus, "be positive", lambda value: value > 0.0)

    def set_poissons_ratio(self, poissons_ratio: float) -> None:
        """Sets how much a bar that is stretched gets thinner, between -1 and 0.5 (volume kept); 0.49 by default."""
        requirement = "lie between -1 and 0.5, where no volume could change. Take 0.49 for one that hardly does"
        self._set(1, "set_poissons_ratio", poissons_ratio, requirement, lambda value: -1.0 < value < 0.5)

    def set_mass_damping_coefficient(self, mass_damping_coefficient: float) -> None:
        """Sets the damping of all motion [1/s]: not negative; 0 by default."""
        self._set(2, "set_mass_damping_coefficient", mass_damping_coefficient, *_NOT_NEGATIVE)

    def set_stiffness_damping_coefficient(self, stiffness_damping_coefficient: float) -> None:
        """Sets the damping of deformation [s]: not negative; 0 by default."""
        self._set(3, "set_stiffness_damping_coefficient", stiffness_damping_coefficient, *_NOT_NEGATIVE)

    def set_mass_density(self, mass_density: float) -> None:
        """Sets the density at rest [kg/m³]: positive; 1500 by default."""
        self._set(4, "set_mass_density", mass_density, "be positive", lambda value: value > 0.0)

    def set_material_model(
        self, material_model: MaterialModel | MaterialKind, constants: Sequence[float] = ()
    ) -> None:
        """Sets how stress follows from strain; MaterialModel.kLinearCorotated by default.

        Args:
            material_model: one of these, or a kind of your own (docs/extend/material.md), which pydrake does not take.
            constants: numbers of the kind beside those of all materials, up to 8.

        Raises:
            TypeError: it is no MaterialModel and no MaterialKind.
            RuntimeError: there are too many numbers, or one is not finite.
        """
        if not isinstance(material_model, MaterialModel | MaterialKind):
            raise TypeError(
                "DeformableBodyConfig.set_material_model() takes a MaterialModel or a MaterialKind; given "
                f"{material_model!r}."
            )
        numbers = tuple(map(float, constants))
        if len(numbers) > MOST_CONSTANTS or not all(map(math.isfinite, numbers)):
            raise RuntimeError(
                f"DeformableBodyConfig.set_material_model() takes up to {MOST_CONSTANTS} finite constants; given "
                f"{list(numbers)}."
            )
        self._material_model, self._constants = material_model, numbers

    def set_averages_volume(self, averages_volume: bool) -> None:
        """Sets whether elements change their volume together with their neighbours; False by default.

        So bodies that hardly change their volume bend as they should, with few elements, and pressures are smooth: take
        it for Poisson's ratios above 0.4. It costs more time in each step, see multibody/fem/README.md. (pydrake has no
        such thing.)
        """
        self._averages_volume = bool(averages_volume)

    def set_relative_tolerance(self, relative_tolerance: float) -> None:
        """Sets how exact steps are: forces that are left, relative to those in balance; 1e-10 by default.

        Newton's method ends there. With 1e-4, steps of kCorotated and kNeoHookean take a quarter of the time; with
        linear materials one iteration is exact. Derivatives of steps need small ones. (pydrake has no such thing; its
        steps are like ours with about 1e-4.)

        Raises:
            RuntimeError: it does not lie between 0 and 1.
        """
        tolerance = float(relative_tolerance)
        if not 0.0 < tolerance < 1.0:
            raise RuntimeError(
                f"DeformableBodyConfig.set_relative_tolerance({tolerance:g}): the number must lie between 0 and 1."
            )
        self._tolerance = tolerance

    def _set(self, place: int, name: str, value: Any, requirement: str, is_fine: Callable[[float], bool]) -> None:
        number = cast(value, self._scalar)
        plain = float(cast(number, float))
        if not (math.isfinite(plain) and is_fine(plain)):
            raise RuntimeError(f"DeformableBodyConfig.{name}({plain:g}): the number must {requirement}.")
        self._numbers[place] = number

    def youngs_modulus(self) -> Any:
        """Young's modulus [Pa]."""
        return self._numbers[0]

    def poissons_ratio(self) -> Any:
        """Poisson's ratio."""
        return self._numbers[1]

    def mass_damping_coefficient(self) -> Any:
        """The damping of all motion [1/s]."""
        return self._numbers[2]

    def stiffness_damping_coefficient(self) -> Any:
        """The damping of deformation [s]."""
        return self._numbers[3]

    def mass_density(self) -> Any:
        """The density at rest [kg/m³]."""
        return self._numbers[4]

    def material_model(self) -> MaterialModel | MaterialKind:
        """How stress follows from strain."""
        return self._material_model

    def constants(self) -> tuple[float, ...]:
        """The numbers that the kind of material has beside those of all materials."""
        return self._constants

    def averages_volume(self) -> bool:
        """Whether elements change their volume together with their neighbours."""
        return self._averages_volume

    def relative_tolerance(self) -> float:
        """How exact steps are: forces that are left, relative to those in balance."""
        return self._tolerance

    def __copy__(self) -> DeformableBodyConfig:
        return self._cast(self._scalar)

    def __deepcopy__(self, memo: Any) -> DeformableBodyConfig:
        return self._cast(self._scalar)

    def __repr__(self) -> str:
        E, nu, a, b, density = self._numbers
        return (
            f"<DeformableBodyConfig {self._material_model.name}, E = {E} Pa, nu = {nu}, density = {density} kg/m³, "
            f"damping {a} 1/s and {b} s{', mean volumes' if self._averages_volume else ''}>"
        )

    def _scalar_type(self) -> Any:
        return self._scalar

    def _cast(self, T: Any) -> DeformableBodyConfig:
        copy = DeformableBodyConfig()
        copy._material_model, copy._constants, copy._scalar = self._material_model, self._constants, T
        copy._averages_volume, copy._tolerance = self._averages_volume, self._tolerance
        copy._numbers = [cast(number, T) for number in self._numbers]
        return copy


_NOT_NEGATIVE: tuple[str, Callable[[float], bool]] = ("not be negative", lambda value: value >= 0.0)


def lame_parameters(config: DeformableBodyConfig) -> tuple[Any, Any]:
    """Lamé's parameters mu = E / (2 (1 + nu)) and lambda = E nu / ((1 + nu) (1 - 2 nu)) of a material [Pa]."""
    E, nu = config.youngs_modulus(), config.poissons_ratio()
    return E / (2.0 * (1.0 + nu)), E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))


DeformableBodyConfig_ = ValueTemplate(DeformableBodyConfig, numeric_scalars)
