"""Transfer functions, zeros and poles, filters, and systems of other libraries: their responses are those of scipy."""

import numpy as np
import pytest
import scipy.signal

from merganser.analysis.frequency import FrequencyResponse
from merganser.framework.primitives import LinearSystem, SignalFilter, StateSpace, TransferFunction, ZeroPole

OMEGA = np.geomspace(1e-2, 1e2, 40)


def response(system, omega=OMEGA):
    return FrequencyResponse(system, omega=omega).response


def polynomial(num, den, omega=OMEGA):
    return np.polyval(num, 1j * omega) / np.polyval(den, 1j * omega)


def test_transfer_functions_with_and_without_feedthrough():
    for num, den in (([2.0], [1.0, 0.4, 4.0]), ([3.0, 1.0, 5.0], [2.0, 0.5, 7.0]), ([0.0, 0.0, 4.0], [2.0])):
        system = TransferFunction(num, den)
        assert system.num_states() == len(den) - 1
        np.testing.assert_allclose(response(system)[0, 0], polynomial(num, den), rtol=1e-12)


def test_a_matrix_of_transfer_functions():
    num = [[[1.0], [2.0, 1.0]], [[0.0], [3.0]], [[1.0, 0.0], [5.0]]]
    den = [[[1.0, 1.0], [1.0, 2.0]], [[1.0], [1.0, 0.1, 9.0]], [[1.0, 4.0], [2.0]]]
    found = response(TransferFunction(num, den))
    assert found.shape == (3, 2, len(OMEGA))
    for i in range(3):
        for j in range(2):
            np.testing.assert_allclose(found[i, j], polynomial(num[i][j], den[i][j]), rtol=1e-11, atol=1e-15)
    shared = response(TransferFunction([[[1.0], [2.0]]], [1.0, 3.0]))
    np.testing.assert_allclose(shared[0, 1], polynomial([2.0], [1.0, 3.0]), rtol=1e-12)


def test_discrete_transfer_functions():
    num, den, T = [0.2, 0.1], [1.0, -1.5, 0.7], 0.05
    omega = np.linspace(0.1, np.pi / T, 20)
    z = np.exp(1j * omega * T)
    found = response(TransferFunction(num, den, T), omega)[0, 0]
    np.testing.assert_allclose(found, np.polyval(num, z) / np.polyval(den, z), rtol=1e-11)


