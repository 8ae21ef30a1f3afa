"""Swaps: quotes that are held against what was asked, and transactions that we compose."""
