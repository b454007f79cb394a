"""Patches of all types, and server-side apply."""
