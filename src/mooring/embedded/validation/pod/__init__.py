"""Checks of pods and pod templates: containers, volumes, placement, updates."""
