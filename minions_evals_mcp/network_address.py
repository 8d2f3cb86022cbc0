"""The address at which a server of ours listens, and the names under which it may be called."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import ip_address

from minions_evals_mcp.errors import BadInputError

LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class NetworkAddress:
    """Where a server listens. `allowed_hosts`: further names, of a proxy in front of it, under which callers may ask."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can call."""
        return is_loopback(self.host)

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def own_hosts(self) -> frozenset[str]:
        """The `Host` headers that name this machine itself."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]", _bracketed(self.host)))

    @property
    def named_hosts(self) -> frozenset[str]:
        """The `Host` headers of the names that the operator allowed."""
        return frozenset(host for name in self.allowed_hosts for host in (name, f"{name}:{self.port}"))

    @property
    def hosts(self) -> frozenset[str]:
        """The `Host` headers that are answered: no other site's page can reach the server through a browser."""
        return self.own_hosts | self.named_hosts if self.is_loopback else self.named_hosts


def read_address(text: str, *, allowed_hosts: tuple[str, ...] = (), option: str = "--http") -> NetworkAddress:
    """The address in `HOST:PORT`; raises `BadInputError` naming the option for anything else."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > LAST_PORT:
        raise BadInputError(f"{option} is {text!r}.", remedy="Use HOST:PORT, such as 127.0.0.1:8765.")
    return NetworkAddress(host.strip("[]"), int(port), allowed_hosts)


def listening_socket(host: str, port: int) -> socket.socket:
    """The socket that listens there; raises `OSError` where nothing can."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def bound(address: NetworkAddress, *, option: str = "--http") -> socket.socket:
    """The listening socket; raises `BadInputError` where the address cannot be had."""
    try:
        return listening_socket(address.host, address.port)
    except OSError as error:
        raise BadInputError(
            f"cannot listen on {address.host}:{address.port}: {error.strerror or error}.",
            remedy=f"Choose another {option} address.",
        ) from None


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, as it reaches itself."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
