"""The scheduler's plugins: kube-scheduler's default ones under their own names, and a few more.

One module for each plugin; `in_tree` lists them.
"""
