"""Jupiter: one source of swaps, whose every answer is a hint."""
