"""Addresses and networks, and what kube-apiserver says of those that are none."""

import ipaddress

import pytest

from mooring.embedded.validation import addresses


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.1", None),
        ("2001:db8::1", None),
        ("10.0.0.01", "must not have leading 0s"),
        ("::ffff:10.0.0.1", "must not be an IPv4-mapped IPv6 address"),
        ("a", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("10.0.0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ],
)
def test_addresses(text: str, problem: str | None) -> None:
    assert addresses.ip_address(text) == (() if problem is None else (problem,))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.0/8", None),
        ("2001:db8::/64", None),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
    ],
)
def test_networks(text: str, problem: str | None) -> None:
    assert addresses.cidr(text) == (() if problem is None else (problem,))


def test_a_network_is_known_also_in_a_form_that_is_not_wanted() -> None:
    assert addresses.network("010.1.2.3/08") == ipaddress.ip_network("10.0.0.0/8")
    assert addresses.network("fd00::1/64") == ipaddress.ip_network("fd00::/64")
    for text in ("10.0.0.0", "10.0.0.0/33", "10.0.0.0/x", "fd00::/129", ""):
        assert addresses.network(text) is None
