"""What of a file may be printed: secrets are hidden, everything else stays as it is."""

import json

import pytest

from mooring.deploy.doctor.hidden_secrets import without_secrets

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: packer
spec:
  replicas: 2
"""
KEY = "-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2==\n-----END RSA PRIVATE KEY-----\n"


def hidden(text: str) -> str:
    found = without_secrets(text)
    assert len(found) == len(text.splitlines())
    shown = "\n".join(found)
    assert "hunter" not in shown
    return shown


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


SECRETS = {
    "data": "data:\n  password: aHVhunter2\n",
    "quoted": "data:\n  \"password\": 'hunter2' # was hunter1\n",
    "on the next line": "data:\n  password:\n    hunter2\n",
    "over several lines": 'stringData:\n  password: "a\n    hunter2\n    hunter2"\n',
    "a block": "stringData:\n  c: |\n    user: hunter2\n\n    hunter2: 5\n  d: >-\n    hunter2\n",
    "flow": "data: {password: hunter2, other: hunter2} # hunter1\n",
    "flow in lines": "data: {\n  password: hunter2, # hunter1\n  other: hunter2 }\n",
    "a comment": "data:\n  # password: hunter1\n  password: hunter2\n# hunter3\n",
    "the last applied one": 'metadata:\n  annotations:\n    last: \'{"data":"hunter2"}\'\n',
    "an alias": "x: &it hunter2\ndata:\n  password: *it\n",
    "not YAML": "data: [}\n  password: hunter2\n",
    "with tabs": "data:\n\tpassword: hunter2\n",
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("kind", ["kind: Secret", 'kind: "Secret"', "'kind': 'Secret' # one"])
def test_the_values_of_a_secret_are_hidden(name: str, kind: str) -> None:
    for secret in (f"apiVersion: v1\n{kind}\n{SECRETS[name]}", f"{SECRETS[name]}{kind}\n"):
        for text in (f"{DEPLOYMENT}---\n{secret}---\n{DEPLOYMENT}", secret):
            shown = hidden(text)
            assert shown.count(DEPLOYMENT.strip()) == text.count(DEPLOYMENT)


def test_the_names_in_it_are_shown() -> None:
    secret = "kind: Secret\nmetadata:\n  name: a\nstringData:\n  b: hunter2\n  c: |\n    hunter2\n"
    assert hidden(secret).splitlines() == [
        "kind: Secret",
        "metadata:",
        "  name: a",
        "stringData:",
        "  b: (hidden)",
        "  c: (hidden)",
        "    (hidden)",
    ]


def test_in_a_list_and_as_json() -> None:
    secret = {"kind": "Secret", "data": {"a": "hunter2"}, "stringData": {"b": "hunter\n2"}}
    both = {"kind": "List", "items": [secret, {"kind": "ConfigMap", "data": {"a": "shown"}}]}
    for text in (json.dumps(both), json.dumps(both, indent=2), json.dumps(both, indent="\t")):
        assert '"shown"' in hidden(text)
    block = "items:\n- kind: Secret\n  data:\n    a: hunter2\n- kind: Pod\n  spec: {a: b}\n"
    assert "- kind: Pod\n  spec: {a: b}" in hidden(block)


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"kind: ConfigMap\ndata:\n  tls.key: |\n{indented(KEY, 4)}",
        json.dumps({"kind": "ConfigMap", "data": {"tls.key": KEY}}),
        "extenders:\n- tlsConfig:\n    keyData: hunter2\n",
        '{"tlsConfig": {"keyData": "hunter2"}}',
        "data:\n  c: |\n    user:\n      client-key-data: hunter2\n      token: hunter2\n",
        json.dumps({"c": json.dumps({"token": "hunter2", "password": "hunter 2"})}),
        "env:\n- name: DB_PASSWORD\n  value: hunter2\n- name: API_TOKEN\n  value: 'hunter2'\n",
        "env: [{name: DB_PASSWORD, value: hunter2}]\n",
        "env:\n- value: hunter2\n  name: DB_PASSWORD\n",
        "secretGenerator:\n- name: a\n  literals: [password=hunter2]\n",
        "urlPrefix: https://me:hunter2@example.com/x\n",
    ],
)
def test_keys_and_passwords_are_hidden_wherever_they_are(text: str) -> None:
    hidden(text)


@pytest.mark.parametrize(
    "text",
    [
        DEPLOYMENT,
        "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: {name: login, key: password}\n",
        "volumes:\n- name: tls\n  secret:\n    secretName: packer-tls\n",
        "automountServiceAccountToken: false\nserviceAccountToken:\n  path: token\n",
        "env:\n- name: LOG_LEVEL\n  value: info\n",
        "kind: Role\nrules:\n- resources: [secrets]\n  verbs: [get]\n",
        "extenders:\n- urlPrefix: http://127.0.0.1:8888\n  tlsConfig: {certFile: a, keyFile: b}\n",
        "",
    ],
)
def test_everything_else_is_shown(text: str) -> None:
    assert without_secrets(text) == text.splitlines()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "- urlPrefix: https://extender/v1?token=hunter2&zone=hunter3",
            "- urlPrefix: https://extender/v1?token=(hidden)&zone=(hidden)",
        ),
        (
            'urlPrefix: "https://extender?hunter2" # the old one',
            'urlPrefix: "https://extender?(hidden)" # the old one',
        ),
        (
            '{"urlPrefix": "http://extender:80/?a=hunter2#b", "weight": 1}',
            '{"urlPrefix": "http://extender:80/?a=(hidden)#b", "weight": 1}',
        ),
        ("urlPrefix: https://extender/v1", "urlPrefix: https://extender/v1"),
        ("# Is it http://extender/v1 or not?", "# Is it http://extender/v1 or not?"),
    ],
)
def test_the_query_of_an_address_is_hidden(line: str, shown: str) -> None:
    assert hidden(f"{line}\n") == shown
