import pytest

from mooring.embedded.http.reviews import REVIEWS, REVIEWS_BY_PATH, review
from mooring.embedded.status_errors import StatusError


def test_everything_is_allowed() -> None:
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    answer = review("selfsubjectaccessreviews", {"spec": spec}, "me")
    assert answer == {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": True},
    }


def test_rules_allow_everything() -> None:
    answer = review("selfsubjectrulesreviews", {"spec": {"namespace": "a"}}, "me")
    assert answer["status"]["resourceRules"] == [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    ]
    assert answer["status"]["incomplete"] is False


def test_a_self_subject_review_names_the_user() -> None:
    answer = review("selfsubjectreviews", {}, "me")
    assert answer["status"]["userInfo"]["username"] == "me"
    assert "spec" not in answer
    answer = review("tokenreviews", {"spec": {"token": "t"}}, "me")
    assert answer["status"]["authenticated"] is True
    assert answer["status"]["user"]["username"] == "me"


def test_there_are_no_other_questions() -> None:
    with pytest.raises(StatusError) as caught:
        review("pods", {}, "me")
    assert caught.value.code == 404


@pytest.mark.parametrize("question", REVIEWS, ids=lambda one: one.plural)
def test_questions_can_only_be_created(question: object) -> None:
    assert question in REVIEWS_BY_PATH.values()
    assert getattr(question, "verbs", None) == ("create",)
