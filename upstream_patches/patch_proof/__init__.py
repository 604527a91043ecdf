"""Test the patches of this folder against an installed apache-tvm wheel."""
