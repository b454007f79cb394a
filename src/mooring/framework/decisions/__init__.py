"""One decision: its cycle, its steps, who watches it, and what comes out.

    decision_cycle ─┬─> filter_walk ──> pre_filter_walk     decision   what comes out
                    ├─> score_walk                          observer   told of every step
                    ├─> post_filter_walk                    recording  an observer: the record
                    ├─> equivalence_classes ─┬─> equivalence_class ─> all_rows
                    │                        └─> relevant_plugins ──> other_plugins
                    └─> unschedulable_templates

The walks know the plugins they ask and no runtime; `runtime` has one of each. An equivalence class
has what is kept for pods that are alike, of `kept_plugins`; the other plugins are asked every time.
Which plugins are which is decided by `kept_answers`.
"""
