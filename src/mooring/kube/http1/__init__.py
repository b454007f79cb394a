"""A lean HTTP/1.1 transport for the writes of which a scheduler sends thousands a second.

    request_bytes (one request as bytes) ──> pool (bounded, kept alive) ──> connection (one answer)
                                              └──new──> dialing (the address that answers first)

`session` sends POST and PATCH with a body over it; aiohttp does everything else. It knows neither
credentials nor Kubernetes: who calls it passes complete requests.
"""
