"""From a laptop to a cluster: scaffold, manifests, migration, doctor, extender test.

Called by `mooring.cli`. A folder for each command. Import the module you need; this one imports
nothing.
"""
