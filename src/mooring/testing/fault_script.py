"""Which fault a request meets, by seed.

`FaultyProxy` asks for every request and every event. Nothing here does I/O, reads a clock or draws
from a global generator: the same seed and the same requests meet the same faults.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mooring.testing.fault_target import FaultTarget
from mooring.testing.faults import Fault


class Strike(NamedTuple):
    """A fault that happens now.

    Attributes:
        fault: which.
        seconds: how long it takes.
        number: which fault of the script, from 0.
    """

    fault: Fault
    seconds: float
    number: int


class FaultScript:
    """Decides which fault a request or an event meets: the first that strikes.

    Whether one does depends on the seed, on the fault's place in the script, and on which request
    it is: the client, the method, the path, and how many of these there were before. What other
    clients do meanwhile changes nothing, apart from `times` and `skip`, which count all.

    Args:
        faults: in the order in which they are tried.
        seed: another one, other faults.
    """

    def __init__(self, faults: Sequence[Fault] = (), seed: int = 0) -> None:
        self.faults = tuple(faults)
        self._seed = seed
        self._met: Counter[tuple[str, ...]] = Counter()
        self._seen = [0] * len(self.faults)
        self._struck = [0] * len(self.faults)

    def decide(self, target: FaultTarget) -> Strike | None:
        """The fault that this one meets; None for none."""
        if not self.faults:
            return None
        key = (target.client, target.method, target.path, "event" if target.event else target.verb)
        self._met[key] += 1
        strike: Strike | None = None
        for number, fault in enumerate(self.faults):
            if not fault.on.match(target):
                continue
            self._seen[number] += 1
            if strike is not None or self._seen[number] <= fault.skip:
                continue
            if fault.times is not None and self._struck[number] >= fault.times:
                continue
            chance, part = self._draw(number, key)
            if chance < fault.chance:
                self._struck[number] += 1
                least, most = fault.seconds
                strike = Strike(fault, least + (most - least) * part, number)
        return strike

    def _draw(self, number: int, key: tuple[str, ...]) -> tuple[float, float]:
        """Two numbers from 0 to 1 that only depend on the seed and on the request."""
        text = "\0".join([str(self._seed), str(number), *key, str(self._met[key])])
        drawn = hashlib.blake2b(text.encode(), digest_size=16).digest()
        return int.from_bytes(drawn[:7]) / 2**56, int.from_bytes(drawn[8:15]) / 2**56
