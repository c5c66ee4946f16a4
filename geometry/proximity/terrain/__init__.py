"""Contact with surfaces that are not convex: height fields, feature by feature."""
