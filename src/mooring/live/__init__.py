"""The scheduler on a live cluster: one process with informers, decisions, bindings and a server.

    options ──> settings ──> scheduler.core_building (Cluster, Runtimes, Queue, Core)
                                  │
    informers ──changes──> loop ──┴──effects──> binder, plan_executor ──> API server
                            │
    run, lifecycle: stop_signals, leader election, server (health, metrics), state_comparison

`cli` calls `run`. Decisions are made in `mooring.scheduler`; here is everything that waits:
sockets, clocks, signals. Import the module you need; this one imports nothing.
"""
