"""How an extender's answers are quoted."""

from mooring.deploy.extender_test.calling import Reply
from mooring.deploy.extender_test.judging import status_words


def test_a_long_text_beside_a_status_ends_visibly() -> None:
    said = status_words(Reply(status=500, body=b"start it with a cluster, " * 20))
    assert said.startswith("status 500: start it with a cluster, start")
    assert said.endswith("…")


def test_a_text_of_a_few_lines_is_quoted_whole() -> None:
    body = b"x" * 230
    assert status_words(Reply(status=500, body=body)) == f"status 500: {body.decode()}"
