"""Do `moor explain` and `moor run` say the same? Random cases, decided by both.

Run by `make agreement CASES=10000`, that is `python -m tools.agreement`, and with fewer cases by
`tests/property/test_explain_equals_run.py`.

- `cases`: a random cluster, configuration, policy and pod, made from a seed;
- `policies`: the functions and plugins of random policies;
- `extenders`: answers of extenders that do not exist;
- `sides`: what explain says and what run does;
- `differences`: where the two differ;
- `plants`: changes of one side that have to be found.
"""
