"""Kubernetes objects that bring a policy onto a cluster, as data and as files.

`installation` says what is deployed, `manifest_set` makes the objects of it, and the writers
(`yaml_writer`, `kustomize_writer`, `helm_writer`, `static_pod_files`) make files of these.
"""
