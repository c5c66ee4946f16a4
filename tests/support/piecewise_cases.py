"""Expected results of blocks with corners, of tables, and of signals of time, in plain numpy: one entry each."""

from __future__ import annotations

import numpy as np
from block_case import Case

from merganser.framework.native.operations.brownian_motion import brownian_motion


def by_real(condition, a, b):
    """a where a condition on real parts holds, else b."""
    return np.where(condition, a, b)


def limited(u, x):
    """A rate limiter at 0.7 s: start and time of the memory are x."""
    high, low = x[:2] + 0.5 * (0.7 - x[2:]), x[:2] - 0.8 * (0.7 - x[2:])
    return [by_real(u[0].real > high.real, high, by_real(u[0].real < low.real, low, u[0]))]


def clamped(u, x):
    high, low = u[0] + 0.2, u[0] - 0.2
    return [by_real(x.real > high.real, high, by_real(x.real < low.real, low, x))]


def relayed(u, x):
    is_on = by_real(u[0].real >= 0.3, 1.0, by_real(u[0].real <= -0.4, 0.0, x.real)) > 0.5
    return [by_real(is_on, 2.0, -1.0) + 0.0 * u[0]]


def with_samples(x):
    """The memory of a delay with two samples, at 0.1 and 0.4 s."""
    x = np.array(x)
    x[0], x[1], x[6] = 2.0, 0.1, 0.4
    return x


def past_of(x):
    """What that delay of 0.5 s gives at 0.7 s: the cubic between both samples at 0.2 s, in Hermite's form."""
    h, s = x[6] - x[1], (0.2 - x[1]) / (x[6] - x[1])
    u0, slope0, u1, slope1 = x[2:4], x[4:6], x[7:9], x[9:11]
    values = (1.0 + 2.0 * s) * (1.0 - s) ** 2 * u0 + s * s * (3.0 - 2.0 * s) * u1
    return values + h * (s * (1.0 - s) ** 2 * slope0 - s * s * (1.0 - s) * slope1)


