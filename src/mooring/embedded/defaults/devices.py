"""Defaults of claims to devices.

`defaults` calls it with objects in their stored form, so that what is empty is not there.
"""

from mooring.embedded.resources import Obj


def default_resource_claim(claim: Obj) -> None:
    """Complete a ResourceClaim, in place."""
    _spec(claim["spec"])
    allocation = claim["status"].get("allocation")
    for result in allocation["devices"].get("results", ()) if allocation is not None else ():
        _tolerations(result)


def default_claim_template(template: Obj) -> None:
    """Complete a ResourceClaimTemplate, in place."""
    _spec(template["spec"]["spec"])


def _spec(spec: Obj) -> None:
    # parity v1.36.4: pkg/apis/resource/v1/defaults.go
    for request in spec["devices"].get("requests") or ():
        if "exactly" in request:
            _request(request["exactly"])
        for one in request.get("firstAvailable", ()):
            _request(one)


def _request(request: Obj) -> None:
    if request.setdefault("allocationMode", "ExactCount") == "ExactCount":
        request.setdefault("count", 1)
    _tolerations(request)


def _tolerations(part: Obj) -> None:
    for toleration in part.get("tolerations", ()):
        toleration.setdefault("operator", "Equal")
