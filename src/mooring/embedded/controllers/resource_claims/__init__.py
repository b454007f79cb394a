"""The controllers of ResourceClaims: create them for pods, and release what nobody uses any more.

parity v1.36.4: pkg/controller/resourceclaim

They read pods from the index and everything else from the client's store, and so run on the
embedded cluster as well as on a mirror of any other one.
"""
