"""Operands and results of a dtype that stock does not expect."""
