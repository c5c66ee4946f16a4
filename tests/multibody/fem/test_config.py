"""What a deformable body is made of: its numbers, their ranges, scalar types and copies."""

import copy

import pytest

from merganser.framework.autodiff import AutoDiffXd
from merganser.multibody.fem import (
    DeformableBodyConfig,
    DeformableBodyConfig_,
    ForceDensityFieldBase,
    ForceDensityFieldBase_,
    ForceDensityType,
    MaterialModel,
)
from merganser.multibody.fem.config import lame_parameters


def test_a_body_is_of_hard_rubber_by_default():
    config = DeformableBodyConfig()
    assert (config.youngs_modulus(), config.poissons_ratio(), config.mass_density()) == (1e8, 0.49, 1.5e3)
    assert config.mass_damping_coefficient() == config.stiffness_damping_coefficient() == 0.0
    assert config.material_model() == MaterialModel.kLinearCorotated
    assert "kLinearCorotated" in repr(config) and "0.49" in repr(config)
    assert [int(model) for model in MaterialModel] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("setter", "values"),
    [
        ("set_youngs_modulus", (0.0, -1.0, float("nan"), float("inf"))),
        ("set_poissons_ratio", (0.5, -1.0, 0.7, float("nan"))),
        ("set_mass_density", (0.0, -3.0)),
        ("set_mass_damping_coefficient", (-1e-9, float("inf"))),
        ("set_stiffness_damping_coefficient", (-1.0, float("nan"))),
        ("set_relative_tolerance", (0.0, 1.0, -1e-4, float("nan"))),
    ],
)
def test_numbers_out_of_range_are_refused_and_change_nothing(setter, values):
    config = DeformableBodyConfig()
    for value in values:
        with pytest.raises(RuntimeError, match=f"{setter}.*must"):
            getattr(config, setter)(value)
    assert repr(config) == repr(DeformableBodyConfig())
    with pytest.raises(TypeError, match="takes a MaterialModel"):
        config.set_material_model(2)


def test_copies_are_their_own():
    config = DeformableBodyConfig()
    config.set_material_model(MaterialModel.kLinear)
    config.set_relative_tolerance(1e-4)
    for twin in (copy.copy(config), copy.deepcopy(config)):
        twin.set_youngs_modulus(youngs_modulus=2.0)
        assert (config.youngs_modulus(), twin.material_model()) == (1e8, MaterialModel.kLinear)
        assert twin.relative_tolerance() == 1e-4


def test_numbers_may_have_derivatives():
    config = DeformableBodyConfig_[AutoDiffXd]()
    config.set_youngs_modulus(AutoDiffXd(2.6, [1.0]))
    config.set_poissons_ratio(0.3)
    mu, second = lame_parameters(config)
    assert (mu.value(), second.value()) == (pytest.approx(1.0), pytest.approx(1.5))
    assert mu.derivatives() == pytest.approx([1.0 / 2.6])
    assert isinstance(config, DeformableBodyConfig_[AutoDiffXd])
    assert DeformableBodyConfig_[float] is DeformableBodyConfig
    with pytest.raises(RuntimeError, match="be positive"):
        config.set_youngs_modulus(AutoDiffXd(-2.6, [1.0]))


class Wind(ForceDensityFieldBase):
    def __init__(self, speed, density_type=ForceDensityType.kPerReferenceVolume):
        super().__init__(density_type)
        self.speed = speed

    def DoEvaluateAt(self, context, p_WQ):
        return [self.speed * p_WQ[2], 0.0, 0.0]


def test_force_density_fields_are_evaluated_and_cloned():
    wind = Wind(3.0)
    assert wind.EvaluateAt(None, [0.0, 0.0, 2.0]).tolist() == [6.0, 0.0, 0.0]
    assert wind.density_type() == ForceDensityType.kPerReferenceVolume
    for twin in (wind.Clone(), copy.copy(wind), copy.deepcopy(wind)):
        assert type(twin) is Wind and twin is not wind and twin.speed == 3.0
    assert [int(kind) for kind in ForceDensityType] == [0, 1]
    assert ForceDensityFieldBase_[float] is ForceDensityFieldBase
    with pytest.raises(RuntimeError, match=r"Wind.DoEvaluateAt.*three finite numbers"):
        Wind(float("nan")).EvaluateAt(None, [0.0, 0.0, 1.0])
    with pytest.raises(TypeError, match="takes a ForceDensityType"):
        Wind(1.0, 0)
