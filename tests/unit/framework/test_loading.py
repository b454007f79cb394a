"""Finding the policy a user means, and one sentence for whatever goes wrong."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring import InputError, Policy, PolicyFileError, load
from mooring.framework.loading import source_files

ONE = (
    "import mooring\nharbour = mooring.Policy('harbour')\nharbour.score(name='s')(lambda p, n: 1)\n"
)
TWO = ONE + "pier = mooring.Policy('pier')\npier.score(name='s')(lambda p, n: 1)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to stand in; what is imported there is gone afterwards."""
    monkeypatch.chdir(tmp_path)
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def rejected(source: str | Path) -> str:
    with pytest.raises(PolicyFileError) as caught:
        load(source)
    text = str(caught.value)
    assert isinstance(caught.value, InputError)
    assert "\n" not in text
    assert text == text.strip()
    return text


def test_a_file_with_one_policy_is_loaded() -> None:
    path = write("policy.py", ONE)
    for source in ("policy.py", "./policy.py", path, path.absolute()):
        assert load(source).name == "harbour"


def test_a_file_name_with_dashes_is_loaded() -> None:
    write("deep/gpu-packing.py", ONE)
    assert load("deep/gpu-packing.py").name == "harbour"


def test_a_policy_is_picked_by_name() -> None:
    write("policy.py", TWO)
    assert load("policy.py:pier").name == "pier"
    assert load("policy.py:harbour").name == "harbour"


def test_a_module_is_imported_from_the_folder_one_stands_in() -> None:
    write("fleet.py", ONE)
    write("ships/tug.py", TWO)
    assert load("fleet").name == "harbour"
    assert load("fleet:harbour").name == "harbour"
    assert load("ships.tug:pier").name == "pier"


def test_one_policy_under_two_names_is_one_policy() -> None:
    write("policy.py", ONE + "alias = harbour\n")
    assert load("policy.py").name == "harbour"
    assert load("policy.py:alias").name == "harbour"


def test_a_file_is_loaded_anew_each_time() -> None:
    write("policy.py", ONE)
    first = load("policy.py")
    write("policy.py", ONE.replace("'harbour'", "'lighthouse'"))
    assert load("policy.py").name == "lighthouse"
    assert first.name == "harbour"


def test_a_file_may_import_its_neighbours() -> None:
    write("sub/neighbour_of_policy.py", "NAME = 'quay'\n")
    text = "import mooring\nfrom neighbour_of_policy import NAME\np = mooring.Policy(NAME)\n"
    text += "p.score(name='s')(lambda p, n: 1)\n"
    write("sub/policy.py", text)
    assert load("sub/policy.py").name == "quay"


def test_a_loaded_policy_works() -> None:
    write("policy.py", ONE + "@harbour.filter\ndef f(pod, node): return 'no'\n")
    policy = load("policy.py")
    assert isinstance(policy, Policy)
    assert [rule.name for rule in policy.filters] == ["f"]


def test_a_file_without_policy_is_rejected_with_an_example() -> None:
    write("policy.py", "x = 1\n")
    assert rejected("policy.py").startswith("policy.py has no policy; add for example: policy = ")


def test_two_policies_need_a_name() -> None:
    write("policy.py", TWO)
    text = rejected("policy.py")
    assert text.startswith("policy.py has 2 policies (harbour, pier); specify one: policy.py:")


def test_a_name_that_is_not_there_is_rejected_with_those_that_are() -> None:
    write("policy.py", TWO)
    write("empty.py", "harbour = 'no policy'\n")
    assert rejected("policy.py:buoy") == (
        "policy.py has no policy named 'buoy'; it has harbour, pier"
    )
    assert rejected("empty.py:harbour") == "empty.py has no policy named 'harbour'; it has none"


def test_a_syntax_error_is_told_with_file_and_line() -> None:
    write("policy.py", "import mooring\nif True\n    pass\n")
    text = rejected("policy.py")
    assert "policy.py, line 2: " in text
    assert text.endswith("; fix the syntax")


def test_a_syntax_error_of_a_neighbour_names_the_neighbour() -> None:
    write("broken_neighbour.py", "x = (\n")
    write("policy.py", "import broken_neighbour\n")
    assert "broken_neighbour.py, line 1: '(' was never closed" in rejected("policy.py")


def test_a_file_in_another_encoding_is_rejected() -> None:
    Path("policy.py").write_bytes(b"x = '\xff'\n")
    assert "policy.py, line 1: (unicode error)" in rejected("policy.py")


def test_what_a_file_raises_is_told_with_its_line() -> None:
    write("policy.py", "def f():\n    return {}['x']\n\nf()\n")
    assert rejected("policy.py") == "policy.py, line 2 raised KeyError: 'x'"
    assert "mooring_policy_policy" not in sys.modules


