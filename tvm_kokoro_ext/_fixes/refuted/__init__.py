"""Complaints that were checked and hold on no supported version: never applied."""
