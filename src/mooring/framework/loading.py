"""Finding the policy a user means: a file, or a module that can be imported.

``policy.py``, ``policy.py:name``, ``package.module`` and ``package.module:name`` are understood.
Whatever goes wrong becomes one sentence in a `PolicyFileError`.
"""

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from mooring.errors import InputError, PolicyFileError
from mooring.framework import foreign
from mooring.framework.policy import Policy


def load(source: str | Path) -> Policy:
    """Load a policy.

    Args:
        source: a Python file or an importable module, optionally with ``:name`` of the policy.

    Raises:
        PolicyFileError: there is no such file or module, it does not run, or it does not hold
            exactly one policy and none was named.
    """
    text = str(source)
    place, _, name = text.partition(":")
    is_file = place.endswith(".py") or "/" in place or Path(place).is_file()
    module = _run_file(Path(place)) if is_file else _import(place)
    return _pick(module, place, name)


def _pick(module: ModuleType, place: str, name: str) -> Policy:
    found = {key: value for key, value in vars(module).items() if isinstance(value, Policy)}
    if name:
        if name not in found:
            have = f"it has {', '.join(sorted(found))}" if found else "it has none"
            raise PolicyFileError(f"{place} has no policy named {name!r}; {have}")
        return found[name]
    distinct = {id(policy): key for key, policy in found.items()}
    if not distinct:
        raise PolicyFileError(
            f"{place} has no policy; write for example: policy = mooring.Policy('my-policy')"
        )
    if len(distinct) > 1:
        names = sorted(distinct.values())
        raise PolicyFileError(
            f"{place} has {len(names)} policies ({', '.join(names)}); "
            f"say which one: {place}:{names[0]}"
        )
    return found[next(iter(distinct.values()))]


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        what = "is no file" if path.exists() else "does not exist"
        raise PolicyFileError(f"{path} {what}; give a Python file or package.module:policy")
    # A file may import its neighbours, as a script may.
    _search_first(path.resolve().parent)
    name = f"mooring_policy_{path.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PolicyFileError(f"{path} is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _not_run(str(path), error) from error
    return module


def _import(name: str) -> ModuleType:
    _search_first(Path.cwd())
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        if missing or not name.strip("."):
            raise PolicyFileError(
                f"there is no module {name!r}, and no file of that name; "
                f"give a Python file or package.module:policy"
            ) from error
        raise _not_run(name, error) from error


def _search_first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _not_run(place: str, error: BaseException) -> PolicyFileError:
    said = " ".join(foreign.text_of(error).split())  # whatever it says, one line of it
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return PolicyFileError(
            f"{error.filename or place}, line {error.lineno}: {error.msg}; correct the syntax"
        )
    if isinstance(error, InputError):
        return PolicyFileError(f"{place}: {said}")
    line = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.endswith(place) or place.replace(".", "/") in frame.filename:
            line = f", line {frame.lineno}"
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return PolicyFileError(f"{place}{line} raised {what}")


def source_files(source: str | Path) -> list[Path]:
    """The Python files a policy was loaded from: its own and its neighbours' that it imported."""
    place = str(source).partition(":")[0]
    module = sys.modules.get(place)
    own = Path(module.__file__ if module and module.__file__ else place).absolute()
    folder = own.resolve().parent
    found = {own}
    for other in list(sys.modules.values()):
        name = getattr(other, "__file__", None)
        if name and Path(name).parent == folder:
            found.add(Path(name))
    return sorted(found)