def test_what_a_neighbour_raises_is_told_with_the_files_own_line() -> None:
    write("raising_neighbour.py", "\n\n\nraise ValueError('deep')\n")
    write("policy.py", "import sys\nimport raising_neighbour\n")
    assert rejected("policy.py") == "policy.py, line 2 raised ValueError: deep"


def test_an_error_of_many_lines_is_told_in_one() -> None:
    write("policy.py", "raise ValueError('first\\n\\n   second')\n")
    assert rejected("policy.py") == "policy.py, line 1 raised ValueError: first second"


def test_an_error_that_says_nothing_is_told_by_its_type() -> None:
    write("policy.py", "assert False\n")
    assert rejected("policy.py") == "policy.py, line 1 raised AssertionError"


def test_an_error_whose_text_cannot_be_made_is_told_by_its_type() -> None:
    write("policy.py", "class Odd(Exception):\n    __str__ = None\n\nraise Odd\n")
    assert rejected("policy.py") == "policy.py, line 4 raised Odd: a Odd"


def test_a_syntax_error_raised_by_hand_is_an_error_like_others() -> None:
    write("policy.py", "raise SyntaxError('not my dialect')\n")
    assert rejected("policy.py") == "policy.py, line 1 raised SyntaxError: not my dialect"


def test_moorings_own_errors_are_told_as_they_are() -> None:
    write("policy.py", "import mooring\nmooring.Policy('a b')\n")
    assert rejected("policy.py").startswith("policy.py, line 2: policy name 'a b' is invalid; ")


@pytest.mark.parametrize("leave", ["import sys; sys.exit(3)", "raise SystemExit"])
def test_a_file_that_exits_does_not_take_mooring_along(leave: str) -> None:
    write("policy.py", f"{leave}\n")
    write("leaving.py", f"{leave}\n")
    assert "policy.py, line 1 raised SystemExit" in rejected("policy.py")
    assert "leaving, line 1 raised SystemExit" in rejected("leaving")


def test_an_interrupt_is_not_held_up() -> None:
    write("policy.py", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load("policy.py")


def test_a_missing_file_is_rejected() -> None:
    assert rejected("away.py").startswith("away.py does not exist; specify a Python file or ")
    assert rejected(Path("sub/away")).startswith("sub/away does not exist")


def test_a_folder_is_no_policy_file() -> None:
    Path("folder.py").mkdir()
    assert rejected("folder.py").startswith("folder.py is a directory; specify a Python file or ")
    Path("shop").mkdir()
    assert rejected("shop").startswith("shop is a directory; specify a Python file or ")
    write("shop/policy.py", ONE)
    assert rejected("shop") == "shop is a directory; specify shop/policy.py"
    write("shop/policy.py", "policy = (")
    assert rejected("shop/policy.py").startswith("shop/policy.py, line 1: ")


def test_a_file_that_does_not_end_in_py_is_rejected() -> None:
    write("policy.txt", ONE)
    assert rejected("policy.txt") == "policy.txt is not a Python file; its name must end in .py"


@pytest.mark.parametrize("name", ["no_such_module", "no_such.module", "", "..", "sys.no_such"])
def test_a_missing_module_is_rejected(name: str) -> None:
    assert rejected(name).startswith(f"there is no module {name!r}, and no file of that name; ")


@pytest.mark.parametrize("missing", ["sea", "seaweed", "elsewhere"])
def test_a_module_that_lacks_another_is_not_missing_itself(missing: str) -> None:
    write("seaport.py", f"import {missing}\n")
    assert rejected("seaport") == (
        f"seaport, line 1 raised ModuleNotFoundError: No module named {missing!r}"
    )


def test_a_relative_module_is_rejected() -> None:
    assert rejected(".fleet").startswith(".fleet raised TypeError: ")


def test_source_files_are_the_policys_own_and_its_neighbours(folder: Path) -> None:
    write("sub/near_one.py", "")
    write("sub/never_imported.py", "")
    write("sub/policy.py", f"import json, near_one\n{ONE}")
    load("sub/policy.py")
    own = [folder / "sub/near_one.py", folder / "sub/policy.py"]
    assert source_files("sub/policy.py") == own
    assert source_files(Path("sub/policy.py")) == own
    assert source_files(f"{folder}/sub/policy.py:harbour") == own


def test_source_files_of_a_module_are_found_by_its_name(folder: Path) -> None:
    write("ship_yard.py", ONE)
    write("another_yard.py", "import ship_yard\nfrom ship_yard import harbour\n")
    load("another_yard")
    assert source_files("another_yard:harbour") == [
        folder / "another_yard.py",
        folder / "ship_yard.py",
    ]


def test_source_files_of_what_was_never_loaded_is_the_file_itself(folder: Path) -> None:
    assert source_files("away.py") == [folder / "away.py"]
