"""The old in-tree volume plugins, and the CSI drivers that took their volumes over.

Owns the table of names. Called by the volume plugins, which translate volumes, and by snapshots,
which leave these names as they are.
"""

from typing import Final

import msgspec

# parity v1.36.4: csi-translation-lib/plugins


class InTreePlugin(msgspec.Struct, frozen=True):
    """An in-tree plugin and the CSI driver that took over.

    Attributes:
        source: the field of a volume that holds this plugin's source.
        name: the plugin's name, as provisioners of storage classes have it.
        driver: the CSI driver's name.
        topology: the driver's label for the zone; empty if it keeps the standard one.
        counted: whether the volumes count against the driver's limit.
    """

    source: str
    name: str
    driver: str
    topology: str = ""
    counted: bool = True


_PLUGINS: Final = (
    InTreePlugin(
        "gce_persistent_disk",
        "kubernetes.io/gce-pd",
        "pd.csi.storage.gke.io",
        "topology.gke.io/zone",
    ),
    InTreePlugin(
        "aws_elastic_block_store",
        "kubernetes.io/aws-ebs",
        "ebs.csi.aws.com",
        "topology.ebs.csi.aws.com/zone",
    ),
    InTreePlugin(
        "cinder",
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
    ),
    InTreePlugin("azure_disk", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
    InTreePlugin("portworx_volume", "kubernetes.io/portworx-volume", "pxd.portworx.com"),
    InTreePlugin("azure_file", "kubernetes.io/azure-file", "file.csi.azure.com", counted=False),
    InTreePlugin(
        "vsphere_volume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", counted=False
    ),
)
#: The in-tree plugins by name.
IN_TREE_PLUGINS: Final = {plugin.name: plugin for plugin in _PLUGINS}
