"""Geometries whose vertices move: their meshes at rest, see README.md."""
