"""Regions of configurations without collisions, grown or certified."""
