"""Checks and converts the messages of the REST interface, as in ``openapi.json``."""
