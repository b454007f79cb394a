"""A small Kubernetes API server in memory, with fake nodes: for demos, development and tests.

`Api` is the API without HTTP, `server` puts it on a socket, `kubelet` runs pods and
`controllers` make them. Nothing here decides where pods go: that is a scheduler's work.
"""
