"""Helpers that do not depend on payments."""
