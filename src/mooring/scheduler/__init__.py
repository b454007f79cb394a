"""The scheduler without the world: a queue, the scheduling cycle, what is to be done.

Changes and reports go in, effects come out. A shell (`live`) carries effects out and tells
what came of them. Nothing here does I/O, waits or reads a clock.
"""
