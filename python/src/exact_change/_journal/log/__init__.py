"""A journal over a log of records, which all its processes read in the same order."""
