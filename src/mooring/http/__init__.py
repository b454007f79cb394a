"""What every HTTP server of mooring stands on: sockets, TLS, connections, limits, origins.

Import the module you need; this one imports nothing.
"""
