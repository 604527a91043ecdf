"""Binary arithmetic: dtypes, scalars, `alpha`, division, and products with zero."""
