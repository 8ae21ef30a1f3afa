"""Nodes of Solana, which are asked in turn and within deadlines; their answers are checked."""
