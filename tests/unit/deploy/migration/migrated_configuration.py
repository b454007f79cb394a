"""What a migrated text configures, as schedulers see it."""

from typing import Any

from mooring import yaml_text
from mooring.config.profiles import Profile
from mooring.config.runtimes import build_profiles
from mooring.deploy.migration import Migrated, migrate
from mooring.plugins.in_tree import default_registry


def configuration(text: str) -> dict[str, Any]:
    """The configuration in a text, or in the values of its ConfigMaps."""
    found = []
    for _, document in yaml_text.documents(text):
        data = yaml_text.parse(document)
        values = data["data"].values() if data.get("kind") == "ConfigMap" else [document]
        found += [one for one in map(yaml_text.parse, values) if isinstance(one, dict)]
    return next(one for one in found if one.get("kind") == "KubeSchedulerConfiguration")


def profile_of(text: str) -> Profile:
    """The first profile as mooring reads it."""
    return next(iter(build_profiles(configuration(text), default_registry()).values()))


def migrated_profile(text: str) -> Profile:
    return profile_of(migrate(text, source="old.yaml").text)


def names(profile: Profile, point: str) -> set[str]:
    return {one.name for one in profile.points[point]}


def weights(profile: Profile) -> dict[str, int]:
    return {one.name: one.weight for one in profile.points["score"]}


def notes(result: Migrated, *, action: bool | None = None) -> str:
    """What it says, a line for each note."""
    return "\n".join(str(one) for one in result.notes if action in (None, one.action))
