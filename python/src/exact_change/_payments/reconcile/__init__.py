"""What became of what was signed: the chain decides."""
