"""Who may match is found by a label, and nobody who does match is left out."""

from hypothesis import given
from hypothesis import strategies as st

from mooring.model.selectors import LabelSelector, Requirement
from mooring.state.selector_index import LabelIndex, SelectorIndex
from mooring.state.table import Table

KEYS = st.sampled_from("abc")
VALUES = st.sampled_from("xyz")
LABELS = st.dictionaries(KEYS, VALUES)
REQUIREMENTS = st.builds(
    Requirement,
    key=KEYS,
    operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    values=st.lists(VALUES),
)
SELECTORS = st.builds(
    LabelSelector,
    match_labels=st.none() | LABELS,
    match_expressions=st.none() | st.lists(REQUIREMENTS, max_size=3),
)


@given(st.lists(LABELS), st.lists(SELECTORS, max_size=2))
def test_holders_leave_out_nobody_that_is_selected(
    things: list[dict[str, str]], selectors: list[LabelSelector]
) -> None:
    holders: LabelIndex[int] = LabelIndex(Table())
    for number, labels in enumerate(things):
        holders.add(labels.items(), number)
    candidates = holders.candidates(selectors)
    if candidates is None:
        candidates = list(range(len(things)))
    assert len(set(candidates)) == len(candidates)
    assert {one for one in candidates if all(it.matches(things[one]) for it in selectors)} == {
        one
        for one, labels in enumerate(things)
        if all(selector.matches(labels) for selector in selectors)
    }


@given(st.lists(SELECTORS), LABELS, st.integers(0, 5))
def test_seekers_leave_out_nobody_that_selects(
    selectors: list[LabelSelector], labels: dict[str, str], since: int
) -> None:
    seekers: SelectorIndex[int] = SelectorIndex(Table())
    for number, selector in enumerate(selectors):
        seekers.add((selector,), number)
    candidates = list(seekers.candidates(labels.items(), since))
    assert len(set(candidates)) == len(candidates)
    assert {one for one in candidates if selectors[one].matches(labels)} == {
        one for one, selector in enumerate(selectors) if one >= since and selector.matches(labels)
    }
    assert len(seekers) == len(selectors)


def test_of_several_labels_the_rarest_is_looked_up() -> None:
    holders: LabelIndex[int] = LabelIndex(Table())
    for number in range(100):
        holders.add([("app", "web"), ("release", str(number))], number)
    both = LabelSelector(match_labels={"app": "web", "release": "7"})
    assert holders.candidates([both]) == [7]
    some = LabelSelector(
        match_labels={"app": "web"},
        match_expressions=[Requirement(key="release", operator="In", values=["3", "5", "none"])],
    )
    assert holders.candidates([some]) == [3, 5]


def test_of_several_labels_a_seeker_waits_for_the_rarest() -> None:
    seekers: SelectorIndex[int] = SelectorIndex(Table())
    for number in range(100):
        seekers.add([LabelSelector(match_labels={"app": "web", "release": str(number)})], number)
    # The first one could not know.
    assert list(seekers.candidates([("app", "web"), ("release", "7")])) == [0, 7]


def test_an_index_and_its_fork_grow_alone() -> None:
    table = Table()
    holders: LabelIndex[int] = LabelIndex(table)
    seekers: SelectorIndex[int] = SelectorIndex(table)
    web, anything = LabelSelector(match_labels={"app": "web"}), LabelSelector()

    def add(number: int, held: LabelIndex[int], seeking: SelectorIndex[int]) -> None:
        held.add([("app", "web")], number)
        seeking.add([web], number)
        seeking.add([anything], -number)

    add(1, holders, seekers)
    fork = table.fork()
    held, seeking = holders.fork(fork), seekers.fork(fork)
    add(2, holders, seekers)
    add(3, held, seeking)
    add(4, held, seeking)
    assert holders.candidates([web]) == [1, 2]
    assert held.candidates([web]) == [1, 3, 4]
    assert list(seekers.candidates([("app", "web")])) == [-2, -1, 2, 1]
    assert list(seeking.candidates([("app", "web")])) == [-4, -3, -1, 4, 3, 1]
    assert (len(seekers), len(seeking)) == (4, 6)
