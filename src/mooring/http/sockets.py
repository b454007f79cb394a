"""Opening the socket to serve on."""

import socket

from mooring.errors import InputError


def listen(host: str, port: int, *, option: str = "--host") -> socket.socket:
    """Open the socket to serve on; `option` is what sets the address, for the message.

    Raises:
        InputError: the address cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, proto, _, address = found[0]
        sock = socket.socket(family, kind, proto)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
            sock.listen(1024)
        except OSError:
            sock.close()
            raise
    except (OSError, OverflowError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot listen on {host} port {port}: {what}; use others with {option} and --port"
        ) from error
    return sock
