"""Collision checkers: configurations and edges of robots among obstacles."""
