# SPDX-License-Identifier: Apache-2.0
"""What a request must show before a server of this package looks at it: the name that it was sent to, and a token."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from typing import Iterable, Optional, Tuple

#: What says nothing but that the server lives: probes of clusters have no token.
OPEN = ("/v2/health/live", "/v2/health/ready")


def is_local(host: str) -> bool:
    """Whether only this machine reaches a server at that address."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(ipaddress.ip_address(each[4][0].partition("%")[0]).is_loopback for each in found)


class Guard:
    """Lets a request in, or says why not. A server of this machine alone is meant by an address, by "localhost" or by its own name: another name
    that leads here is a site's that wants a browser to read what it must not."""

    def __init__(self, host: str, token: Optional[str]):
        self._host, self._token, self._is_local = host.lower(), token.encode() if token else None, is_local(host)

    def refusal(self, path: str, headers: Iterable[Tuple[bytes, bytes]]) -> Optional[Tuple[int, str]]:
        """A status of HTTP and the reason; None: the request may come in. `headers`: names in lower case."""
        bearer = None
        for name, value in headers:
            if name == b"host" and self._is_local and not self._is_own(value):
                return 403, "this server is for its own machine, and answers under no name of another site"
            if name == b"origin" and self._is_local and not self._is_own(value.partition(b"://")[2]):
                return 403, "this server is for its own machine, and answers no page of another site"
            if name == b"authorization":
                bearer = value
        return None if path in OPEN or self.is_let_in(bearer) else (401, "a token is needed: Authorization: Bearer TOKEN")

    def is_let_in(self, authorization: Optional[bytes]) -> bool:
        """Whether this value of Authorization has the token. Compares all bytes, so that the time tells nothing."""
        if self._token is None:
            return True
        scheme, _, given = (authorization or b"").partition(b" ")
        return hmac.compare_digest(given.strip(), self._token) and scheme.lower() == b"bearer"

    def _is_own(self, value: bytes) -> bool:
        """`value`: NAME or NAME:PORT; an address of six has brackets."""
        text = value.decode("latin-1").strip().lower()
        name = text[1:].partition("]")[0] if text.startswith("[") else text.rpartition(":")[0] or text
        if name in ("localhost", self._host):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
