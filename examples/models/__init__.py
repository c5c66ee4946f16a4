"""Model files of the examples; `package://merganser_models/arm7.urdf` and so on lead here."""
