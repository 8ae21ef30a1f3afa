"""Attempts on record, their costs for caps, and the state that payers of one wallet share."""
