"""mooring's extender server against a plain Go extender.

Run by `make bench-extender`, that is `python -m benchmarks.extender`. Two parts:

- `wire`: the same requests, byte for byte what kube-scheduler sends, in turn to both servers.
- `scheduler`: pods bound a second by the real kube-scheduler with either server as its extender.
"""
