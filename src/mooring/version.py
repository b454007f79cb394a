"""The version of mooring; read by the build and by `moor --version`."""

__version__ = "0.1.0"
#: What mooring decides like and is tested with.
KUBERNETES_VERSION = "v1.36.4"
