"""Attempts on record, what they take of caps, and what payers of one wallet share."""
