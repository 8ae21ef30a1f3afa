"""Judges a swap before a wallet signs it, stage by stage. Anything unknown is refused."""