@pytest.mark.parametrize(
    ("zeros", "poles"),
    [
        ([], [-1.0]),
        ([-2.0 + 3.0j, -2.0 - 3.0j], [-1.0, -2.0, -300.0]),  # complex zeros over real poles
        ([-1.0, 5.0, -0.1 + 2.0j, -0.1 - 2.0j], [-1.0, -1.0, -3.0 + 1.0j, -3.0 - 1.0j, -40.0]),
        ([1.0 + 1.0j, 1.0 - 1.0j] * 2, [-1.0, -2.0, -3.0, -4.0]),
        ([-1e5, -2e5], [-1e-3, -1e6]),
    ],
)
def test_zeros_and_poles(zeros, poles):
    expected = scipy.signal.freqs_zpk(zeros, poles, 2.5, OMEGA)[1]
    found = response(ZeroPole(zeros, poles, 2.5))[0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


DESIGNS = {
    "butterworth": (scipy.signal.butter, {}),
    "bessel": (scipy.signal.bessel, {"norm": "mag"}),
    "chebyshev1": (scipy.signal.cheby1, {"rp": 1.0}),
    "chebyshev2": (scipy.signal.cheby2, {"rs": 40.0}),
    "elliptic": (scipy.signal.ellip, {"rp": 1.0, "rs": 40.0}),
}
BANDS = {"lowpass": 3.0, "highpass": 3.0, "bandpass": [1.0, 5.0], "bandstop": [1.0, 5.0]}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("period", [0.0, 0.02])
def test_filters_of_high_order_keep_their_shape(design, band, period):
    (make, more), omega = DESIGNS[design], np.geomspace(0.1, 50.0, 50)
    rate = 2.0 * np.pi / period if period else None
    where = {"fs": rate} if period else {"analog": True}
    zpk = make(6, Wn=BANDS[band], btype=band, output="zpk", **more, **where)
    exact = scipy.signal.freqz_zpk(*zpk, omega, fs=rate) if period else scipy.signal.freqs_zpk(*zpk, omega)
    found = response(SignalFilter(6, BANDS[band], design, band, time_period=period), omega)[0, 0]
    np.testing.assert_allclose(found, exact[1], atol=1e-8)


def test_a_filter_of_several_signals():
    found = response(SignalFilter(2, 5.0, size=3))
    one = response(SignalFilter(2, 5.0))[0, 0]
    for i in range(3):
        for j in range(3):
            np.testing.assert_allclose(found[i, j], one if i == j else 0.0 * one, atol=1e-14)
    assert abs(response(SignalFilter(3, 5.0), np.array([5.0]))[0, 0, 0]) == pytest.approx(np.sqrt(0.5), rel=1e-12)


def test_systems_of_scipy_and_python_control():
    expected = polynomial([2.0, 1.0], [1.0, 3.0, 5.0])
    objects = [
        scipy.signal.TransferFunction([2.0, 1.0], [1.0, 3.0, 5.0]),
        scipy.signal.TransferFunction([2.0, 1.0], [1.0, 3.0, 5.0]).to_ss(),
        scipy.signal.TransferFunction([2.0, 1.0], [1.0, 3.0, 5.0]).to_zpk(),
        TransferFunction([2.0, 1.0], [1.0, 3.0, 5.0]),
    ]
    for system in objects:
        np.testing.assert_allclose(response(StateSpace(system))[0, 0], expected, rtol=1e-11)
    discrete = StateSpace(scipy.signal.dlti([1.0], [1.0, -0.5], dt=0.1))
    assert discrete.time_period() == 0.1
    control = pytest.importorskip("control")
    for system in (control.tf([2.0, 1.0], [1.0, 3.0, 5.0]), control.tf2ss([2.0, 1.0], [1.0, 3.0, 5.0])):
        np.testing.assert_allclose(response(StateSpace(system))[0, 0], expected, rtol=1e-11)
    wide = control.tf([[[1.0], [2.0]], [[3.0], [4.0]]], [[[1.0, 1.0], [1.0, 2.0]], [[1.0, 3.0], [1.0, 4.0]]])
    np.testing.assert_allclose(response(StateSpace(wide))[1, 0], polynomial([3.0], [1.0, 3.0]), rtol=1e-12)
    with pytest.raises(ValueError, match="discrete without a period"):
        StateSpace(control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], True))


def test_what_cannot_be_realized_is_refused():
    with pytest.raises(ValueError, match=r"num\[0\]\[0\] has the degree 2, above that of the denominator, 1"):
        TransferFunction([1.0, 0.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"denominator den.* is zero"):
        TransferFunction([1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="must have as many rows and columns"):
        TransferFunction([[[1.0], [2.0]]], [[[1.0]]])
    with pytest.raises(ValueError, match="2 zeros and 1 poles"):
        ZeroPole([-1.0, -2.0], [-3.0])
    with pytest.raises(ValueError, match=r"poles: the complex root .* has no conjugate"):
        ZeroPole([], [-1.0 + 1.0j])
    with pytest.raises(ValueError, match="design must be one of"):
        SignalFilter(2, 1.0, "butter")
    with pytest.raises(ValueError, match=r"takes 2 ascending cutoff between 0 and 314\.159 rad/s; got"):
        SignalFilter(2, [5.0, 1.0], band="bandpass", time_period=0.01)
    with pytest.raises(TypeError, match="expected an object with A, B, C, D"):
        StateSpace([1.0])


def test_it_is_a_linear_system_of_its_period():
    system = TransferFunction([1.0], [1.0, 0.5], 0.1)
    assert isinstance(system, LinearSystem) and system.time_period() == 0.1
