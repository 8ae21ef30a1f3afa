"""Jupiter, a source of swaps. Each of its answers is a hint."""
