"""Conditions on labels as people say them: ``zone in (a, b)``, ``gpu exists``.

Called by the remedies of plugins, which name the conditions that a pod could give up.
"""

from mooring.model.selectors import Requirement


def requirement_text(requirement: Requirement) -> str:
    """A condition as people say it."""
    values = requirement.values or []
    among = values[0] if len(values) == 1 else f"({', '.join(values)})"
    match requirement.operator:
        case "In":
            return (
                f"{requirement.key}={among}"
                if values[:1] and not values[1:]
                else (f"{requirement.key} in {among}")
            )
        case "NotIn":
            return f"{requirement.key} not in ({', '.join(values)})"
        case "Exists":
            return f"{requirement.key} exists"
        case "DoesNotExist":
            return f"{requirement.key} does not exist"
        case "Gt":
            return f"{requirement.key} > {among}"
        case "Lt":
            return f"{requirement.key} < {among}"
    return f"{requirement.key} {requirement.operator} {among}"
