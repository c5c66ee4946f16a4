"""Elastic materials of deformable bodies, one kind a file, and the table of them."""
