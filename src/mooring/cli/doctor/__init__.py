"""``moor doctor``."""
