"""The extender under hostile callers and with a hanging policy: what a well-behaved caller gets."""
