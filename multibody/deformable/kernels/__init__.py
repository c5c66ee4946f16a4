"""Kernels of steps with deformable bodies."""
