"""Steps of numerical derivatives, and how far these are trusted."""

from __future__ import annotations

import sys

COMPLEX_STEP = 1e-100
DIFFERENCE_STEP = 6e-6  # cube root of the rounding error, relative to the size of the variable

# For filters, which linearize at every step: one difference in a direction along no axis counts as right to this share
# of the sum of all terms, and to its noise, this many times its values over the step.
SHARE_OF_SLOPE = 1e-7
NOISE_OF_SLOPE = 20.0 * sys.float_info.epsilon
