"""The embedded API server beside the real one: how fast it starts, creates, lists and watches."""
