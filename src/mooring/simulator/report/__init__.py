"""The result of a simulation as one HTML file that opens without a network."""
