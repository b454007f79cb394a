"""Asking extenders, so that checks can judge their answers.

The command line calls it if the user wants it: requests are sent. Each verb is asked once, about
made-up nodes and a made-up pod; nothing is bound. The time limit is the doctor's own, so that a
latency above ``httpTimeout`` can be measured.
"""

import socket
from collections.abc import Iterable
from typing import Final

import msgspec

from mooring.deploy.doctor.evidence import ExtenderProbe, FoundExtender, VerbProbe
from mooring.deploy.doctor.schedulers import host_of
from mooring.deploy.extender_test.findings import VERBS
from mooring.deploy.extender_test.probes import probe_reachable, probe_verb, verb_path
from mooring.errors import InputError
from mooring.model.duration import Duration

#: How long the doctor waits for an answer, at least.
_SECONDS: Final = 15.0
_FEW_NODES: Final = 20
_IN_CLUSTER: Final = (".svc", ".cluster.local")


async def ask_extenders(
    extenders: Iterable[FoundExtender], nodes: int = 0
) -> tuple[ExtenderProbe, ...]:
    """Ask all extenders.

    Args:
        extenders: which.
        nodes: how many nodes the cluster has; 0 if that is not known.
    """
    return tuple([await _ask(one, max(nodes, _FEW_NODES)) for one in extenders])


async def _ask(extender: FoundExtender, nodes: int) -> ExtenderProbe:
    host = host_of(extender)[0]
    if host.endswith(_IN_CLUSTER) and not _resolves(host):
        return ExtenderProbe(
            extender,
            skipped=f"only the cluster's DNS knows {host}; run moor doctor in a pod of the cluster",
        )
    limit = max(extender.settings.http_timeout.seconds, _SECONDS)
    settings = msgspec.structs.replace(extender.settings, http_timeout=Duration(int(limit * 10**9)))
    try:
        reached = await probe_reachable(settings)
        if not reached.ok:
            timed_out = reached.seconds >= limit
            failed = VerbProbe(
                "filter",
                seconds=reached.seconds,
                problem=reached.found,
                tls=reached.check != "reachable",
                timed_out=timed_out,
            )
            return ExtenderProbe(extender, (failed,), nodes=nodes)
        answers = []
        for verb in VERBS:
            if verb_path(settings, verb):
                found = await probe_verb(settings, verb, count=nodes)
                answers.append(
                    VerbProbe(
                        verb,
                        status=found.status,
                        seconds=found.seconds,
                        problem=found.found,
                        timed_out=not found.status and found.seconds >= limit,
                    )
                )
    except InputError as error:
        return ExtenderProbe(extender, (VerbProbe("filter", problem=str(error)),), nodes=nodes)
    return ExtenderProbe(extender, tuple(answers), nodes=nodes)


def _resolves(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True
