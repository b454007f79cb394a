"""The road to a Kubernetes API server: who we are, what we ask, and what we hear.

    config, kubeconfig ──> cluster (where) + credentials, exec_plugin (who)
                               │
                               v
              transport (TLS, proxy) ──> session, http1 (writes) ──> client (requests, streams)
                                                                        │
                        ┌───────────────────────────────────────────────┘
                        v
          resources (paths) ──> reflector ──> informer ──> changes
          lease ──> leader (who of several may work)
          event_body ──> event_cache ──> event_queue ──> events (`kubectl describe` shows them)

`live`, `extender`, `cli` and `deploy` call this package. It knows only `mooring.model` and
`mooring.errors`. Import the module you need; this one imports nothing, so that reading a
kubeconfig does not pay for an HTTP library.
"""
