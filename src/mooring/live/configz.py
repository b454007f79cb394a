"""What ``/configz`` shows: the configuration in force, as a file would say it.

Every profile has the plugins that really run, at each extension point. Keys and passwords are left
out.
"""

from typing import Any
from urllib.parse import urlsplit

import msgspec

from mooring.config.profiles import Profile
from mooring.live.options import SchedulerSettings

_HIDDEN = "<hidden>"


def shown_configuration(settings: SchedulerSettings) -> dict[str, Any]:
    """The configuration in force, as plain data."""
    shown: dict[str, Any] = msgspec.to_builtins(settings.configuration, enc_hook=str)
    if settings.lease is not None:
        shown["leaderElection"]["resourceName"] = settings.lease.name
    shown["profiles"] = [_profile(one) for one in settings.profiles.values()]
    for extender in shown["extenders"]:
        extender["urlPrefix"] = _without_password(extender["urlPrefix"])
        if (extender.get("tlsConfig") or {}).get("keyData"):
            extender["tlsConfig"]["keyData"] = _HIDDEN
    return shown


def _profile(profile: Profile) -> dict[str, Any]:
    plugins = {
        point: {
            "enabled": [
                {"name": one.name} | ({"weight": one.weight} if point == "score" else {})
                for one in enabled
            ],
            "disabled": [{"name": "*"}],
        }
        for point, enabled in profile.points.items()
    }
    return {
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": plugins,
        "pluginConfig": [{"name": name, "args": dict(args)} for name, args in profile.args.items()],
    }


def _without_password(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return _HIDDEN
    user, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{_HIDDEN}@{host}" if at and user else parts.netloc).geturl()
