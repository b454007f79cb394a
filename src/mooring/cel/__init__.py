"""The expression language of device selectors (CEL), as Kubernetes v1.36 has it.

Owns everything from the text of an expression to its answer for one device: lexer, parser, macros,
type checker, function libraries, cost and the compiler to closures. Called by whoever allocates
devices, through `mooring.cel.device_selector`. Pure: no I/O, no clock, no state between calls.
"""
