"""Plans on a live cluster: what is written and waited for before a binding, and taken back."""
