"""Words of one spelling and one part of speech that differ by sense, which their company tells."""
