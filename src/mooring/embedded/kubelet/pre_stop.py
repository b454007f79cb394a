"""How long preStop hooks keep a terminating pod on its node.

`kubelet` asks when a pod is deleted. Nothing runs in a fake container, so a pod without such a hook
stops at once; it owns no state and knows no clock.
"""

from mooring.embedded.resources import Obj


def pre_stop_seconds(pod: Obj) -> float:
    """For how many seconds after its deletion a running pod goes on.

    A hook that sleeps takes as long as it says. How long any other hook takes is not known without
    running it, so it takes the whole grace period. No hook takes longer than that.
    """
    # parity v1.36.4: kubelet/kuberuntime/kuberuntime_container.go killContainer; hooks run together
    spec = pod["spec"]
    grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    sidecars = [
        one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"
    ]
    return float(max(_hook_seconds(one, grace) for one in (*spec["containers"], *sidecars)))


def _hook_seconds(container: Obj, grace: int) -> int:
    hook = (container.get("lifecycle") or {}).get("preStop")
    if not hook:
        return 0
    sleep = hook.get("sleep")
    return grace if sleep is None else min(sleep.get("seconds") or 0, grace)
