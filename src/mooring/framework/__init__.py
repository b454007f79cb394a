"""The contract between policies and whatever runs them.

Owns `Policy`, the hooks, `Verdict`, the rules that check what a function returns, and loading. It
does no I/O besides importing a policy's module, and reads no clock.
"""
