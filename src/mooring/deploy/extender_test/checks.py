"""Everything that is checked of an extender: what it should do, what happens if not, what to do.

The single list of ids: the run, the command line, the guide and JUnit take their words from here.
What kube-scheduler does was read in v1.36.4: ``pkg/scheduler/extender.go``, ``schedule_one.go`` and
``framework/preemption/preemption.go``. No code, no I/O.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class Severity(StrEnum):
    """How bad it is if a check fails.

    Attributes:
        BREAKS: pods are not scheduled, or wrongly.
        COSTS: pods are scheduled, but worse or more slowly.
        HINT: kube-scheduler does not mind.
    """

    BREAKS = "breaks"
    COSTS = "costs"
    HINT = "hint"


class ExtenderCheck(NamedTuple):
    """One thing that is checked.

    Attributes:
        id: its name, also in ``--skip``.
        severity: how bad it is if it fails; for prioritize and for extenders that are ignorable
            at most `Severity.COSTS`.
        expects: what the extender should do.
        consequence: what kube-scheduler does otherwise.
        advice: what to do.
    """

    id: str
    severity: Severity
    expects: str
    consequence: str
    advice: str


_B, _C, _H = Severity.BREAKS, Severity.COSTS, Severity.HINT
_ATTEMPT = "ends the scheduling attempt with an error; the pod stays pending"

CHECKS: Final[dict[str, ExtenderCheck]] = {
    one.id: one
    for one in (
        # -- connection
        ExtenderCheck(
            "reachable", _B, "accepts connections",
            "cannot call the extender at all", "start it, or correct urlPrefix",
        ),
        ExtenderCheck(
            "speaks-tls", _B, "speaks TLS if urlPrefix is https",
            "cannot call the extender at all",
            "write http:// in urlPrefix and leave enableHTTPS out, or serve TLS there",
        ),
        ExtenderCheck(
            "tls", _B, "has a certificate that the configuration trusts",
            "refuses the connection",
            "issue the certificate for the host in urlPrefix (or tlsConfig.serverName) and set "
            "tlsConfig.caFile to its authority",
        ),
        ExtenderCheck(
            "served", _B, "serves the verb",
            "treats every call of the verb as failed",
            "serve POST on this path, or correct urlPrefix and the verb in the configuration",
        ),
        ExtenderCheck(
            "status", _B, "answers with status 200",
            "reads nothing but the status, and treats the call as failed",
            "answer with status 200; report errors of filter and bind in the field Error",
        ),
        ExtenderCheck(
            "answers", _B, "sends a complete answer in time",
            "treats the call as failed", "look in its log for why it closed the connection or did "
            "not answer",
        ),
        ExtenderCheck(
            "redirect", _C, "answers without a redirect",
            "follows 307 and 308 with a second request; after 301, 302 and 303 it sends a GET "
            "without a body", "put the final address into urlPrefix, without a slash at the end",
        ),
        ExtenderCheck(
            "encoding", _B, "sends a body that Go's HTTP client unpacks",
            "unpacks only gzip and cannot decode the rest",
            "send the body uncompressed, or with gzip",
        ),
        ExtenderCheck(
            "size", _C, "answers with no more than 256 MiB",
            "reads all of it into memory, however much it is",
            "send only what extender/v1 has, or set nodeCacheCapable: true",
        ),
        ExtenderCheck(
            "keep-alive", _C, "keeps the connection open after an answer",
            "opens a new connection (and TLS session) for every call",
            "speak HTTP/1.1 and do not send Connection: close",
        ),
        ExtenderCheck(
            "idle-connections", _B, "answers while another connection is open and idle",
            "keeps idle connections open, so its next call on a new one hangs until httpTimeout",
            "serve each connection in a thread or task of its own",
        ),
        ExtenderCheck(
            "slow-callers", _C, "answers while another caller is in the middle of a request",
            "waits behind a caller that may never finish",
            "serve each connection in a thread or task of its own",
        ),
        ExtenderCheck(
            "concurrency", _B, "answers concurrent calls independently of each other",
            "binds pods while it filters for the next ones, and gets errors or answers that "
            "belong to another pod", "keep no state of a request in variables that requests share",
        ),
        ExtenderCheck(
            "hang-up", _B, "keeps working after a caller hangs up",
            "hangs up after httpTimeout, and the next call fails",
            "handle errors while reading a request and writing an answer",
        ),
        # -- the form of answers
        ExtenderCheck(
            "json", _B, "answers with JSON",
            "cannot decode the answer and treats the call as failed", "answer with a JSON body",
        ),
        ExtenderCheck(
            "types", _B, "answers with the fields and types of extender/v1",
            "cannot decode the answer and treats the call as failed; one wrong value is enough",
            "use the types of k8s.io/kube-scheduler/extender/v1: names are strings, scores whole "
            "numbers",
        ),
        ExtenderCheck(
            "fields", _H, "sends only fields that kube-scheduler reads",
            "passes over other fields without a word",
            "spell fields as in extender/v1; the case does not matter, underscores do",
        ),
        ExtenderCheck(
            "trailing-data", _H, "sends nothing after the JSON value",
            "reads the first value and passes over the rest", "write one JSON value",
        ),
        # -- filter
        ExtenderCheck(
            "filter-error", _B, "has no Error for an ordinary pod",
            _ATTEMPT, "leave Error empty unless the extender cannot decide; reject nodes in "
            "FailedNodes",
        ),
        ExtenderCheck(
            "filter-mode", _B, "keeps nodes in the list that fits nodeCacheCapable",
            "reads NodeNames if nodeCacheCapable is true, and Nodes otherwise; without that list, "
            "no node is left", "answer with NodeNames if NodeNames came, and with Nodes if "
            "Nodes came",
        ),
        ExtenderCheck(
            "filter-names", _C, "answers names with names",
            "takes the nodes of the answer, and its own scores see them without pods",
            "answer with NodeNames if NodeNames came",
        ),
        ExtenderCheck(
            "filter-subset", _B, "keeps only nodes it was asked about",
            "fails the attempt if names were sent; if whole nodes were, it may bind the pod to a "
            "node that does not fit or does not exist", "answer from the nodes of the request",
        ),
        ExtenderCheck(
            "filter-complete", _C, "gives a reason for every node it does not keep",
            "counts no reason in the pod's event, and never preempts pods on such a node",
            "put every rejected node into FailedNodes or FailedAndUnresolvableNodes",
        ),
        ExtenderCheck(
            "filter-whole-nodes", _C, "sends whole nodes back as they came",
            "scores the nodes of the answer: without labels, taints, images and allocatable "
            "amounts, its own scores are wrong",
            "send back the objects of the request, or set nodeCacheCapable: true",
        ),
        ExtenderCheck(
            "filter-contradiction", _H, "keeps no node that it also rejects",
            "uses the node", "put a node into one list only",
        ),
        ExtenderCheck(
            "filter-duplicates", _H, "keeps each node once",
            "scores the node twice", "list each node once",
        ),
        ExtenderCheck(
            "filter-foreign-reasons", _H, "gives reasons only for nodes it was asked about",
            "counts nodes in the pod's event that were not asked about",
            "answer from the nodes of the request",
        ),
        ExtenderCheck(
            "filter-reasons", _H, "gives a reason in words for every node it rejects",
            "shows an empty reason in the pod's event", "say why in a few words",
        ),
        # -- prioritize
        ExtenderCheck(
            "prioritize-range", _C, "scores from 0 to 10",
            "multiplies the score by weight and 10 without a check, so it outweighs all plugins "
            "or counts against the node", "scale scores to 0 to 10",
        ),
        ExtenderCheck(
            "prioritize-complete", _C, "scores every node it was asked about",
            "counts 0 for the others", "return an element for each node of the request",
        ),
        ExtenderCheck(
            "prioritize-duplicates", _C, "scores each node once",
            "adds the scores of one node up", "return one element for each node",
        ),
        ExtenderCheck(
            "prioritize-foreign", _H, "scores only nodes it was asked about",
            "passes over the others", "answer from the nodes of the request",
        ),
        # -- preempt
        ExtenderCheck(
            "preempt-form", _B, "answers with NodeNameToMetaVictims in both modes",
            "finds no candidate in NodeNameToVictims, and preempts nothing",
            "answer with NodeNameToMetaVictims: the UIDs of the victims",
        ),
        ExtenderCheck(
            "preempt-null", _B, "has no null among nodes and victims",
            "dereferences a nil pointer and crashes", "leave the node or the victim out",
        ),
        ExtenderCheck(
            "preempt-nodes", _B, "names only nodes it was asked about",
            _ATTEMPT + " unless it knows the node", "answer from the nodes of the request",
        ),
        ExtenderCheck(
            "preempt-victims", _B, "names only victims that are on their node",
            _ATTEMPT, "return the UIDs of the request, each under its own node",
        ),
        ExtenderCheck(
            "preempt-no-victims", _B, "leaves out nodes on which it keeps no victim",
            _ATTEMPT, "remove the node from the answer instead of emptying its list",
        ),
        ExtenderCheck(
            "preempt-duplicates", _H, "names each victim once",
            "preempts it twice", "name each victim once",
        ),
        ExtenderCheck(
            "preempt-violations", _C, "reports NumPDBViolations from 0 to its number of victims",
            "compares nodes by this number and chooses the wrong one",
            "return NumPDBViolations as it came, or less if victims are fewer",
        ),
        # -- bind
        ExtenderCheck(
            "bind-missing-pod", _B, "reports an error for a pod that does not exist",
            "believes it: the pod stays pending, and its place on the node is taken until "
            "kube-scheduler restarts", "create the Binding, and put the API server's error into "
            "Error",
        ),
        ExtenderCheck(
            "bind-incomplete", _C, "reports an error for a pod without a name",
            "never sends this; other callers get a wrong answer", "check the request",
        ),
        ExtenderCheck(
            "bind-error-form", _H, "reports a failed bind in Error, with status 200",
            "shows only the status in the pod's event", "answer with status 200 and the reason "
            "in Error",
        ),
        ExtenderCheck(
            "bind-binds", _B, "binds the pod of --bind to its node",
            "believes that the pod is bound", "create the Binding before answering",
        ),
        # -- what is asked
        ExtenderCheck(
            "every-field", _B, "takes a pod with every field of v1.36",
            "gets no usable answer for pods that use these fields",
            "ignore fields that the extender does not use",
        ),
        ExtenderCheck(
            "minimal-pod", _B, "takes a pod without labels, annotations or requests",
            "gets no usable answer for such pods", "expect that optional fields are absent",
        ),
        ExtenderCheck(
            "unknown-fields", _B, "takes fields that it does not know",
            "sends such fields after the next upgrade of Kubernetes", "ignore unknown fields",
        ),
        ExtenderCheck(
            "unknown-nodes", _B, "takes names of nodes that it does not know yet",
            "knows new nodes before the extender does; until then every pod fails",
            "reject such a node with a reason, or score it 0, instead of failing",
        ),
        ExtenderCheck(
            "single-node", _B, "takes a list of one node",
            "gets no usable answer where one node is left", "handle lists of any length",
        ),
        ExtenderCheck(
            "empty-list", _H, "takes empty lists, also as null",
            "does not ask about no nodes; other callers do", "answer with an empty list",
        ),
        ExtenderCheck(
            "large-list", _B, "takes as many nodes as --nodes says",
            "gets no usable answer in a large cluster", "raise the limits of the body's size and "
            "time, or set nodeCacheCapable: true",
        ),
        ExtenderCheck(
            "repeatable", _H, "answers the same question in the same way",
            "places pods unpredictably", "avoid randomness; ignore this if the answer "
            "depends on live data",
        ),
        # -- bad bodies
        ExtenderCheck(
            "body-not-json", _H, "rejects a body that is not JSON", "never sends this",
            "answer with status 400, or with Error",
        ),
        ExtenderCheck(
            "body-truncated", _H, "rejects JSON that ends too early", "never sends this",
            "answer with status 400, or with Error",
        ),
        ExtenderCheck(
            "body-empty", _H, "rejects an empty body", "never sends this",
            "answer with status 400, or with Error",
        ),
        ExtenderCheck(
            "body-wrong-types", _H, "rejects values of wrong types", "never sends this",
            "answer with status 400, or with Error",
        ),
        ExtenderCheck(
            "body-deep", _H, "answers JSON with 100,000 nested lists", "never sends this",
            "limit the depth, or use a parser that does",
        ),
        ExtenderCheck(
            "body-huge", _H, "answers a body of 16 MiB, if only with an error",
            "sends more than that with whole nodes of a large cluster",
            "set the limit of body sizes above what kube-scheduler sends",
        ),
        ExtenderCheck(
            "survives", _B, "still answers ordinary questions after all bad bodies",
            "cannot call it any more after one bad request",
            "let an error end only the request that caused it",
        ),
        # -- time
        ExtenderCheck(
            "latency", _B, "answers within httpTimeout at every number of nodes",
            "gives up on the call after httpTimeout", "make it faster, raise httpTimeout, or set "
            "nodeCacheCapable: true",
        ),
        ExtenderCheck(
            "latency-margin", _H, "answers 99 % of the calls within half of httpTimeout",
            "gives up on calls as soon as the extender is a little slower", "raise httpTimeout",
        ),
    )
}  # fmt: skip
