"""Odd bodies of subresources are rejected in kube-apiserver's words, and never stored."""

import msgspec

from tests.unit.embedded.http.subresource_cases import ACCOUNT, CASES, DEPLOYMENT, POD, RECORD, told
from tests.unit.embedded.served_cluster import Client, run

#: Fields of the right type that the real server rejects, or rejects in other words, for reasons
#: that a cluster in memory does not have.
OTHERWISE = {
    "binding: metadata.uid is a text",
    "binding: metadata.resourceVersion is a text",
    "eviction: deleteOptions.preconditions.uid is a text",
    "eviction: deleteOptions.dryRun is a list",
    "delete: preconditions.uid is a text",
    "delete: propagationPolicy is a text",
    "scale: metadata is a object",
    "scale: metadata is a null",
    "token: spec.expirationSeconds is a number",
    "token: spec.boundObjectRef is a object",
}


def test_odd_bodies_are_answered_as_kube_apiserver_does() -> None:
    async def test(client: Client) -> None:
        await client.post("/api/v1/namespaces/default/serviceaccounts", ACCOUNT)
        await client.post("/api/v1/namespaces/default/pods", POD)
        await client.post("/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT)
        found = {}
        for name, (method, path, body) in CASES.items():
            place = f"{path}?dryRun=All".replace("NAMESPACE", "default")
            found[name] = told(*await client.ask(method, place, body))
        expected = msgspec.json.decode(RECORD.read_bytes())
        differing = {name: one for name, one in found.items() if one != expected[name]}
        assert {name: differing[name] for name in differing.keys() - OTHERWISE} == {}
        assert differing.keys() == OTHERWISE
        assert found.keys() == expected.keys()

    run(test)


def test_a_pod_gets_no_annotation_that_is_no_text() -> None:
    async def test(client: Client) -> None:
        await client.post("/api/v1/namespaces/default/pods", POD)
        binding = {
            "metadata": {"name": "web", "annotations": {"why": 7}},
            "target": {"kind": "Node", "name": "n1"},
        }
        code, status = await client.ask(
            "POST", "/api/v1/namespaces/default/pods/web/binding", binding
        )
        assert code == 400
        assert status["message"] == (
            'Binding in version "v1" cannot be handled as a Binding: json: cannot unmarshal number '
            "into Go struct field ObjectMeta.metadata.annotations of type string"
        )
        pod = await client.get("/api/v1/namespaces/default/pods/web")
        assert "nodeName" not in pod["spec"]
        assert "annotations" not in pod["metadata"]

    run(test)
