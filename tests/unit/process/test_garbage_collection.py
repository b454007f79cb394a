"""How much the garbage collector looks at, seen in a process of its own."""

import subprocess
import sys

SCRIPT = """
import gc
from mooring.process.garbage_collection import (
    collect_everything,
    collect_in_short_pauses,
    few_collections,
    no_collection,
)

looks = gc.get_stats()[0]["collections"]
with no_collection():
    modules = [[] for _ in range(50_000)]
    with no_collection():
        pass
    assert not gc.isenabled()
assert gc.isenabled()
assert gc.get_stats()[0]["collections"] == looks
assert gc.get_freeze_count() > 50_000
gc.unfreeze()
del modules
collect_in_short_pauses()
collect_in_short_pauses()
assert len(gc.callbacks) == 1
kept = [[] for _ in range(200_000)]
young = len(gc.get_objects())
assert young < 30_000, young
assert gc.get_freeze_count() > 150_000

looks, threshold = gc.get_stats()[0]["collections"], gc.get_threshold()
with few_collections():
    more = [[] for _ in range(200_000)]
    assert gc.get_stats()[0]["collections"] == looks
    still_more = [[] for _ in range(400_000)]
    assert gc.get_stats()[0]["collections"] > looks
assert gc.get_threshold() == threshold
assert gc.get_freeze_count() > 750_000
del more, still_more


class Node:
    pass


def ring():
    one, other = Node(), Node()
    one.other, other.other = other, one


before = gc.get_stats()[0]["collected"] + gc.get_stats()[1]["collected"]
for _ in range(20_000):
    ring()
found = gc.get_stats()[0]["collected"] + gc.get_stats()[1]["collected"] - before
assert found > 30_000, found

ring_of_old = [Node() for _ in range(2)]
ring_of_old[0].other, ring_of_old[1].other = ring_of_old[1], ring_of_old[0]
gc.freeze()
del ring_of_old
assert gc.collect() < 4
old = gc.get_stats()[2]["collected"]
collect_everything()
assert gc.get_stats()[2]["collected"] > old
assert gc.get_freeze_count() > 200_000
"""


def test_new_objects_are_looked_at_and_old_ones_are_not() -> None:
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
