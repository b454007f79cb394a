"""What the comparison with kube-apiserver leaves out, and what it does not."""

import pytest

from tests.e2e.kubectl_scripts import Answer, Command, comparable, without_repairs

SERVICE = """\
Name:              web
IP:                10.0.0.17
Endpoints:
Session Affinity:  None
"""
NO_EVENTS = "Events:            <none>\n"
REPAIRED = """\
Events:
  Type     Reason                 Age   From                           Message
  ----     ------                 ----  ----                           -------
  Warning  ClusterIPNotAllocated  0s    ipallocator-repair-controller  Cluster IP [IPv4]: 10.0.0.17 is not allocated; repairing
"""  # noqa: E501
OTHER = "  Normal   Scheduled              3s    default-scheduler              Assigned\n"


def said(args: str, stdout: str) -> list[str]:
    command = Command(args.split(), "", "")
    return comparable(command, Answer(args, 0, stdout, ""))


def test_repairs_of_the_api_server_do_not_count_in_a_description() -> None:
    args = "describe service web"
    assert said(args, SERVICE + REPAIRED) == said(args, SERVICE + NO_EVENTS)
    two = SERVICE + REPAIRED + "\n\n" + SERVICE + NO_EVENTS
    assert said(args, two) == said(args, SERVICE + NO_EVENTS + "\n\n" + SERVICE + NO_EVENTS)


def test_other_events_stay() -> None:
    kept = without_repairs(SERVICE + REPAIRED + OTHER)
    assert OTHER in kept
    assert "<none>" not in kept
    assert "ClusterIPNotAllocated" not in kept
    assert without_repairs(SERVICE + NO_EVENTS) == SERVICE + NO_EVENTS


def test_repairs_do_not_count_in_tables_and_lists() -> None:
    table = (
        "LAST SEEN   TYPE      REASON      OBJECT    MESSAGE\n3s   Normal   Made   pod/web   ok\n"
    )
    row = "0s   Warning   PortNotAllocated   service/web   Port 30000 is not allocated; repairing\n"
    assert said("get events", table + row) == said("get events", table)
    item = "- apiVersion: v1\n  kind: Event\n  reason: Made\n  source: {}\n"
    repair = (
        "- action: ClusterIPAllocation\n  apiVersion: v1\n  involvedObject:\n    kind: Service\n"
        "  reportingComponent: ipallocator-repair-controller\n  source: {}\n"
    )
    around = "apiVersion: v1\nitems:\n", 'kind: List\nmetadata:\n  resourceVersion: ""\n'
    whole = f"{around[0]}{item}{repair}{item}{around[1]}"
    assert without_repairs(whole) == f"{around[0]}{item}{item}{around[1]}"


@pytest.mark.parametrize(
    "time",
    [
        "2026-11-18T13:45:{}Z",  # kubectl get -o yaml
        "Wed, 18 Nov 2026 13:45:{} +0000",  # kubectl describe pod
        "2026-11-18 13:45:{} +0000 UTC",  # kubectl describe networkpolicy
    ],
)
def test_two_servers_may_create_an_object_in_different_seconds(time: str) -> None:
    one, other = (
        said("describe netpol guard", f"Created on: {time.format(second)}\n") for second in (14, 15)
    )
    assert one == other
