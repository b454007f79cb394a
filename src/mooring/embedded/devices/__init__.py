"""Fake devices: what a file says of drivers, and the driver that publishes their slices."""
