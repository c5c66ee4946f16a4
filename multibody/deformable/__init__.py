"""Deformable bodies of a plant: see README.md."""
