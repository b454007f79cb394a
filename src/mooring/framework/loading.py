"""Finding the policy a user means, in a file or a module that can be imported, and checking it.

``policy.py``, ``policy.py:name``, ``package.module`` and ``package.module:name`` are understood.
Whatever goes wrong becomes one sentence in a `PolicyFileError`. Every command that takes a policy
loads it here, so a policy that cannot work is rejected by all of them alike.
"""

import difflib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from mooring.errors import EscapeError, InputError, PolicyFileError
from mooring.framework import foreign
from mooring.framework.interruptions import why_interrupted
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.decorators import decorator_problems
from mooring.framework.policy_checks.policy_check import policy_problems
from mooring.framework.policy_checks.sources import OUR_MODULES, Problem, Sources, neighbours
from mooring.wording import counted


def load(source: str | Path) -> Policy:
    """Load a policy.

    Args:
        source: a Python file or an importable module, optionally with ``:name`` of the policy.

    Raises:
        PolicyFileError: there is no such file or module, it fails to run, it does not contain
        exactly one policy and none was named, or a check of the policy failed, such as a function
        with the wrong parameters or one that reads an attribute that pods and nodes do not have.
    """
    text = str(source)
    place, _, name = text.partition(":")
    is_file = place.endswith(".py") or "/" in place or Path(place).is_file()
    module = _run_file(Path(place)) if is_file else _import(place)
    policy = _pick(module, place, name)
    problems = [str(one) for one in policy_problems(policy, module, place)]
    if problems:
        more = len(problems) - 1
        also = (
            f" (and {counted(more, 'more problem')}: moor check {text} lists all)" if more else ""
        )
        raise PolicyFileError(f"{problems[0]}{also}", problems=problems)
    return policy


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
            f"{place} has no policy; add for example: policy = mooring.Policy('my-policy')"
        )
    if len(distinct) > 1:
        names = sorted(distinct.values())
        raise PolicyFileError(
            f"{place} has {len(names)} policies ({', '.join(names)}); "
            f"specify one: {place}:{names[0]}"
        )
    return found[next(iter(distinct.values()))]


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise _no_file(path)
    # A file may import its neighbours, as a script may.
    _search_first(path.resolve().parent)
    name = f"mooring_policy_{path.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PolicyFileError(f"{path} is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        foreign.run(spec.loader.exec_module, module)
    except (Exception, SystemExit, GeneratorExit) as error:
        del sys.modules[name]
        raise _not_run(str(path), error) from error
    return module


def _import(name: str) -> ModuleType:
    _search_first(Path.cwd())
    try:
        module = foreign.run(importlib.import_module, name)
    except (Exception, SystemExit, GeneratorExit) as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        if missing or not name.strip("."):
            raise PolicyFileError(
                f"there is no module {name!r}, and no file of that name; specify a Python file "
                "or package.module:policy"
            ) from error
        raise _not_run(name, error) from error
    if getattr(module, "__file__", None) is None and Path(name).is_dir():
        raise _no_file(Path(name))  # Python imports any folder, and finds nothing in it
    return module


def _no_file(path: Path) -> PolicyFileError:
    there = "is not a file" if path.exists() else "does not exist"
    what = "is a directory" if path.is_dir() else there
    inside = path / "policy.py"
    give = str(inside) if inside.is_file() else "a Python file or package.module:policy"
    return PolicyFileError(f"{path} {what}; specify {give}")


def _search_first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _not_run(place: str, error: BaseException) -> PolicyFileError:
    said = " ".join(foreign.text_of(error).split())  # whatever it says, one line of it
    if isinstance(error, SyntaxError) and error.lineno is not None:
        file = Sources(place).shown(error.filename or place)
        return PolicyFileError(f"{file}, line {error.lineno}: {error.msg}; fix the syntax")
    where = place
    raised = error.__cause__ if isinstance(error, EscapeError) else error
    for frame, line in traceback.walk_tb(raised.__traceback__ if raised is not None else None):
        file = frame.f_code.co_filename
        named = file.endswith(place) or place.replace(".", "/") in file
        if named and not foreign.is_ours(frame):  # our files may be called the same
            where = f"{place}, line {line}"
    wrong = _wrong_decorator(place, error)
    if wrong is not None:
        return PolicyFileError(str(wrong))
    if isinstance(error, EscapeError):
        why = why_interrupted(said) or "loading it was interrupted"
        return PolicyFileError(f"{where}: {why}; fix what blocks it")
    if isinstance(error, InputError):
        return PolicyFileError(f"{where}: {said}")
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return PolicyFileError(f"{where} raised {what}{_meant(error)}")


def _wrong_decorator(place: str, error: BaseException) -> Problem | None:
    """The decorator that an error comes from, if it is one that a policy does not have."""
    if not isinstance(error, AttributeError | TypeError | InputError):
        return None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        source = None if foreign.is_ours(frame) else Sources(place).source(file)
        for problem in decorator_problems(source, frame.f_globals) if source is not None else ():
            if problem.line == line:
                return problem
    return None


def _meant(error: BaseException) -> str:
    """The name of ours that was probably meant; Python says so in a traceback only."""
    if type(error) is not AttributeError or error.name is None:
        return ""
    owner = error.obj
    ours = isinstance(owner, Policy) or (
        isinstance(owner, ModuleType) and owner.__name__ in OUR_MODULES
    )
    near = difflib.get_close_matches(error.name, dir(owner), n=1) if ours else []
    return f"; did you mean {near[0]}?" if near else ""


def source_files(source: str | Path) -> list[Path]:
    """The Python files a policy was loaded from: its own and its neighbours' that it imported."""
    place = str(source).partition(":")[0]
    module = sys.modules.get(place)
    own = Path(module.__file__ if module and module.__file__ else place).absolute()
    return sorted({own, *neighbours(own)})


def forget(files: Iterable[Path]) -> None:
    """Have what is imported from these files be imported anew by the next `load`."""
    forgotten = set(map(str, files))
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in forgotten:
            del sys.modules[name]
