"""One decision: its cycle, its steps, who watches it, and what comes out.

    decision_cycle ─┬─> filter_walk ──> pre_filter_walk     decision   what comes out
                    ├─> score_walk                          observer   told of every step
                    ├─> post_filter_walk                    recording  an observer: the record
                    ├─> equivalence_classes ─> equivalence_class    kept for pods that are alike
                    └─> unschedulable_templates                     kept while nothing changes

The walks know the plugins they ask and no runtime; `runtime` has one of each.
"""
