"""The soak test: `moor run` on a real API server while everything goes wrong, and what must hold.

``make soak MINUTES=10 SEED=1 REPLICAS=2`` runs it; docs/benchmarks/soak.md describes it. Begin with
`script` (what happens, from the seed alone), then `driver` (one phase), `checks` (what must hold).
"""
