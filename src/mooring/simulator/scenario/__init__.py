"""Scenario files: what is in them, how they are read, and how a simulation is made of one."""
