"""Remedies: what plugins propose against their own rejections, checked before it is tried."""
