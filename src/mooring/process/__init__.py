"""What a process of mooring does about itself: deadlines, memory, descriptors, logs, its end.

Import the module you need; this one imports nothing.
"""
