"""HTTP: our own requests, and those of callers that are paid on the way."""
