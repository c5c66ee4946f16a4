"""Damping, zeros, margins and figures of step responses against closed forms; plots against their data."""

import numpy as np
import pytest

from merganser.analysis.frequency import (
    BodePlot,
    Damp,
    FrequencyResponse,
    Margins,
    NicholsPlot,
    NyquistPlot,
    RootLocusPlot,
    StepInfo,
    Zeros,
    to_control,
)
from merganser.framework.primitives import LinearSystem, TransferFunction


def oscillator(omega=2.0, damping=0.1):
    """omega^2 / (s^2 + 2 damping omega s + omega^2)."""
    A = [[0.0, 1.0], [-(omega**2), -2.0 * damping * omega]]
    return LinearSystem(A, [[0.0], [omega**2]], [[1.0, 0.0]], [[0.0]])


def third_order(gain=10.0):
    """gain / (s (s + 1) (s + 5))."""
    A = [[0.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, -5.0]]
    return LinearSystem(A, [[0.0], [0.0], [gain]], [[1.0, 0.0, 0.0]], [[0.0]])


def test_a_second_order_system_in_closed_form():
    omega = np.geomspace(1e-3, 1e3, 200)
    data = FrequencyResponse(oscillator(), omega=omega)
    expected = 4.0 / (4.0 - omega**2 + 0.4j * omega)
    np.testing.assert_allclose(data.response[0, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(data.decibels()[0, 0], 20.0 * np.log10(np.abs(expected)), atol=1e-10)
    assert data.phase()[0, 0][-1] == pytest.approx(-np.pi, abs=1e-3)  # without a jump at -pi


def test_several_inputs_and_outputs():
    rng = np.random.default_rng(3)
    A, B, C, D = rng.normal(size=(4, 4)), rng.normal(size=(4, 2)), rng.normal(size=(3, 4)), rng.normal(size=(3, 2))
    omega = np.geomspace(0.1, 10.0, 7)
    found = FrequencyResponse(LinearSystem(A, B, C, D), omega=omega).response
    for k, w in enumerate(omega):
        np.testing.assert_allclose(found[:, :, k], C @ np.linalg.solve(1j * w * np.eye(4) - A, B) + D, rtol=1e-9)


def test_a_gain_without_state_and_a_pole_on_the_axis():
    assert FrequencyResponse(LinearSystem(D=[[3.0]]), omega=[0.0, 5.0]).response.ravel().tolist() == [3.0, 3.0]
    integrator = LinearSystem([[0.0]], [[1.0]], [[1.0]], [[0.0]])
    assert np.isinf(FrequencyResponse(integrator, omega=[0.0]).response[0, 0, 0])


def test_damping_and_natural_frequency():
    for mode in Damp(oscillator(3.0, 0.25)):
        assert mode.natural_frequency == pytest.approx(3.0, rel=1e-12)
        assert mode.damping == pytest.approx(0.25, rel=1e-12)
    T, s = 0.1, -1.0 + 2.0j
    z = np.exp(s * T)
    A = [[z.real, z.imag], [-z.imag, z.real]]
    for mode in Damp(LinearSystem(A, np.ones((2, 1)), np.ones((1, 2)), [[0.0]], time_period=T)):
        assert mode.natural_frequency == pytest.approx(abs(s), rel=1e-12)
        assert mode.damping == pytest.approx(1.0 / abs(s), rel=1e-12)
    (grows,) = Damp(LinearSystem([[2.0]], [[1.0]], [[1.0]], [[0.0]]))
    assert grows.damping == -1.0


def test_zeros():
    # (s - 3) (s + 4) / (s + 1)^3
    A = [[-3.0, -3.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    system = LinearSystem(A, [[1.0], [0.0], [0.0]], [[1.0, 1.0, -12.0]], [[0.0]])
    np.testing.assert_allclose(Zeros(system), [-4.0, 3.0], atol=1e-9)
    assert len(Zeros(oscillator())) == 0
    with pytest.raises(ValueError, match="as many inputs as outputs"):
        Zeros(LinearSystem(D=[[1.0, 2.0]]))


def test_margins_of_a_third_order_loop():
    margins = Margins(third_order())
    assert margins.gain_margin == pytest.approx(3.0, rel=1e-9)  # 30 / 10
    assert margins.phase_crossover == pytest.approx(np.sqrt(5.0), rel=1e-9)
    w = margins.gain_crossover
    L = 10.0 / (1j * w * (1j * w + 1.0) * (1j * w + 5.0))
    assert abs(L) == pytest.approx(1.0, rel=1e-9)
    assert margins.phase_margin == pytest.approx(np.pi + np.angle(L), rel=1e-9)
    assert margins.delay_margin == pytest.approx(margins.phase_margin / w, rel=1e-12)
    at_the_edge = third_order(10.0 * margins.gain_margin)
    closed = at_the_edge.A() - at_the_edge.B() @ at_the_edge.C()
    assert np.linalg.eigvals(closed).real.max() == pytest.approx(0.0, abs=1e-8)
    with pytest.raises(ValueError, match="one input and one output; this one has 2 and 1"):
        Margins(LinearSystem(D=[[1.0, 2.0]]))


def test_a_phase_margin_below_zero_is_a_delay_of_the_rest_of_a_turn():
    margins = Margins(third_order(60.0))  # twice what the loop bears
    w = margins.gain_crossover
    assert w * np.hypot(1.0, w) * np.hypot(5.0, w) == pytest.approx(60.0, rel=1e-9)
    lag = np.pi / 2.0 + np.arctan(w) + np.arctan(w / 5.0)
    assert margins.phase_margin == pytest.approx(np.pi - lag, rel=1e-9)
    assert margins.phase_margin < 0.0
    assert margins.delay_margin == pytest.approx((3.0 * np.pi - lag) / w, rel=1e-9)


def test_margins_agree_with_python_control():
    control = pytest.importorskip("control")
    rng = np.random.default_rng(5)
    for _ in range(10):
        swinging = -rng.uniform(0.1, 1.0) + np.array([1j, -1j]) * rng.uniform(1.0, 5.0)
        den = np.real(np.poly([*-rng.uniform(0.1, 10.0, 2), *swinging]))
        system = TransferFunction([rng.uniform(10.0, 100.0)], den)
        gain, phase, modulus, *_ = control.stability_margins(to_control(system))
        found = Margins(system)
        assert found.gain_margin == pytest.approx(gain, rel=1e-6)
        assert np.rad2deg(found.phase_margin) == pytest.approx(phase, rel=1e-6)
        assert found.modulus_margin == pytest.approx(min(modulus, 1.0), rel=1e-4)  # it is 1 at high frequencies


def test_a_loop_that_never_crosses_over_has_no_limits():
    margins = Margins(LinearSystem([[-1.0]], [[1.0]], [[0.5]], [[0.0]]))
    assert margins.gain_margin == margins.phase_margin == margins.delay_margin == np.inf
    assert margins.modulus_margin == pytest.approx(1.0, abs=1e-3)


def test_a_resonance_between_two_frequencies_of_the_grid_counts():
    system = TransferFunction([1e-3], [1.0, 2e-6 * 7.3, 7.3**2])  # a peak of 1e-3 / (2 zeta omega^2), 1e-6 wide
    margins = Margins(system)
    assert abs(margins.gain_crossover - 7.3) < 1e-3
    with_phase = 1e-3 / (7.3**2 - margins.gain_crossover**2 + 2e-6j * 7.3 * margins.gain_crossover)
    assert margins.phase_margin == pytest.approx(np.angle(-with_phase), rel=1e-6)


def test_figures_of_a_step_response():
    pytest.importorskip("control")
    zeta, omega = 0.3, 2.0
    t = np.linspace(0.0, 20.0, 20_001)
    wd = omega * np.sqrt(1.0 - zeta**2)
    y = 1.0 - np.exp(-zeta * omega * t) * (np.cos(wd * t) + zeta * omega / wd * np.sin(wd * t))
    info = StepInfo(t + 1.0, y, final_value=1.0)
    assert info.overshoot == pytest.approx(np.exp(-zeta * np.pi / np.sqrt(1.0 - zeta**2)), rel=1e-5)
    assert info.peak_time == pytest.approx(1.0 + np.pi / wd, abs=2e-3)
    with pytest.raises(ValueError, match="two vectors of one size"):
        StepInfo(t, y[:-1])


def test_python_control_gets_the_same_system():
    control = pytest.importorskip("control")
    omega = np.geomspace(0.1, 10.0, 5)
    theirs = control.frequency_response(to_control(third_order()), omega).complex
    np.testing.assert_allclose(FrequencyResponse(third_order(), omega=omega).response[0, 0], theirs, rtol=1e-10)
    assert to_control(LinearSystem([[0.5]], [[1.0]], [[1.0]], [[0.0]], time_period=0.1)).dt == 0.1


def test_plots_show_the_data():
    data = FrequencyResponse(third_order())
    amplitude, phase = BodePlot(data, label="servo")
    np.testing.assert_array_equal(amplitude.lines[0].get_ydata(), data.decibels()[0, 0])
    np.testing.assert_allclose(phase.lines[0].get_ydata(), np.rad2deg(data.phase()[0, 0]))
    assert amplitude.get_legend().get_texts()[0].get_text() == "servo"
    np.testing.assert_array_equal(NyquistPlot(data).lines[0].get_xdata(), data.response[0, 0].real)
    np.testing.assert_array_equal(NicholsPlot(data).lines[0].get_ydata(), data.decibels()[0, 0])
    assert len(BodePlot(LinearSystem(D=[[1.0, 2.0]]))[0].lines) == 2


def test_a_root_locus_begins_at_the_poles_and_crosses_the_axis_at_the_gain_margin():
    axes = RootLocusPlot(third_order(1.0), gains=[30.0])
    ends = np.array([line.get_xdata()[-1] + 1j * line.get_ydata()[-1] for line in axes.lines[:3]])
    np.testing.assert_allclose(np.sort_complex(ends), [-6.0, -np.sqrt(5.0) * 1j, np.sqrt(5.0) * 1j], atol=1e-9)
    starts = sorted(line.get_xdata()[0] for line in axes.lines[:3])
    np.testing.assert_allclose(starts, [-5.0, -1.0, 0.0], atol=1e-12)
