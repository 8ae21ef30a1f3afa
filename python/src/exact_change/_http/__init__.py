"""HTTP: the library's own requests, and the callers' requests that are paid on the way."""
