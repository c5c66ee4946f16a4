"""Functional Mock-up Units (FMI 2.0 and 3.0): diagrams as files that other tools simulate without Python."""

from merganser.analysis.fmi.export import ExportFmu

__all__ = ["ExportFmu"]
