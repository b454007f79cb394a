"""Old scheduler configuration, translated to ``kubescheduler.config.k8s.io/v1``.

`migrate` takes a text and returns a text; ``moor migrate`` and the doctor call it. No module here
opens a file.
"""

from mooring.deploy.migration.migration import Migrated, migrate, migrate_all
from mooring.deploy.migration.migration_error import MigrationError
from mooring.deploy.migration.notes import Note

__all__ = ["Migrated", "MigrationError", "Note", "migrate", "migrate_all"]
