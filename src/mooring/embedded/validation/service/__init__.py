"""Checks of Services and Endpoints."""
