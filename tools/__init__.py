"""The command lines, installed as `scalify_hlo.tools`."""
