"""A process, run in callgrind, that decides about pods in the window that is counted.

Started by `instructions` with one case as its argument; says how many decisions it made.
"""

import sys

from benchmarks.check.cases import Case
from benchmarks.check.valgrind_requests import Counting
from benchmarks.check.worker import measure_slice, ready


def main() -> None:
    """Have one slice of a case counted."""
    bench = ready(Case.parse(sys.argv[1]))
    counting = Counting()
    measure_slice(bench, counting)  # what callgrind itself does first must not count
    counting.reset()
    print(measure_slice(bench, counting))


if __name__ == "__main__":
    main()
