"""How long the simulator takes: `make bench-simulator`."""
