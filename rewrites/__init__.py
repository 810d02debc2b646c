"""The rules, one module a family of operations; installed as `scalify_hlo.rewrites`."""
