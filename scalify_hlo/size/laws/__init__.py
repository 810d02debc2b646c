"""The laws of size, one file for each family of operations. Loading this package fills `scalify_hlo.size.view.LAWS`."""

from scalify_hlo.size.laws import arithmetic, assembly, contractions, functions, reductions, sources

__all__ = ["arithmetic", "assembly", "contractions", "functions", "reductions", "sources"]
