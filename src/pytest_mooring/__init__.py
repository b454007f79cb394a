"""The pytest plugin of mooring: the fixture `mooring_cluster`.

pytest imports it at every start wherever mooring is installed. So it is a package of its own, which
imports nothing of mooring until a test asks for a cluster: tests that need none start as fast as
ever, and a coverage that is measured is complete.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from mooring.testing import TestCluster

#: What the fixture is: called as `mooring.testing.cluster` is.
ClusterFactory: TypeAlias = "Callable[..., TestCluster]"


@pytest.fixture
def mooring_cluster() -> Iterator[ClusterFactory]:
    """Makes clusters that are started at once and end with the test.

    Takes what `mooring.testing.cluster` takes: ``mooring_cluster(nodes=3, policy="policy.py")``.
    """
    from mooring.testing import cluster  # noqa: PLC0415 - only for tests that want one

    with ExitStack() as stack:

        def make(*args: object, **kwargs: object) -> "TestCluster":
            return stack.enter_context(cluster(*args, **kwargs))  # type: ignore[arg-type]

        yield make
