"""Details: what plugins say in names and numbers about their own rejections."""
