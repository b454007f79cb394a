"""The functions that expressions may call, a module for each of Kubernetes' libraries."""
