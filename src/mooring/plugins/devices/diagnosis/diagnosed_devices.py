"""The hooks of DynamicResources for explanations: what is behind them is imported when first asked.

Inherited by DynamicResources. A scheduler that explains nothing never reads selectors as text, and
need not import what does.
"""

from collections.abc import Iterator

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook import Details, Remedies
from mooring.framework.remedies.remedy import Remedy, RemedyCase


class DiagnosedDevices(Details, Remedies):
    """The details and remedies of DynamicResources."""

    def details(self, rejected: RejectedNodes) -> str | list[str]:
        """Which devices there are, why the pod cannot have them, and who has them."""
        from mooring.plugins.devices.diagnosis.details import device_details  # noqa: PLC0415 - above

        return device_details(rejected)

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Change the claims so that there are devices for them, or free devices."""
        from mooring.plugins.devices.diagnosis.remedies import device_remedies  # noqa: PLC0415

        yield from device_remedies(case)
