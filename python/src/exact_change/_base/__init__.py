"""Small parts that know nothing of payments."""
