"""Patches of every form, and server-side apply."""
