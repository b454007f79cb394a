"""A policy project to begin with: what `moor init` writes."""
