"""Device selectors compared with the compiler that kube-scheduler uses (`main.go`)."""
