"""The scheduler without the world: a queue, the decision cycle, and what is to be done about it.

Changes and reports go in, effects come out. Shells (`live`, the simulator) carry effects out and
tell what came of them. Nothing here does I/O, waits or reads a clock.
"""
