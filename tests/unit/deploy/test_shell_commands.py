import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.deploy.shell_commands import read_shell_string, shell_string_at, without_word


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["sh", "-c", "x"], 2),
        (["/bin/sh", "-ec", "x"], 2),
        (["/bin/bash", "-e", "-c", "x"], 3),
        (["/sbin/tini", "--", "/bin/sh", "-c", "x"], 4),
        (["busybox", "sh", "-c", "x"], 3),
        (["bash", "-o", "pipefail", "-c", "x"], 4),
        (["bash", "-euo", "pipefail", "-c", "x"], 4),
        (["bash", "-c", "-euo", "pipefail", "x"], 4),
        (["bash", "--login", "-c", "x"], 3),
        (["bash", "--rcfile", "/x", "-c", "x"], 4),
        (["bash", "+x", "-c", "--", "x"], 4),
        (["bash", "-o", "-c", "x"], None),
        (["env", "A=1", "nice", "-n", "5", "bash", "-c", "x"], 7),
        (["grep", "sh", "-c", "x"], None),
        (["sh", "-c"], None),
        (["sh", "script.sh", "-c", "x"], None),
        (["kube-scheduler", "-c", "x"], None),
        ([], None),
    ],
)
def test_where_the_string_is(words: list[str], at: int | None) -> None:
    assert shell_string_at(words) == at


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("exec /bin/a --b=c 1>>/var/log/a.log 2>&1", [["/bin/a", "--b=c"]]),
        ("set -e; X=1 a 'b c' \"d\"e\\ f", [["set", "-e"], ["a", "b c", "de f"]]),
        ("a \\\n  --b \\\n  c\n# --d\n", [["a", "--b", "c"]]),
        ("mkdir -p /x && nohup a | tee log &", [["mkdir", "-p", "/x"], ["a"], ["tee", "log"]]),
        ("", []),
    ],
)
def test_words_of_commands(text: str, commands: list[list[str]]) -> None:
    found = read_shell_string(text)
    assert found.problem == ""
    assert [[one.value for one in words] for words in found.commands] == commands
    assert all(one.fixed for words in found.commands for one in words)


@pytest.mark.parametrize(
    "word", ["$A", "--a=$A", "--a=${A:-b}", "$(A)", '"$A"', "`a`", "*.yaml", "~/a", "{a,b}"]
)
def test_what_the_shell_expands_is_not_fixed(word: str) -> None:
    [[_, found]] = read_shell_string(f"a {word}").commands
    assert not found.fixed
    assert read_shell_string(f"a '{word}'").commands[0][1].fixed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("if true; then a; fi", "it uses if"),
        ("for x in a; do $x; done", "it uses for"),
        ("(a --b)", "'(a --b)' is not understood"),
        ("a 'b", '"\'b" is not understood'),
        ("cat <<E\na\nE\n", "it has a here-document"),
        ("eval a", "it uses eval"),
    ],
)
def test_what_is_too_clever(text: str, problem: str) -> None:
    assert read_shell_string(text).problem == problem


def test_words_are_taken_out_with_the_space_before_them() -> None:
    text = "a --b=1  --c=2 \\\n  --d=3 \\\n  --e=4\n"
    words = read_shell_string(text).commands[0]
    assert without_word(text, words[2]) == "a --b=1 \\\n  --d=3 \\\n  --e=4\n"
    assert without_word(text, words[4]) == "a --b=1  --c=2 \\\n  --d=3\n"
    for word in reversed(words[1:]):
        text = without_word(text, word)
    assert text == "a\n"


@given(st.text(alphabet="ab -='\"\\$`(){}<>&|;#\n*", max_size=40))
def test_any_string_may_be_given(text: str) -> None:
    found = read_shell_string(text)
    for words in found.commands:
        for word in words:
            assert word.start < word.end
            assert text[word.start] not in " \n;&|<>"


@given(st.lists(st.text(alphabet="ab -='\"\\$`()\n*", min_size=1), min_size=1, max_size=5))
def test_words_are_those_that_were_quoted(words: list[str]) -> None:
    found = read_shell_string(shlex.join(["program", *words]))
    [command] = found.commands
    assert [one.value for one in command[1:]] == words
