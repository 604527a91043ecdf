"""From options and weights to a committed artifact folder."""
