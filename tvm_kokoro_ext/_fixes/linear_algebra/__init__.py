"""Matrix products, inverses and determinants."""
