"""What DynamicResources does beyond kube-scheduler, if its arguments say so."""
