import mooring

nodes = [
    {
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "32Gi", "pods": "110"}},
    }
    for name, cpu in [("small", "2"), ("large", "16")]
]
pod = {
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "4"}}}]},
}

record = mooring.explain(nodes, pod)
print(record.feasible)  # ['large']
print(record.to_dict()["filter"]["NodeResourcesFit"]["small"]["reasons"])  # ['Insufficient cpu']
