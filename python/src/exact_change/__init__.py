"""A client that pays for calls."""
