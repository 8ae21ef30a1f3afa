"""What a caller may set, checked."""
