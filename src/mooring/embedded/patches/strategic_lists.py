"""The lists of strategic merge patches: which elements there are afterwards, and in which order.

`strategic_patch` calls it. Elements are objects that are identified by their merge key, or scalars.
The order is that of the patch; elements that only the server has keep their place among them as
well as can be.
"""

from collections.abc import Callable
from typing import Final

from mooring.embedded.patches.json_values import Value, go_kind, go_text
from mooring.embedded.patches.patch_errors import does_not_apply, internal_error
from mooring.embedded.resources import Obj

Elements = list[Value]
Merge = Callable[[Obj, Obj], Obj]

DIRECTIVE: Final = "$patch"
DELETE: Final = "delete"
MERGE: Final = "merge"
REPLACE: Final = "replace"

# parity v1.36.4: apimachinery/pkg/util/strategicpatch/patch.go


def merged_list(
    original: Elements, patch: Elements, key: str, merge: Merge, before: Elements | None = None
) -> Elements:
    """A list merged into another one.

    Args:
        original: the list of the server.
        patch: what is to be merged in; elements with a directive delete or replace.
        key: the merge key, if the elements are objects.
        merge: merges an object into another one.
        before: a copy of `original`, which becomes, in place, what the API server takes for the
            order before the patch: its memory is used again, so that elements which are added take
            the places of those that are deleted.
    """
    if not original and not patch:
        return original
    if kind_of_elements(original, patch) is not dict:
        merged = list(dict.fromkeys([*original, *patch]))
        return in_order(*split_by(merged, patch, ""), patch, original, "")
    if not key:
        raise internal_error("cannot merge lists without merge key for struct")
    memory = before if before is not None else list(original)
    original, patch, replaced = _directed(original, patch, key, memory)
    merged = list(original)
    for element in patch:
        value = _key_of(element, key)
        place = _place(merged, key, value)
        if place >= 0:
            merged[place] = merge(merged[place], element)
            continue
        if len(merged) < len(memory) and not replaced:
            memory[len(merged)] = element
        merged.append(element)
    return in_order(*split_by(merged, patch, key), patch, original, key)


def without_elements(original: Elements, gone: Elements) -> Elements:
    """A list of scalars without some of them."""
    if not original and not gone:
        return original
    if kind_of_elements(original, gone) is dict:
        raise internal_error("cannot merge lists without merge key for struct")
    return [element for element in original if element not in gone]


def kind_of_elements(*lists: Elements) -> type | None:
    """The type that all elements have; None if there are none.

    Raises:
        StatusError: they are lists, or of different types.
    """
    kinds = {type(element) for one in lists for element in one}
    if not kinds:
        return None
    if type(next(element for one in lists for element in one)) is list:
        raise does_not_apply()
    if len(kinds) > 1:
        raise internal_error(f"list element types are not identical: {go_text(list(lists))}")
    return kinds.pop()


def check_order(patch: Elements, order: Elements, key: str) -> None:
    """Reject a patch whose elements are not all in the order it gives, or not in that order."""
    if not patch or not order:
        return
    if key:
        for element in (*patch, *order):
            _must_be_object(element)
    wanted = [one for one in patch if not (key and one.get(DIRECTIVE) == DELETE)]
    position = 0
    for element in order:
        while position < len(wanted) and key and DIRECTIVE in wanted[position]:
            position += 1
        if position == len(wanted):
            return
        if key:
            equal = _key_of(wanted[position], key) == _key_of(element, key)
        else:
            equal = wanted[position] == element
        position += equal
    if position < len(wanted):
        raise internal_error(
            f"The order in patch list:\n{go_text(patch)}\n doesn't match $setElementOrder list:\n"
            f"{go_text(order)}\n"
        )


def split_by(elements: Elements, listed: Elements, key: str) -> tuple[Elements, Elements]:
    """The elements that are listed, and those that are not."""
    if not key:
        found = [one in listed for one in elements]
    else:
        found = [_place(listed, key, _key_of(one, key)) >= 0 for one in elements]
    named = [one for one, there in zip(elements, found, strict=True) if there]
    others = [one for one, there in zip(elements, found, strict=True) if not there]
    return named, others


def in_order(
    named: Elements, others: Elements, order: Elements, before: Elements, key: str
) -> Elements:
    """Elements that the patch names in its order, with the server's others put in between.

    Args:
        named: the elements in `order`.
        others: the elements that are not.
        order: how the patch orders its elements.
        before: the server's list as it was.
        key: the merge key, if the elements are objects.
    """
    if key:
        for element in (*named, *order, *others, *before):
            _key_of(element, key)
    ids = [one[key] if key else one for one in before]
    wanted = [one[key] if key else one for one in order]

    def place(element: Value, among: Elements) -> int:
        value = element[key] if key else element
        return among.index(value) if value in among else -1

    left = sorted(others, key=lambda one: place(one, ids))
    right = sorted(named, key=lambda one: place(one, wanted))
    result = []
    for element in right:
        mine = place(element, ids)
        while left and 0 <= place(left[0], ids) < mine:
            result.append(left.pop(0))
        result.append(element)
    return result + left


def _directed(
    original: Elements, patch: Elements, key: str, memory: Elements
) -> tuple[Elements, Elements, bool]:
    """Do what elements with a directive say.

    The list, the patch without them, and whether the list is replaced.
    """
    plain = []
    replaced = False
    for element in patch:
        directive = element.get(DIRECTIVE)
        if DIRECTIVE not in element:
            plain.append(element)
        elif directive == DELETE:
            value = _key_of(element, key)
            original = [one for one in original if key not in one or one[key] != value]
            memory[: len(original)] = original
        elif directive == REPLACE:
            replaced = True
        elif directive == MERGE:
            raise internal_error("merging lists cannot yet be specified in the patch")
        else:
            raise internal_error(
                f"unknown patch type: {go_text(directive)} in map: {go_text(element)}"
            )
    return (plain, [], True) if replaced else (original, plain, False)


def _place(elements: Elements, key: str, value: Value) -> int:
    for place, element in enumerate(elements):
        if not isinstance(element, dict):
            raise internal_error(f"value for key {place} is not a map")
        if key in element and element[key] == value:
            return place
    return -1


def _key_of(element: Value, key: str) -> Value:
    _must_be_object(element)
    if key not in element:
        raise internal_error(f"map: {go_text(element)} does not contain declared merge key: {key}")
    return element[key]


def _must_be_object(element: Value) -> None:
    if not isinstance(element, dict):
        raise internal_error(
            f"expected a map[string]interface {{}}, but received a {go_kind(element)}"
        )
