"""Transports: the sources of quotes and swaps, in this process or at a service."""
