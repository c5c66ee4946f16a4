"""URDF and SDFormat files read into descriptions: what each has of its own, and what both share."""
