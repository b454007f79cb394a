"""What goes wrong in a phase: one function for each kind of trouble, while pods and nodes come.

A function ends when its trouble is over or can be left alone; the driver then mends what is left.
Which replica leads is asked when it matters: the seed does not decide that.
"""

from collections.abc import Callable
from typing import Final, Protocol

from mooring.testing import Fault, FaultyProxy, Requests, WatchEvents
from tools.soak.api import Admin
from tools.soak.replicas import LEASE, LEASE_SECONDS, Replica
from tools.soak.script import Phase

LEASES: Final = Requests(resource="leases")
WRITES: Final = (
    Requests(verb="create", resource="pods/binding"),
    Requests(verb="patch", resource="pods/status"),
    Requests(verb="delete", resource="pods"),
    Requests(verb="create", resource="events"),
)
WATCHES: Final = Requests(verb="watch")
_STOLEN: Final = "a-thief"


class Stage(Protocol):
    """What troubles need: the cluster, the proxy, the replicas, and time that passes."""

    admin: Admin
    proxy: FaultyProxy
    replicas: list[Replica]

    def leader(self) -> Replica:
        """Who leads, waiting for somebody to."""
        ...

    def others(self, replica: Replica) -> list[Replica]:
        """The other replicas."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time pass; replicas that end are started again."""
        ...

    def wait_for_workload(self, seconds: float) -> None:
        """Let at least so much time pass, and more until all pods and nodes have come."""
        ...

    def gone(self) -> None:
        """The leader is gone from now on: how long is it until a pod is bound again?"""
        ...


def quiet(stage: Stage, phase: Phase) -> None:
    """Nothing goes wrong."""
    stage.wait(phase.seconds)


def kill_leader(stage: Stage, phase: Phase) -> None:
    """SIGKILL in the middle of the work."""
    stage.wait(1)
    stage.leader().kill()
    stage.gone()
    stage.wait(phase.seconds)


def terminate_leader(stage: Stage, phase: Phase) -> None:
    """SIGTERM: bindings under way end, the Lease is released."""
    stage.wait(1)
    stage.leader().terminate()
    stage.gone()
    stage.wait(phase.seconds)


def kill_standby(stage: Stage, phase: Phase) -> None:
    """SIGKILL for those that do not lead: nobody else should notice."""
    stage.wait(1)
    for other in stage.others(stage.leader()):
        other.kill()
    stage.wait(phase.seconds)


def kill_both(stage: Stage, phase: Phase) -> None:
    """All replicas at once."""
    stage.wait(1)
    for replica in stage.replicas:
        replica.kill()
    stage.gone()
    stage.wait(phase.seconds)


def swap_leaders(stage: Stage, phase: Phase) -> None:
    """Leadership moves three times."""
    for _ in range(3):
        stage.leader().terminate()
        stage.gone()
        stage.wait(phase.seconds)


def pause_briefly(stage: Stage, phase: Phase) -> None:
    """SIGSTOP and SIGCONT before the Lease has run out."""
    for _ in range(2):
        leader = stage.leader()
        leader.pause()
        stage.wait(phase.seconds / 4)
        leader.go_on()
        stage.wait(1)


def pause_beyond_the_lease(stage: Stage, phase: Phase) -> None:
    """SIGSTOP in the middle of the work, SIGCONT when another may lead already."""
    stage.wait(1)
    leader = stage.leader()
    leader.pause()
    stage.gone()
    stage.wait(LEASE_SECONDS + phase.seconds)
    leader.go_on()
    stage.wait(2)


def restart_apiserver(stage: Stage, phase: Phase) -> None:
    """The API server ends, with or without a last word, and comes back."""
    stage.wait(1)
    plane = stage.admin.plane
    if phase.hard:
        plane.kill_apiserver()
        plane.compact()  # it comes back without its history
    else:
        plane.stop_apiserver()
    stage.wait(phase.seconds)
    plane.start_apiserver()


def restart_etcd(stage: Stage, phase: Phase) -> None:
    """Etcd ends, with or without a last word, and comes back; the API server stays."""
    stage.wait(1)
    plane = stage.admin.plane
    if phase.hard:
        plane.kill_etcd()
    else:
        plane.stop_etcd()
    stage.wait(phase.seconds)
    plane.start_etcd()


def refuse_the_lease(stage: Stage, phase: Phase) -> None:
    """The leader cannot renew its Lease, and has to let another lead."""
    leader = stage.leader()
    mine = Requests(client=leader.name, resource="leases")
    stage.proxy.set(Fault.drop(on=mine) if phase.hard else Fault.refuse(500, on=mine))
    stage.wait(LEASE_SECONDS + 2)


def steal_the_lease(stage: Stage, phase: Phase) -> None:
    """Somebody else writes its name into the Lease and is never heard of again."""
    stage.wait(phase.seconds / 4)
    path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{LEASE}"
    stage.admin.patch(path, {"spec": {"holderIdentity": _STOLEN}})
    stage.wait(LEASE_SECONDS + 2)


