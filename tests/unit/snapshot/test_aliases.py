"""New words for old ones: the same for the same, and nothing to be read in them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.label_syntax import is_label_key, is_label_value
from mooring.model.resource_names import is_counted, is_extended, is_scalar
from mooring.snapshot.aliases import Aliases
from mooring.snapshot.well_known_names import is_well_known, is_well_known_resource

WORD = re.compile(r"x[a-z2-7]{8}")
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?", fullmatch=True)
VALUES = st.from_regex(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", fullmatch=True)


@pytest.fixture
def aliases() -> Aliases:
    return Aliases(b"secret")


class TestNames:
    def test_words_become_aliases_and_what_is_between_them_stays(self, aliases: Aliases) -> None:
        parts = re.split(r"[-./]", aliases.name("web-0.shop/web"))
        assert all(WORD.fullmatch(part) for part in parts)
        assert parts[0] == parts[3] != parts[1]
        assert re.sub(WORD, "", aliases.name("web-0.shop/web")) == "-./"

    def test_names_made_of_names(self, aliases: Aliases) -> None:
        """The claim of an ephemeral volume is called after pod and volume."""
        joined = f"{aliases.name('web-0')}-{aliases.name('data')}"
        assert joined == aliases.name("web-0-data")

    @pytest.mark.parametrize(
        "name",
        ["", "default", "kube-system", "kube-node-lease", "system-cluster-critical", "true", "rbd"],
    )
    def test_what_every_cluster_has_stays(self, aliases: Aliases, name: str) -> None:
        assert aliases.name(name) == name

    def test_handles_by_which_volumes_are_recognised(self, aliases: Aliases) -> None:
        assert re.fullmatch(
            rf"aws://{WORD.pattern}-{WORD.pattern}/vol-{WORD.pattern}",
            aliases.name("aws://eu-1a/vol-0abc"),
        )
        disk = aliases.name("disk")
        assert aliases.name("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk") == (
            f"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{disk}"
        )

    def test_letters_of_other_alphabets_do_not_slip_through(self, aliases: Aliases) -> None:
        assert re.fullmatch(r"x[a-z2-7]{16}", aliases.name("käse"))

    def test_another_key_gives_other_names(self, aliases: Aliases) -> None:
        assert aliases.name("web") == Aliases(b"secret").name("web")
        assert aliases.name("web") != Aliases(b"other").name("web")

    @given(NAMES, NAMES)
    def test_different_names_stay_different(self, one: str, other: str) -> None:
        aliases = Aliases(b"secret")
        assert (aliases.name(one) == aliases.name(other)) == (one == other)

    @given(st.text(alphabet=st.characters(codec="ascii"), max_size=80))
    def test_it_can_be_taken_back_by_who_has_the_table(self, text: str) -> None:
        aliases = Aliases(b"secret")
        alias = aliases.name(text)
        back = re.sub(r"[A-Za-z0-9]+", lambda word: aliases.originals.get(word[0], word[0]), alias)
        assert back == text


class TestLabels:
    @given(VALUES)
    def test_values_stay_values(self, value: str) -> None:
        aliases = Aliases(b"secret")
        alias = aliases.label_value(value)
        assert "__" in value or is_label_value(alias)
        assert (alias == "") == (value == "")

    def test_a_value_is_the_alias_of_the_name(self, aliases: Aliases) -> None:
        assert aliases.label_value("web-0") == aliases.name("web-0")

    def test_a_value_of_many_words(self, aliases: Aliases) -> None:
        value = "a-b-c-d-e-f-g-h"
        assert re.fullmatch(r"x[a-z2-7]{16}", aliases.label_value(value))

    def test_zones_in_one_value(self, aliases: Aliases) -> None:
        one, other = aliases.label_value("eu-1a"), aliases.label_value("eu-1b")
        assert aliases.label_value("eu-1a__eu-1b") == f"{one}__{other}"

    @pytest.mark.parametrize("number", ["0", "42", "-7", "+5", "007"])
    def test_numbers_stay_on_nodes_only(self, aliases: Aliases, number: str) -> None:
        assert aliases.node_label_value(number) == number
        assert aliases.label_value(number) != number

    def test_other_values_are_the_same_on_nodes_and_pods(self, aliases: Aliases) -> None:
        for value in ("a", "v1", "12345678901234567890123", "a__b", ""):
            assert aliases.node_label_value(value) == aliases.label_value(value)

    @pytest.mark.parametrize(
        ("key", "known"),
        [
            ("kubernetes.io/hostname", True),
            ("topology.kubernetes.io/zone", True),
            ("node-role.kubernetes.io/worker", True),
            ("node.cluster.x-k8s.io/pool", False),
            ("node.k8s.io/pool", False),
            ("acme.kubernetes.io/x", False),
            ("topology.acme.com/rack", False),
            ("node-role.kubernetes.io/acme", False),
            ("topology.gke.io/zone", True),
            ("topology.ebs.csi.aws.com/zone", True),
            ("pod-template-hash", True),
            ("acmekubernetes.io/x", False),
            ("kubernetes.io", False),
            ("acme.com/team", False),
            ("app", False),
        ],
    )
    def test_keys(self, aliases: Aliases, key: str, known: bool) -> None:
        assert is_well_known(key) is known
        alias = aliases.label_key(key)
        assert (alias == key) is known
        assert is_label_key(alias)
        assert "acme" not in alias or known

    def test_a_key_of_many_words(self, aliases: Aliases) -> None:
        alias = aliases.label_key("acme.com/a-b-c-d-e-f-g-h-i-j")
        assert is_label_key(alias)
        assert re.fullmatch(r"x[a-z2-7]{16}", alias)


def test_images_have_a_tag(aliases: Aliases) -> None:
    alias = aliases.image("registry.acme.com:5000/shop/web")
    assert re.fullmatch(r"x[a-z2-7]{16}:x", alias)
    assert aliases.image("") == ""


RESOURCES = st.one_of(
    st.from_regex(
        r"(requests\.|hugepages-|attachable-volumes-|attachable-volumes-csi-)?"
        r"([a-z]{1,9}\.){0,5}([a-z]{1,9}|kubernetes\.io)(/[A-Za-z]([-A-Za-z0-9_.]{0,61}[a-z])?)?",
        fullmatch=True,
    ),
    st.text(max_size=20),
)


class TestResources:
    @pytest.mark.parametrize(
        ("name", "stays"),
        [
            ("cpu", True), ("memory", True), ("pods", True), ("ephemeral-storage", True),
            ("hugepages-2Mi", True), ("attachable-volumes-aws-ebs", True),
            ("attachable-volumes-csi-ebs.csi.aws.com", True), ("nvidia.com/gpu", True),
            ("nvidia.com/mig-1g.5gb", True), ("amd.com/gpu", True),
            ("nvidia.com/acme", False), ("acme.com/gpu", False), ("acme.com/nvidia.com", False),
            ("hugepages-acme", False), ("acme", False), ("acme.kubernetes.io/x", False),
            ("attachable-volumes-csi-acme.com", False), ("requests.acme.com/x", False),
        ],
    )  # fmt: skip
    def test_well_known_ones_stay(self, aliases: Aliases, name: str, stays: bool) -> None:
        assert (aliases.resource(name) == name) is stays
        assert "acme" not in aliases.resource(name)
        assert aliases.resource(name) == Aliases(b"secret").resource(name)

    @given(RESOURCES)
    def test_a_resource_is_counted_as_before(self, name: str) -> None:
        alias = Aliases(b"secret").resource(name)
        for counts in (is_extended, is_scalar, is_counted):
            assert counts(alias) == counts(name), alias
        assert alias == name or not is_well_known_resource(alias)

    @given(RESOURCES, RESOURCES)
    def test_different_ones_stay_different(self, one: str, other: str) -> None:
        aliases = Aliases(b"secret")
        assert (aliases.resource(one) == aliases.resource(other)) == (one == other)

    def test_drivers_and_schedulers(self, aliases: Aliases) -> None:
        assert aliases.driver("ebs.csi.aws.com") == "ebs.csi.aws.com"
        assert aliases.driver("kubernetes.io/no-provisioner") == "kubernetes.io/no-provisioner"
        assert aliases.driver("kubernetes.io/acme") == f"kubernetes.io/{aliases.name('acme')}"
        alias = aliases.driver("csi.acme.com")
        assert aliases.resource("attachable-volumes-csi-csi.acme.com").endswith(alias)
        assert aliases.scheduler("default-scheduler") == "default-scheduler"
        assert aliases.scheduler("acme") == aliases.name("acme")
        assert aliases.named[("Scheduler", "acme")] == aliases.name("acme")


def test_what_has_a_new_name_is_written_down(aliases: Aliases) -> None:
    given = {
        ("Namespace", "shop"): aliases.namespace("shop"),
        ("Key", "acme.com/team"): aliases.label_key("acme.com/team"),
        ("Value", "blue"): aliases.label_value("blue"),
        ("Value", "eu-1__eu-2"): aliases.node_label_value("eu-1__eu-2"),
        ("Image", "web:1"): aliases.image("web:1"),
    }
    kept = [
        aliases.namespace("kube-system"),
        aliases.label_key("kubernetes.io/hostname"),
        aliases.label_value(""),
        aliases.node_label_value("42"),
        aliases.image(""),
    ]
    assert kept == ["kube-system", "kubernetes.io/hostname", "", "42", ""]
    assert aliases.named == given
