"""Fixtures that several end-to-end tests share."""

import pytest

from tests.e2e.installed_package import InstalledPackage, install_package


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> InstalledPackage:
    """The built wheel, installed in an environment of its own."""
    return install_package(tmp_path_factory.mktemp("wheel"))
