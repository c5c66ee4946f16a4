"""The systems framework itself; import its names from `merganser.framework`."""
