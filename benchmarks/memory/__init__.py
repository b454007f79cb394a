"""What invented names cost: the memory of `moor run` while tenants make up ever new ones."""
