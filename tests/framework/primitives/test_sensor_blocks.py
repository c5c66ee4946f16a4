"""Rotary encoders and the beam model of range finders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder, RandomGenerator
from merganser.framework.primitives import AddRandomInputs, BeamModel, ConstantVectorSource, RotaryEncoders


def test_an_encoder_measures_whole_ticks_below_the_angle() -> None:
    encoders = RotaryEncoders([360, 4])
    context = encoders.CreateDefaultContext()
    encoders.get_input_port().FixValue(context, [math.radians(12.7), math.radians(-1.0)])
    assert encoders.get_output_port().Eval(context) == pytest.approx([math.radians(12.0), -0.5 * math.pi], abs=1e-12)
    encoders.set_calibration_offsets(context, [math.radians(2.0), math.radians(-95.0)])
    assert encoders.get_calibration_offsets(context) == pytest.approx([math.radians(2.0), math.radians(-95.0)])
    assert encoders.get_output_port().Eval(context) == pytest.approx([math.radians(10.0), 0.5 * math.pi], abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "at least one encoder"),
        (([100, 0],), "must be positive, got 0"),
        ((3, [3]), "3 elements, so none of index 3"),
        ((3, [-1]), "none of index -1"),
        ((3, [0, 1], [100]), "each of 2 encoders, got 1"),
    ],
)
def test_encoders_that_cannot_be_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RotaryEncoders(*arguments)


def test_beams_have_errors_as_often_as_their_probabilities_say() -> None:
    n, d_max, depth = 20_000, 10.0, 4.0
    builder = DiagramBuilder()
    source = builder.AddSystem(ConstantVectorSource(np.full(n, depth)))
    beams = builder.AddSystem(BeamModel(n, d_max))
    builder.Connect(source.get_output_port(), beams.get_depth_input_port())
    assert AddRandomInputs(0.1, builder) == 4
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.SetRandomContext(context, RandomGenerator(3))
    mine = beams.GetMyMutableContextFromRoot(context)
    params = beams.get_mutable_parameters(mine)
    params.SetFromVector([0.5, 0.1, 0.2, 0.1, 0.05])
    d = beams.get_output_port().Eval(mine)
    tolerance = 4.0 / math.sqrt(n)
    assert d.min() >= 0.0 and d.max() == d_max
    assert np.mean(d == d_max) == pytest.approx(0.1, abs=tolerance)
    hits = np.abs(d - depth) < 0.5
    assert d[hits].std() == pytest.approx(0.1, rel=0.3) and np.median(d[hits]) == pytest.approx(depth, abs=0.01)
    # In the way is what would be nearer than the hit: a part 1 - exp(-lambda depth) of p_short; the rest hits.
    near = 0.2 * (1.0 - math.exp(-0.5 * (depth - 0.5))) + 0.05 * (depth - 0.5) / d_max
    assert np.mean(d < depth - 0.5) == pytest.approx(near, abs=tolerance)
    beyond = 0.05 * (d_max - depth - 0.5) / d_max
    assert np.mean((d > depth + 0.5) & (d < d_max)) == pytest.approx(beyond, abs=tolerance)


def test_beams_without_errors_measure_depths_up_to_the_range() -> None:
    beams = BeamModel(3, 2.0)
    context = beams.CreateDefaultContext()
    beams.get_depth_input_port().FixValue(context, [1.5, 2.5, 0.0])
    for port, value in (
        (beams.get_event_random_input_port(), 0.5),
        (beams.get_hit_random_input_port(), 3.0),
        (beams.get_short_random_input_port(), 0.1),
        (beams.get_uniform_random_input_port(), 0.2),
    ):
        port.FixValue(context, [value] * 3)
    assert beams.get_output_port().Eval(context).tolist() == [1.5, 2.0, 0.0] and beams.max_range() == 2.0
    for wrong in (0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="max_range must be positive"):
            BeamModel(1, wrong)
    with pytest.raises(ValueError, match="num_depth_readings"):
        BeamModel(0, 1.0)
