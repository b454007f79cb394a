"""Plans in virtual time: what was written for a pod that is not bound is taken back."""

import msgspec

import mooring as mr
from mooring import hook
from mooring.embedded.resources import PERSISTENT_VOLUME_CLAIMS
from mooring.framework.cycle import Cycle
from mooring.model.storage import PersistentVolumeClaim
from mooring.seeds import seeded_streams
from mooring.simulator.scenario.reader import read_scenario
from mooring.simulator.scenario.scenario_run import ScenarioFiles, ScenarioRun
from mooring.simulator.scheduler_setup import set_up_scheduler

TEXT = """
cluster:
  nodeGroups: [{name: n, count: 1, cpu: 4}]
  objects:
    - apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: notes}
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: none
        resources: {requests: {storage: 5Gi}}
workloads: [{name: p, count: 1, pod: {cpu: 1}}]
"""


def note(**annotations: str | None) -> hook.Write:
    return hook.Write(
        verb="patch", kind=PersistentVolumeClaim, key="default/notes",
        body={"metadata": {"annotations": annotations}},
    )  # fmt: skip


class Notes(hook.Reserve, hook.PreBind):
    """Writes a note before a binding, and takes it back if there is none."""

    name = "Notes"
    patches = (PersistentVolumeClaim,)

    def __init__(self, plan: hook.Plan, *, fails: bool = False) -> None:
        self.plan = plan
        self.fails = fails

    def reserve(self, cycle: Cycle, node: mr.Node) -> hook.Plan:
        return self.plan

    def unreserve(self, cycle: Cycle, node: mr.Node) -> None:
        pass

    async def pre_bind(self, binding: mr.Binding) -> str | None:
        return "not today" if self.fails else None


def annotations(plugin: Notes) -> dict[str, str]:
    """What is noted on the claim when the simulation is over."""
    policy = mr.Policy("notes")
    policy.add(plugin)
    files = ScenarioFiles(lambda _: b"", lambda _: [], lambda _: [])
    run = ScenarioRun(
        read_scenario(TEXT, "s.yaml"), set_up_scheduler(None, (policy,)), seeded_streams(1), files
    )
    run.run()
    store = run.simulation.cluster.api.store
    item = store.get(PERSISTENT_VOLUME_CLAIMS, "default", "notes")
    assert item is not None
    found: dict[str, str] = item.obj["metadata"].get("annotations", {})
    return {key: value for key, value in found.items() if key.startswith("my/")}


def seen(answers: tuple[hook.KubeObject, ...]) -> hook.Write:
    """Notes what was written before it."""
    return note(**{"my/undone": "".join(answers[-1].annotations.get("my/one", "-"))})


def test_a_plan_is_taken_back_when_its_binding_fails() -> None:
    plan = hook.Plan(
        writes=(note(**{"my/one": "1"}), note(**{"my/two": "2"})),
        undo=(
            seen,
            note(**{"my/two": None}),
            msgspec.structs.replace(note(), patch_type="strategic"),
        ),
    )
    assert annotations(Notes(plan)) == {"my/one": "1", "my/two": "2"}
    assert annotations(Notes(plan, fails=True)) == {"my/one": "1", "my/undone": "1"}


def test_a_plan_is_taken_back_when_it_takes_too_long() -> None:
    plan = hook.Plan(
        writes=(note(**{"my/one": "1"}),), ready=lambda _: False, seconds=3,
        undo=(note(**{"my/one": None}),),
    )  # fmt: skip
    assert annotations(Notes(plan)) == {}
