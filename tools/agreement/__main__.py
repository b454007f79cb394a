"""The command line: `python -m tools.agreement`, run by `make agreement`.

Prints the first cases in which `moor explain` and `moor run` differ. Exit codes: 0 they agree in
all cases, 1 they differ.
"""

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence

from tools.agreement.cases import make_case
from tools.agreement.differences import differences

#: So many differences are printed.
_SHOWN = 10
#: Somebody who waits hears of it once in so many cases.
_EVERY = 500


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare cases and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.agreement", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="how many cases")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed")
    options = parser.parse_args(arguments)
    logging.disable()  # plugins fail on purpose
    differing = 0
    found: Counter[str] = Counter()
    begin = time.process_time()
    for seed in range(options.first, options.first + options.cases):
        different = differences(make_case(seed))
        differing += bool(different)
        for one in different:
            if found.total() < _SHOWN:
                print(one)
            found[one.what] += 1
        if (seed + 1) % _EVERY == 0:
            print(f"{seed + 1 - options.first} cases, {differing} differ", file=sys.stderr)
    seconds = time.process_time() - begin
    agree = options.cases - differing
    print(f"agreement: {agree} of {options.cases} cases agree ({seconds:.0f} s of CPU time)")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
