"""A path of Brownian motion whose value at any time is a function of a seed and that time alone.

Outwards from [0, 1] s, W(2 r) = W(r) + sqrt(r) Z. Inwards, Levy's bridge (1948) gives the middle of an interval [l, r]:

    W((l + r) / 2) = (W(l) + W(r)) / 2 + sqrt(r - l) Z / 2,    Z ~ N(0, 1)                        (1)

down to a nanosecond, within which the path is a straight line. So it is the same path for all steps of a simulation, in
any order (a virtual Brownian tree; Li, Wong, Chen and Duvenaud 2020, "Scalable Gradients for Stochastic Differential
Equations", algorithm 3). The random numbers of an interval follow from those of the one around it by the counter-based
generator Philox 2x32 (Salmon, Moraes, Dror and Shaw 2011, "Parallel Random Numbers: As Easy as 1, 2, 3").
"""

from __future__ import annotations

import math

from merganser.framework.native.compiler.kernels import device

FINEST = 2.0**-30  # [s], of intervals within which the path is a straight line
_WORD = 0xFFFFFFFF
_MULTIPLIER, _WEYL = 0xD256D193, 0x9E3779B9
_TWO_32 = 4294967296.0
_OUTWARDS, _LEFT, _RIGHT = 2, 3, 4  # keys of the generator; 0 and 1 are those of times after and before zero


@device
def philox(a: int, b: int, key: int) -> tuple[int, int]:
    """Philox 2x32 with 10 rounds: two words of 32 bits from two words and a key."""
    for _ in range(10):
        product = a * _MULTIPLIER  # in compiled code the sign bit may be set; the mask takes it away
        a, b = ((product >> 32) & _WORD) ^ key ^ b, product & _WORD
        key = (key + _WEYL) & _WORD
    return a, b


@device
def _normal(a: int, b: int) -> float:
    """A number from N(0, 1) out of two words (Box and Muller, 1958)."""
    return math.sqrt(-2.0 * math.log((a + 0.5) / _TWO_32)) * math.cos(2.0 * math.pi * b / _TWO_32)


@device
def brownian_motion(seed: float, channel: int, time: float) -> float:
    """W(t), with W(0) = 0 and increments that are independent, of variance dt.

    Args:
        seed: a whole number from 0 to 2^32 - 1.
        channel: another number, for an independent path.
        time: t [s]; before zero there is another, independent path.

    Returns:
        nan for a seed or time that is out of range.
    """
    distance = abs(time)
    if not (distance < math.inf and 0.0 <= seed <= _WORD):
        return math.nan
    a, b = philox(int(seed), int(channel), 1 if time < 0.0 else 0)
    left, length, w_left, w_right = 0.0, 1.0, 0.0, _normal(a, b)
    while left + length < distance:
        a, b = philox(a, b, _OUTWARDS)
        left += length
        length = left
        w_left, w_right = w_right, w_right + math.sqrt(length) * _normal(a, b)
    side = _LEFT
    while length > FINEST:
        a, b = philox(a, b, side)
        w_middle = 0.5 * (w_left + w_right) + 0.5 * math.sqrt(length) * _normal(a, b)  # (1)
        length *= 0.5
        if distance < left + length:
            w_right, side = w_middle, _LEFT
        else:
            left, w_left, side = left + length, w_middle, _RIGHT
    return w_left + (distance - left) / length * (w_right - w_left)
