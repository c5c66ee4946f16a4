"""WienerProcess, WhiteNoise and BandLimitedWhiteNoise as blocks."""

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, RandomGenerator
from merganser.framework.native.operations.brownian_motion import brownian_motion
from merganser.framework.primitives import (
    BandLimitedWhiteNoise,
    Integrator,
    Linearize,
    LogVectorOutput,
    TransferFunction,
    WhiteNoise,
    WienerProcess,
)


def value_at(block, time, context=None):
    context = block.CreateDefaultContext() if context is None else context
    context.SetTime(time)
    return block.get_output_port().Eval(context)


def filtered(source, step, end=1.0):
    """What a low pass gives for a source, and its log."""
    builder = DiagramBuilder()
    builder.AddNamedSystem("source", source)
    low_pass = builder.AddNamedSystem("filter", TransferFunction([1.0], [0.1, 1.0]))
    builder.Connect("source", "filter")
    log = LogVectorOutput(low_pass.get_output_port(), builder)
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_maximum_step_size(step)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.AdvanceTo(end)
    return simulator, log.FindLog(simulator.get_context()).data()[0]


def test_the_path_is_a_function_of_seed_and_time():
    block = WienerProcess([1.0, 4.0], seed=5)
    expected = [brownian_motion(5.0, 0, 1.3), 2.0 * brownian_motion(5.0, 1, 1.3)]
    context = block.CreateDefaultContext()
    for time in (1.3, 0.2, 7.0, 1.3):
        found = value_at(block, time, context)
    assert found.tolist() == expected


def test_seeds_of_blocks_differ_and_random_contexts_draw_others():
    blocks = [WienerProcess(), WienerProcess(), WienerProcess(seed=3), WienerProcess(seed=3)]
    one, other, third, fourth = (value_at(block, 1.0)[0] for block in blocks)
    assert one != other
    assert third == fourth
    for block, changes in ((blocks[0], True), (blocks[2], False)):
        context = block.CreateDefaultContext()
        block.SetRandomContext(context, RandomGenerator(11))
        assert (value_at(block, 1.0, context)[0] != value_at(block, 1.0)[0]) == changes


def test_a_simulation_in_parts_and_from_a_saved_context_has_the_same_noise(tmp_path):
    whole, log = filtered(WienerProcess(seed=4), 0.0625)
    part, _ = filtered(WienerProcess(seed=4), 0.0625, 0.5)
    other = Simulator(part.get_system(), part.get_context().Clone())
    other.get_mutable_integrator().set_maximum_step_size(0.0625)
    other.get_mutable_integrator().set_fixed_step_mode(True)
    other.AdvanceTo(1.0)
    state = [s.get_context().get_continuous_state_vector().CopyToVector() for s in (whole, other)]
    assert state[0].tolist() == state[1].tolist()
    assert len(log) == 17


def test_band_limited_noise_integrates_to_the_same_path_for_all_periods():
    for period in (0.25, 0.125, 1.0 / 64.0):
        builder = DiagramBuilder()
        builder.AddNamedSystem("noise", BandLimitedWhiteNoise(4.0, period, seed=9))
        integral = builder.AddNamedSystem("integral", Integrator(1))
        builder.Connect("noise", "integral")
        simulator = Simulator(builder.Build())
        simulator.AdvanceTo(2.0)
        found = integral.GetMyContextFromRoot(simulator.get_context()).get_continuous_state_vector().CopyToVector()
        assert found[0] == pytest.approx(2.0 * brownian_motion(9.0, 0, 2.0), abs=1e-12)


def test_the_variance_of_band_limited_noise_is_density_over_period():
    block = BandLimitedWhiteNoise(3.0, 0.01, size=20, seed=1)
    builder = DiagramBuilder()
    noise = builder.AddSystem(block)
    log = LogVectorOutput(noise.get_output_port(), builder, 0.01)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(2.0)
    values = log.FindLog(simulator.get_context()).data()[:, 1:]
    assert values.var() == pytest.approx(300.0, rel=0.05)
    assert abs(values.mean()) < 5.0 * np.sqrt(300.0 / values.size)


def test_white_noise_is_zero_outside_of_steps():
    builder = DiagramBuilder()
    builder.AddNamedSystem("noise", WhiteNoise(2.0, seed=1))
    builder.AddNamedSystem("filter", TransferFunction([1.0], [0.1, 1.0]))
    builder.Connect("noise", "filter")
    builder.ExportOutput("filter")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    assert diagram.EvalTimeDerivatives(context).CopyToVector().tolist() == [0.0]
    np.testing.assert_allclose(Linearize(diagram, context).A(), [[-10.0]])


def band_limited(density, **more):
    return BandLimitedWhiteNoise(density, 0.1, **more)


@pytest.mark.parametrize("block", [WienerProcess, WhiteNoise, band_limited])
def test_wrong_arguments_are_refused_by_name(block):
    with pytest.raises(ValueError, match="spectral_density must be finite and not negative"):
        block(-1.0)
    with pytest.raises(ValueError, match="spectral_density"):
        block(float("nan"))
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        block(1.0, seed=-1)
    with pytest.raises(ValueError, match="spectral_density has 2 elements, expected 3"):
        block([1.0, 2.0], size=3)
