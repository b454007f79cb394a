"""From a laptop to a cluster: scaffold, manifests, migration, doctor, extender test.

Called by `mooring.cli`. A folder for each command; what they print is made there, what they read
and write is passed in by the command line where that is possible.
"""
