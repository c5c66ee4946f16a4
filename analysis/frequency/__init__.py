"""Frequency responses, margins and root loci of any diagram that can be linearized."""

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
from merganser.analysis.frequency.linearize_between import LinearizeBetween, OpenLoopAt

__all__ = [
    "BodePlot",
    "Damp",
    "FrequencyResponse",
    "FrequencyResponseData",
    "LinearizeBetween",
    "Margins",
    "Mode",
    "NicholsPlot",
    "NyquistPlot",
    "OpenLoopAt",
    "RootLocusPlot",
    "StabilityMargins",
    "StepInfo",
    "StepResponseInfo",
    "Zeros",
    "to_control",
]
