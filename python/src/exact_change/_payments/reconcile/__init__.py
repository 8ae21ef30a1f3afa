"""Reconciles signed payments and swaps with the chain, which decides about them."""
