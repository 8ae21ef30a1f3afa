"""A journal that is a list of what happened, in the order that all its processes read it in."""
