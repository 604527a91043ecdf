"""Random tensors and dropout: what is drawn anew at each call."""