def cut_off_the_leader(stage: Stage, phase: Phase) -> None:
    """The leader's connections break and none is accepted, for less or more than the Lease."""
    stage.wait(1)
    leader = stage.leader()
    stage.proxy.cut(leader.name)
    if phase.hard:
        stage.gone()
    stage.wait(LEASE_SECONDS + 2 if phase.hard else phase.seconds / 3)
    stage.proxy.mend(leader.name)


def slow_network(stage: Stage, phase: Phase) -> None:
    """Requests and events take their time and overtake each other."""
    stage.proxy.set(
        Fault.delay(0.1, 0.5, on=LEASES, chance=phase.chance),
        *(Fault.delay(0.2, 3.0, on=one, chance=phase.chance) for one in WRITES),
        *(Fault.reorder(0.5, on=one, chance=phase.chance) for one in WRITES),
        Fault.delay(0.05, 0.5, on=WatchEvents(), chance=phase.chance / 10),
    )
    stage.wait_for_workload(phase.seconds)


def broken_network(stage: Stage, phase: Phase) -> None:
    """Requests are lost, answers are lost or cut, requests arrive twice."""
    stage.proxy.set(
        Fault.cut(lost=True, on=LEASES, chance=phase.chance / 2),
        *(Fault.cut(lost=True, on=one, chance=phase.chance) for one in WRITES),
        *(Fault.cut(on=one, chance=phase.chance / 2) for one in WRITES),
        *(Fault.duplicate(on=one, chance=phase.chance / 2) for one in WRITES),
        *(Fault.refuse(on=one, chance=phase.chance / 2) for one in WRITES),
        *(Fault.drop(on=one, chance=phase.chance / 10, times=5) for one in WRITES),
    )
    stage.wait_for_workload(phase.seconds)


def busy_apiserver(stage: Stage, phase: Phase) -> None:
    """The API server rejects: too many requests, errors of its own, away for a moment."""
    everything = Requests()
    stage.proxy.set(
        Fault.refuse(429, retry_after=1, on=everything, chance=phase.chance),
        Fault.refuse(500, on=everything, chance=phase.chance / 2),
        Fault.refuse(503, retry_after=1, on=everything, chance=phase.chance / 2),
    )
    stage.wait_for_workload(phase.seconds)


def broken_watches(stage: Stage, phase: Phase) -> None:
    """Watches are cut in the middle of an event, expire, repeat themselves; lists are cut."""
    rare = phase.chance / 20
    stage.proxy.set(
        Fault.refuse(500, on=WATCHES, chance=phase.chance),
        Fault.cut(on=WatchEvents(), chance=rare),
        Fault.refuse(410, on=WatchEvents(), chance=rare),
        Fault.duplicate(on=WatchEvents(), chance=phase.chance),
        Fault.cut(on=Requests(verb="list"), chance=phase.chance),
    )
    stage.wait_for_workload(phase.seconds)


def silent_watches(stage: Stage, phase: Phase) -> None:
    """Watches stay open and say nothing more, until the network notices and breaks them."""
    stage.proxy.set(Fault.drop(on=WatchEvents(), chance=phase.chance / 5))
    stage.wait_for_workload(phase.seconds)
    stage.proxy.clear()
    stage.proxy.cut()
    stage.proxy.mend()


def old_events(stage: Stage, phase: Phase) -> None:
    """Events come again when they are old, and change places; none is lost."""
    stage.proxy.set(
        Fault.duplicate(later=5, on=WatchEvents(), chance=phase.chance),
        Fault.duplicate(later=50, on=WatchEvents(), chance=phase.chance),
        Fault.reorder(on=WatchEvents(), chance=phase.chance),
    )
    stage.wait_for_workload(phase.seconds)


def start_in_the_dark(stage: Stage, phase: Phase) -> None:
    """A replica starts while it cannot reach the API server, and must not say that it is ready."""
    victim = stage.replicas[-1]
    if len(stage.replicas) == 1:
        stage.gone()
    stage.proxy.cut(victim.name)
    victim.kill()
    stage.wait(phase.seconds)
    status, _ = victim.answer("/readyz")
    if status == 200:
        victim.problems.append(
            f"/readyz of replica {victim.name} said 200 before it could reach the API server"
        )
    stage.proxy.mend(victim.name)


TROUBLES: Final[dict[str, Callable[[Stage, Phase], None]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        quiet,
        kill_leader,
        terminate_leader,
        kill_standby,
        kill_both,
        swap_leaders,
        pause_briefly,
        pause_beyond_the_lease,
        restart_apiserver,
        restart_etcd,
        refuse_the_lease,
        steal_the_lease,
        cut_off_the_leader,
        slow_network,
        broken_network,
        busy_apiserver,
        broken_watches,
        silent_watches,
        old_events,
        start_in_the_dark,
    )
}
