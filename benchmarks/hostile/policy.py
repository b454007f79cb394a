"""A policy that hangs where the pod's name says so; served by the benchmark."""

import ctypes
import threading
import time

import mooring as mr

policy = mr.Policy("hostile", usage=False)


@policy.filter
def check(pod: mr.Pod, node: mr.Node) -> bool:
    if pod.name == "hangs":
        time.sleep(3600)
    if pod.name == "stuck":
        _deaf()
    return True


@policy.score
def rate(pod: mr.Pod, node: mr.Node) -> int:
    return 50


def _deaf() -> None:
    """Wait in C for a lock that is never opened: no signal reaches Python."""
    libc = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(64)
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)
