"""Keys, messages, nodes and token accounts of Solana, in plain data."""
