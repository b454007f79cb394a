"""Opening the socket to serve on."""

import socket

from mooring.errors import InputError


def listen(
    host: str, port: int, *, option: str = "--host", port_option: str = "--port"
) -> socket.socket:
    """Open the socket to serve on.

    Args:
        host: the address.
        port: the port; 0 takes a free one.
        option: what sets the address, for the message.
        port_option: what sets the port.

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
            f"cannot listen on {host} port {port}: {what}; "
            f"use others with {option} and {port_option}"
        ) from error
    return sock
