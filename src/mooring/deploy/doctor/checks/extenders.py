"""Checks of extenders that need no request: where they are, who runs them, what is sent to them."""

from collections.abc import Iterator
from typing import Any, Final

from mooring.deploy.container_programs import MOOR_SERVE
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, FoundExtender, FoundObject, mapping, sequence
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.schedulers import (
    PodTemplate,
    SchedulerProcess,
    configuration_of,
    host_of,
    is_local,
    pods_behind,
    processes,
    scheduler_names,
    schedulers,
    service_of,
    templates,
)
from mooring.deploy.kubernetes_version import NODE_PORTS


def extender_field(extender: FoundExtender, name: str, value: str) -> tuple[Edit, ...]:
    """The edit that gives an extender's field a value, whether it is there or not."""
    document = extender.configuration.document
    path = ("extenders", extender.number)
    entry = mapping(sequence(extender.configuration.data.get("extenders"))[extender.number])
    if document is None or not entry:
        return ()
    if name in entry:
        return document.replaced((*path, name), value)
    return document.inserted((*path, next(iter(entry))), f"{name}: {value}")


def _must_answer(extender: FoundExtender) -> bool:
    """Whether pods stay pending while the extender does not answer; scores are only left out."""
    one = extender.settings
    return not one.ignorable and bool(one.filter_verb or one.bind_verb)


def _pods(evidence: Evidence, extender: FoundExtender) -> list[PodTemplate]:
    service = service_of(evidence, extender)
    return list(pods_behind(evidence, service)) if service is not None else []


def _asks_about(extender: FoundExtender, template: PodTemplate) -> bool:
    """Whether the extender is asked about a pod."""
    managed = {one.name for one in extender.settings.managed_resources}
    if not managed:
        return True
    for _, container in template.containers():
        resources = mapping(container.get("resources"))
        if managed & {*mapping(resources.get("requests")), *mapping(resources.get("limits"))}:
            return True
    return False


def _own_pod(evidence: Evidence) -> Iterator[DoctorFinding]:
    for extender in evidence.extenders:
        names = scheduler_names(extender.configuration)
        for template in _pods(evidence, extender):
            if template.owner.file in evidence.static_files or not _must_answer(extender):
                continue
            if template.scheduler_name not in names or not _asks_about(extender, template):
                continue
            yield DoctorFinding(
                what=f"{template.owner.title} runs the extender, and {template.scheduler_name} "
                "asks the extender where to put it: once all its pods are gone, none comes back.",
                advice="Write ignorable: true in the extender's entry, or let another scheduler "
                "place its pods.",
                place=extender.place(),
                edits=extender_field(extender, "ignorable", "true"),
            )


def _single(evidence: Evidence) -> Iterator[DoctorFinding]:
    for extender in evidence.extenders:
        for template in _pods(evidence, extender):
            if template.replicas != 1 or not _must_answer(extender):
                continue
            owner = template.owner
            edits: tuple[Edit, ...] = ()
            spec = mapping(owner.data.get("spec"))
            if owner.document is not None and owner.kind != "Pod" and spec:
                if "replicas" in spec:
                    edits = owner.document.replaced(("spec", "replicas"), "2")
                else:
                    edits = owner.document.inserted(("spec", next(iter(spec))), "replicas: 2")
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what="The extender has one replica and is not ignorable: while it restarts, no pod "
                "is placed.",
                advice=f"Write replicas: 2 in {owner.title}, or ignorable: true in its entry.",
                place=owner.place(("spec", "replicas")),
                edits=edits,
            )


def _service(evidence: Evidence) -> Iterator[DoctorFinding]:
    services = list(evidence.of_kind("Service"))
    for extender in evidence.extenders:
        _, port = host_of(extender)
        service = service_of(evidence, extender)
        if service is None:
            node_ports = [
                (one, mapping(each).get("nodePort"))
                for one in services
                for each in sequence(mapping(one.data.get("spec")).get("ports"))
                if mapping(each).get("nodePort")
            ]
            if is_local(extender) and port in NODE_PORTS and node_ports:
                right = str(node_ports[0][1])
                yield DoctorFinding(
                    what=f"No Service has the nodePort {port} of the address {extender.url}.",
                    advice=f"Write port {right}, which is that of {node_ports[0][0].title}.",
                    place=extender.place("urlPrefix"),
                    edits=_url(extender, str(port), right),
                )
            continue
        yield from _ports(extender, service, port)
        around = any(one.owner.namespace == service.namespace for one in templates(evidence))
        if around and not any(True for _ in pods_behind(evidence, service)):
            yield _selects_nothing(evidence, service)


def _ports(extender: FoundExtender, service: FoundObject, port: int) -> Iterator[DoctorFinding]:
    ports = [mapping(one) for one in sequence(mapping(service.data.get("spec")).get("ports"))]
    field = "nodePort" if is_local(extender) else "port"
    known = [one.get(field) for one in ports if one.get(field)]
    if port in known or not known:
        return
    yield DoctorFinding(
        what=f"{service.title} has no {field} {port}, which the address {extender.url} names.",
        advice=f"Write port {known[0]} in urlPrefix.",
        place=extender.place("urlPrefix"),
        edits=_url(extender, str(port), str(known[0])),
    )


def _url(extender: FoundExtender, old: str, new: str) -> tuple[Edit, ...]:
    url = extender.settings.url_prefix
    changed = url.replace(f":{old}", f":{new}", 1)
    if changed == url:
        host = host_of(extender)[0]
        changed = url.replace(host, f"{host}:{new}", 1)
    return extender_field(extender, "urlPrefix", changed)


