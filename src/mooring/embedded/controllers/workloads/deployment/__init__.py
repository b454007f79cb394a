"""The Deployment controller: rollouts, revisions, scaling, status."""
