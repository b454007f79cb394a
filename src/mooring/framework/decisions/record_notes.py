"""What plugins add to the record of a decision, beyond their answers.

A base of plugins that reserve something: a record says what they would write on each node. Asked
only for records, after the decision.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Filtering
from mooring.framework.verdict import Verdict


class RecordNotes(ABC):
    """A plugin that adds to records."""

    @abstractmethod
    def record_notes(
        self, cycle: Cycle, filtering: Filtering, post_filter: Verdict | None
    ) -> Mapping[str, Any]:
        """What to add to the record as plain data, by its key.

        Args:
            cycle: the decision.
            filtering: the nodes that are possible, and why others are not.
            post_filter: what the plugin said when no node was possible, if it was asked.
        """