def _selects_nothing(evidence: Evidence, service: FoundObject) -> DoctorFinding:
    selector = mapping(mapping(service.data.get("spec")).get("selector"))
    shown = ", ".join(f"{key}={value}" for key, value in selector.items()) or "none"
    return DoctorFinding(
        what=f"The selector of {service.title} ({shown}) fits no pod of the manifests, so the "
        "address has nobody behind it.",
        advice="Write the labels of the extender's pods in the selector of the Service.",
        place=service.place(("spec", "selector")),
        edits=_selecting(evidence, service, selector),
    )


def _selecting(evidence: Evidence, service: FoundObject, selector: Any) -> tuple[Edit, ...]:
    """Correct the values, where there are pods with the same labels in the namespace."""
    serving = {id(one.template.owner) for one in processes(evidence) if one.program == MOOR_SERVE}
    scheduling = {id(one.template.owner) for one in schedulers(evidence)} - serving
    # Those of moor serve first, which are meant if there are any.
    for template in sorted(templates(evidence), key=lambda one: id(one.owner) not in serving):
        if (
            template.owner.namespace == service.namespace
            and selector.keys() <= template.labels.keys()
            and id(template.owner) not in scheduling
        ):
            if service.document is None:
                return ()
            return tuple(
                edit
                for key, value in selector.items()
                if template.labels[key] != value
                for edit in service.document.replaced(
                    ("spec", "selector", key), str(template.labels[key])
                )
            )
    return ()


def _address(evidence: Evidence) -> Iterator[DoctorFinding]:
    for process in schedulers(evidence):
        found = configuration_of(evidence, process)
        for extender in evidence.extenders:
            if extender.configuration is found:
                yield from _from_inside(evidence, process, extender)


def _from_inside(
    evidence: Evidence, process: SchedulerProcess, extender: FoundExtender
) -> Iterator[DoctorFinding]:
    spec, host = process.template.spec, host_of(extender)[0]
    on_host = spec.get("hostNetwork") is True
    alone = len(list(process.template.containers())) == 1
    if is_local(extender) and alone and not on_host:
        port = host_of(extender)[1]
        behind = [
            one
            for one in evidence.of_kind("Service")
            for each in sequence(mapping(one.data.get("spec")).get("ports"))
            if mapping(each).get("port") == port
        ]
        name = f"{behind[0].name}.{behind[0].namespace}.svc" if behind else "SERVICE.NAMESPACE.svc"
        changed = extender.settings.url_prefix.replace(host, name, 1)
        yield DoctorFinding(
            what=f"{extender.url} is the scheduler's own pod, in which nothing else runs.",
            advice=f"Write the extender's Service, such as urlPrefix: {changed}, or run the "
            "extender in the scheduler's pod.",
            place=extender.place("urlPrefix"),
            edits=extender_field(extender, "urlPrefix", changed) if behind else (),
        )
    in_cluster = ".svc" in host or service_of(evidence, extender) is not None
    if not is_local(extender) and on_host and in_cluster:
        if spec.get("dnsPolicy") == "ClusterFirstWithHostNet" or host.replace(".", "").isdigit():
            return
        owner, path = process.template.owner, process.template.path
        field = "dnsPolicy: ClusterFirstWithHostNet"
        yield DoctorFinding(
            what=f"The scheduler has hostNetwork and so the host's DNS, which does not know "
            f"{host}.",
            advice=f"Write {field} in the spec of the pod, or the Service's clusterIP in "
            "urlPrefix.",
            place=owner.place(path),
            edits=owner.document.inserted((*path, next(iter(spec))), field)
            if owner.document is not None
            else (),
        )


def _trust(evidence: Evidence) -> Iterator[DoctorFinding]:
    for extender in evidence.extenders:
        one = extender.settings
        secure = one.enable_https or one.url_prefix.startswith("https:")
        tls = one.tls_config
        has_ca = tls is not None and bool(tls.ca_file or tls.ca_data)
        if not secure or has_ca or (not one.enable_https and (tls is None or not tls.insecure)):
            continue
        yield DoctorFinding(
            severity=DoctorSeverity.WARNING,
            what="The certificate of the extender is not verified: enableHTTPS without a "
            "certificate authority, or tlsConfig.insecure.",
            advice="Write tlsConfig: {caFile: FILE} with the certificate authority of the "
            "extender.",
            place=extender.place("tlsConfig"),
            edits=extender_field(extender, "tlsConfig", "{caFile: /etc/kubernetes/extender-ca.crt}")
            if tls is None
            else (),
        )


CHECKS: Final = (
    DoctorCheck(
        id="extender-address",
        title="schedulers can reach the addresses of their extenders",
        why="localhost is the scheduler's own pod, and a pod with hostNetwork does not use the "
        "cluster's DNS unless its dnsPolicy says so.",
        judge=_address,
        lacks=needs.extenders_and_scheduler_pods,
    ),
    DoctorCheck(
        id="extender-service",
        title="there are pods behind the extenders' addresses",
        why="A Service whose port or selector does not fit answers nobody, and an extender that "
        "does not answer keeps pods pending.",
        judge=_service,
        lacks=needs.extenders_and_objects,
    ),
    DoctorCheck(
        id="extender-own-pod",
        title="no extender is asked about its own pod",
        why="If all pods of the extender are gone, the scheduler cannot place a new one, since it "
        "has to ask the extender first.",
        judge=_own_pod,
        lacks=needs.extenders_and_objects,
    ),
    DoctorCheck(
        id="extender-single",
        title="extenders that must answer have more than one replica",
        why="While an extender that is not ignorable does not answer, all its scheduler's pods "
        "stay pending.",
        judge=_single,
        lacks=needs.extenders_and_objects,
    ),
    DoctorCheck(
        id="extender-trust",
        title="the certificates of extenders are verified",
        why="Whoever can answer in place of the extender decides where pods run.",
        judge=_trust,
        lacks=needs.extenders,
    ),
)
