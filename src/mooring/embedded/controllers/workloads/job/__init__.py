"""The Job controller: pods, indexes, status."""
