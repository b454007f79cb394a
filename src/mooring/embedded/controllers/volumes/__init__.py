"""The controller of persistent volumes and their claims."""
