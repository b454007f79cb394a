"""The version of mooring; read by the build and by `moor --version`."""

__version__ = "0.1.0"
