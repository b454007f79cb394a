"""What every server of mooring stands on: sockets, TLS, HTTP connections, memory.

`extender`, `live` and `embedded` serve with it; it knows none of them.
"""
