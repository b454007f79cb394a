"""How much memory names may cost: everything a tenant can invent has an upper bound.

A name can be invented in two ways, and each has one rule that bounds it:

- **It is there**: a pod or a node that exists has it (a resource, a label, a host port, an affinity
  term). What is kept is a `SparseColumn`: one number for each object that has the name, and an
  array over all nodes only where at least one row in `array_share` has a number, so that memory
  grows with the objects that exist and shrinks with them. A name that nothing has costs nothing: it
  reads as an array of zeros that all such names share.
- **It is asked for**: a pending pod names something, and an answer over all nodes is worked out
  (masks, scores, counts of a selector). Answers are kept in an `LruCache`, which has a limit and
  forgets what nobody asked for longest.

Either way nothing depends on what is remembered: what was forgotten is worked out again.
"""

from typing import Final, NamedTuple


class MemoryBounds(NamedTuple):
    """The limits; only tests have others than the default ones.

    Attributes:
        array_share: an array is kept if at least one row in so many has a number.
        results: so many results are remembered until a node changes.
        result_bytes: so many bytes they may have in all, and
        result_bytes_per_node: so many more for each node.
        kinds: so many kinds of pods a plugin remembers one number for each node for.
        key_bytes: so many bytes the descriptions of these kinds, or of selectors, may have in all.
        classes: so many equivalence classes of pods a profile knows.
        class_bytes: so many bytes may have what is kept for them, and
        class_bytes_per_node: so many more for each node.
        templates: of so many templates of pods plugins remember what they worked out.
        selectors: of so many selectors the matching pods are counted as pods come and go.
        empty: so many groups of pods, and so many terms, and half of all of them, are kept that no
            pod has any more: pods may come back, as in a what-if.
        match_bytes: so many bytes may have what is remembered of terms that match pods.
    """

    array_share: int = 128
    results: int = 4096
    result_bytes: int = 2 << 20
    result_bytes_per_node: int = 2 << 10
    kinds: int = 96
    key_bytes: int = 8 << 20
    classes: int = 1024
    class_bytes: int = 2 << 20
    class_bytes_per_node: int = 4 << 10
    templates: int = 512
    selectors: int = 256
    empty: int = 256
    match_bytes: int = 4 << 20


BOUNDS: Final = MemoryBounds()
