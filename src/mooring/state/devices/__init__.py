"""The devices of a cluster as they are shown: pools as published, and who has what."""
