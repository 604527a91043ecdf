"""Reductions and running sums: their dtypes, axes and corrections."""
