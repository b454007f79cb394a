"""What changed since somebody looked: of rows, of objects, of things with a name."""
