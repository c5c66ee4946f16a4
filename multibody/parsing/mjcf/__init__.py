"""MuJoCo's format, MJCF, read into a description; see README.md of parsing."""
