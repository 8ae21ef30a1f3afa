"""Swaps: checks their quotes, and composes and signs their transactions."""
