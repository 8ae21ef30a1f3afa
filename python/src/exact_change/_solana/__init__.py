"""Solana: keys, messages, nodes and token accounts, in plain data."""
