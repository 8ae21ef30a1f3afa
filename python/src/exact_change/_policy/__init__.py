"""The caller's own rules about money: caps over all that leaves, and lists."""
