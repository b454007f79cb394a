"""Why a pod gets no devices, in names and numbers, and what would help: for explanations only.

No decision depends on anything here. `DynamicResources` inherits the two hooks from
`DiagnosedDevices`.
"""
