"""No garbage is collected while a program is imported, and it is again afterwards."""

import gc

import pytest
import torch
from tvm.relax.frontend.torch import from_exported_program

import tvm_kokoro_ext  # noqa: F401 - for its effect
from tvm_kokoro_ext import UnsupportedOperatorError, _collection


class Module(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x) + 1


class Drawn(torch.nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)


def exported(module):
    return torch.export.export(module, (torch.zeros(2, 3),))


def test_it_is_off_while_torch_decomposes_and_while_nodes_are_translated(monkeypatch):
    seen = []
    decompose = torch.export.ExportedProgram.run_decompositions

    def observed(*args, **kwargs):
        seen.append(gc.isenabled())
        return decompose(*args, **kwargs)

    def one_more(node, importer):
        seen.append(gc.isenabled())
        return importer.retrieve_args(node)[0]

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", observed)
    from_exported_program(exported(Module()), custom_convert_map={"add.Tensor": one_more})
    assert seen == [False, False]
    assert gc.isenabled()


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_afterwards_as_it_was(enabled):
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        from_exported_program(exported(Module()))
        assert gc.isenabled() is enabled
        with pytest.raises(UnsupportedOperatorError):
            from_exported_program(exported(Drawn()))
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_the_inner_of_two_contexts_leaves_it_off():
    with _collection.put_off():
        with _collection.put_off():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
