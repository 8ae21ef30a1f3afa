"""Reads and checks the options of a caller."""