def piecewise_cases():
    """Blocks with corners and jumps, tables, and signals of time."""
    one, feeds = {"u0": 2}, [(0, 0)]

    def of_two(make, calc, **more):
        return Case(make, one, {"y0": 2}, feeds, lambda u, x: [calc(u[0]) + 0.0 * u[0]], **more)

    def of_time(make, value, size=1, **more):
        return Case(make, {}, {"y0": size}, [], lambda u, x: [np.array(value)], time=0.7, **more)

    def by_memory(make, calc, num_discrete, **more):
        return Case(make, one, {"y0": 2}, feeds, calc, num_discrete=num_discrete, **more)

    pair = {"u0": 2, "u1": 2}
    table = {"is_complex": False, "without": ("Expression",)}
    points = [-9.0, 0.0, 9.0]
    return {
        "DeadZone": of_two(
            lambda b: b.DeadZone([-0.3, -0.5], [0.4, 0.2]),
            lambda u: by_real(u.real > [0.4, 0.2], u - [0.4, 0.2], by_real(u.real < [-0.3, -0.5], u + [0.3, 0.5], 0.0)),
        ),
        "Abs": of_two(lambda b: b.Abs(2), lambda u: by_real(u.real < 0.0, -u, u)),
        "Sign": of_two(lambda b: b.Sign(2), lambda u: np.sign(u.real)),
        "CoulombViscousFriction": of_two(
            lambda b: b.CoulombViscousFriction([0.5, 1.0], 2.0), lambda u: np.sign(u.real) * [0.5, 1.0] + 2.0 * u
        ),
        "CompareToConstant": of_two(
            lambda b: b.CompareToConstant([0.1, -0.2], "<"), lambda u: 1.0 * (u.real < [0.1, -0.2])
        ),
        "Quantizer": of_two(
            lambda b: b.Quantizer([0.5, 0.01]), lambda u: np.array([0.5, 0.01]) * np.floor(u.real / [0.5, 0.01] + 0.5)
        ),
        "MinMax": Case(
            lambda b: b.MinMax("min", 2, 2),
            pair,
            {"y0": 2},
            [(0, 0), (1, 0)],
            lambda u, x: [by_real(u[0].real <= u[1].real, u[0], u[1])],
        ),
        "MinMax for a maximum": Case(
            lambda b: b.MinMax("max", 2, 2),
            pair,
            {"y0": 2},
            [(0, 0), (1, 0)],
            lambda u, x: [by_real(u[0].real >= u[1].real, u[0], u[1])],
        ),
        "Switch": Case(
            lambda b: b.Switch(0.2, 2),
            {"control": 1, **pair},
            {"y0": 2},
            [(0, 0), (1, 0), (2, 0)],
            lambda u, x: [u[1] if u[0][0].real >= 0.2 else u[2]],
        ),
        "MultiportSwitch": Case(
            lambda b: b.MultiportSwitch(2, 2),
            {"control": 1, **pair},
            {"y0": 2},
            [(0, 0), (1, 0), (2, 0)],
            lambda u, x: [u[1] if u[0][0].real < 0.5 else u[2]],
        ),
        "LogicalOperator": Case(
            lambda b: b.LogicalOperator("nand", 2, 2),
            pair,
            {"y0": 2},
            [(0, 0), (1, 0)],
            lambda u, x: [1.0 - (u[0].real > 0.5) * (u[1].real > 0.5)],
        ),
        "Relay": by_memory(lambda b: b.Relay(0.3, -0.4, 2.0, [-1.0, -1.0]), relayed, 2, defaults=[0.0, 0.0]),
        "Hysteresis": by_memory(
            lambda b: b.Hysteresis([-1e9, -1e9], 1e9, is_high=True),
            lambda u, x: [1.0 * (x.real > 0.5) + 0.0 * u[0]],
            2,
            defaults=[1.0, 1.0],
        ),
        "Backlash": by_memory(lambda b: b.Backlash(0.4, [0.0, 0.1]), clamped, 2, defaults=[0.0, 0.1]),
        "RateLimiter": by_memory(
            lambda b: b.RateLimiter([0.5, 0.5], 0.8, 0.0), limited, 4, time=0.7, admissible=lambda u, x: (u, x - 2.0)
        ),
        "DiscreteRateLimiter": Case(
            lambda b: b.DiscreteRateLimiter([0.5, 2.0], 0.8, 0.1, [0.0, 0.2]),
            {"u": 2},
            {"y": 2},
            [],
            lambda u, x: [x],
            num_discrete=2,
            periodic=lambda u, x: np.minimum(np.maximum(u[0], x - 0.08), x + np.array([0.05, 0.2])),
            defaults=[0.0, 0.2],
        ),
        "DetectCrossing": Case(
            lambda b: b.DetectCrossing("rising", 0.3),
            {"u0": 1},
            {"y0": 1},
            [],
            lambda u, x: [x],
            num_discrete=1,
            defaults=[0.0],
        ),
        "LookupTable1D": Case(
            lambda b: b.LookupTable1D(points, [[-18.0, 9.0], [0.0, 0.0], [18.0, -9.0]], outside="extrapolate"),
            {"u0": 1},
            {"y0": 2},
            feeds,
            lambda u, x: [np.concatenate([2.0 * u[0], -u[0]])],
            **table,
        ),
        "LookupTable2D": Case(
            lambda b: b.LookupTable2D(points, [-9.0, 9.0], [[p * q for q in (-9.0, 9.0)] for p in points]),
            {"u0": 1, "u1": 1},
            {"y0": 1},
            [(0, 0), (1, 0)],
            lambda u, x: [u[0] * u[1]],
            **table,
        ),
        "LookupTableND": Case(
            lambda b: b.LookupTableND([[-9.0, -2.0, 1.0, 9.0]], [-729.0, -8.0, 1.0, 729.0], "cubic", "error"),
            {"u0": 1},
            {"y0": 1},
            feeds,
            lambda u, x: [u[0] ** 3],
            tolerance=1e-12,
            **table,
        ),
        "TransportDelay": Case(
            lambda b: b.TransportDelay(0.5, [1.0, 2.0], capacity=12),
            {"u0": 2},
            {"y0": 2},
            [],
            lambda u, x: [past_of(x)],
            num_discrete=61,
            time=0.7,
            admissible=lambda u, x: (u, with_samples(x)),
            without=("Expression",),
        ),
        "VariableTransportDelay": Case(
            lambda b: b.VariableTransportDelay(0.45, 0.6, [1.0, 2.0], capacity=12),
            {"u0": 2, "delay": 1},
            {"y0": 2},
            [(1, 0)],
            lambda u, x: [past_of(x)],
            num_discrete=61,
            time=0.7,
            admissible=lambda u, x: ([u[0], np.array([0.5])], with_samples(x)),
            without=("Expression",),
        ),
        "WienerProcess": of_time(
            lambda b: b.WienerProcess(4.0, 2, seed=3),
            [2.0 * brownian_motion(3.0, channel, 0.7) for channel in range(2)],
            2,
            without=("Expression",),
        ),
        "WhiteNoise": of_time(lambda b: b.WhiteNoise(4.0, 2, seed=3), [0.0, 0.0], 2),
        "BandLimitedWhiteNoise": Case(
            lambda b: b.BandLimitedWhiteNoise(4.0, 0.5, 2, seed=3),
            {},
            {"y0": 2},
            [],
            lambda u, x: [x],
            num_discrete=2,
            defaults=[0.0, 0.0],
            without=("Expression",),
        ),
        "UnitConversion": of_two(lambda b: b.UnitConversion("km/h", "m/s", 2), lambda u: u / 3.6),
        "PadeDelay": Case(  # (1 - s T / 2) / (1 + s T / 2)
            lambda b: b.PadeDelay(0.5, 1),
            {"u0": 1},
            {"y0": 1},
            feeds,
            lambda u, x: [8.0 * x - u[0]],
            num_continuous=1,
            derivatives=lambda u, x: u[0] - 4.0 * x,
            defaults=[0.0],
        ),
        "Clock": of_time(lambda b: b.Clock(), [0.7]),
        "Step": of_time(lambda b: b.Step([0.6, 0.8], 1.0, [2.0, 3.0]), [2.0, 1.0], 2),
        "Ramp": of_time(lambda b: b.Ramp(2.0, [0.6, 0.8], 1.0), [1.2, 1.0], 2),
        "Chirp": of_time(lambda b: b.Chirp(1.0, 5.0, 2.0, 3.0, 0.1), [3.0 * np.sin(0.1 + 0.7 + 0.49)]),
        "Pulse": Case(
            lambda b: b.Pulse(0.5, 0.4, [2.0, 3.0], -1.0),
            {},
            {"y0": 2},
            [],
            lambda u, x: [by_real(x.real > 0.5, [2.0, 3.0], [-1.0, -1.0])],
            num_discrete=1,
            defaults=[1.0],
        ),
        "Sawtooth": Case(
            lambda b: b.Sawtooth(0.5, [2.0, 3.0]),
            {},
            {"y0": 2},
            [],
            lambda u, x: [np.array([2.0, 3.0]) * (4.0 * (0.7 - x[0]) - 1.0)],
            num_discrete=1,
            defaults=[0.0],
            time=0.7,
        ),
        "SignalGenerator": Case(  # a triangle; at 0.7 s the second element is past its second corner
            lambda b: b.SignalGenerator("triangle", [2.0, 3.0], np.pi, [0.0, 7.0 * np.pi / 4.0], 1.0),
            {},
            {"y0": 2},
            [],
            lambda u, x: [
                1.0
                + [2.0, 3.0]
                * (1.0 - 2.0 * (x - 2.0 * np.floor(0.5 * x.real)))
                * (2.0 * (np.array([0.7, 0.7 + 1.75]) - x) - 1.0)
            ],
            num_discrete=2,
            defaults=[0.0, 1.0],
            time=0.7,
        ),
    }
