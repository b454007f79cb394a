"""The scheduler on a live cluster: one process with informers, decisions, bindings and a server.

    options ──> settings ──> scheduler.building (Cluster, Runtimes, Queue, Core)
                                 │
    watching ──changes──> loop ──┴──effects──> binder, volumes ──> API server
                           │
    run: signals, leader election, server (health, metrics), checking

`cli` calls `run`. Decisions are made in `mooring.scheduler`; here is everything that waits:
sockets, clocks, signals. Import the module you need; this one imports nothing.
"""
