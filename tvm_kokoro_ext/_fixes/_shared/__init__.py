"""What the fixes of several subjects are made of."""
