"""``KubeSchedulerConfiguration``, its profiles, plugin arguments, and the registry of plugins.

From a file as kube-scheduler takes it to runtimes that are ready to decide. Opens no file. Import
the module you need; this one imports nothing.
"""
