"""Frequency responses, margins and root loci of any diagram that can be linearized."""

from merganser.analysis.frequency.describing_functions import DescribingFunction, LimitCycle, PredictLimitCycles
from merganser.analysis.frequency.frequency_plots import BodePlot, NicholsPlot, NyquistPlot, RootLocusPlot
from merganser.analysis.frequency.frequency_response import (
    Damp,
    FrequencyResponse,
    FrequencyResponseData,
    Margins,
    Mode,
    StabilityMargins,
    StepInfo,
    StepResponseInfo,
    Zeros,
    to_control,
)
from merganser.analysis.frequency.linearize_between import LinearizeBetween, LinearSystemWithDelays, OpenLoopAt

__all__ = [
    "BodePlot",
    "Damp",
    "DescribingFunction",
    "FrequencyResponse",
    "FrequencyResponseData",
    "LimitCycle",
    "LinearSystemWithDelays",
    "LinearizeBetween",
    "Margins",
    "Mode",
    "NicholsPlot",
    "NyquistPlot",
    "OpenLoopAt",
    "PredictLimitCycles",
    "RootLocusPlot",
    "StabilityMargins",
    "StepInfo",
    "StepResponseInfo",
    "Zeros",
    "to_control",
]
