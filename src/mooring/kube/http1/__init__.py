"""A lean HTTP/1.1 transport, for the thousands of writes and events that a scheduler has a second.

    request_bytes (one request as bytes) ──> pool (bounded, kept alive) ──> connection (one answer,
                                               │                            whole or as a stream)
                                               └── new ──> dialing (the address that answers first)

`session` sends over it what needs no proxy. It knows neither credentials nor Kubernetes: who calls
it passes complete requests.
"""
