"""Random operators are refused with the way around; stock bakes one draw as a constant."""

import pytest
import torch
from frontend_cases import Case, export, import_program

import tvm_kokoro_ext

CASES = [
    Case("randn_like", lambda x: x + torch.randn_like(x), lambda n: (torch.randn(3, n),)),
    Case("randn", lambda x: x + torch.randn(3, 6), lambda n: (torch.randn(3, n),)),
    Case("rand", lambda x: x + torch.rand(3, 6), lambda n: (torch.randn(3, n),)),
    Case("rand_like", lambda x: x + torch.rand_like(x), lambda n: (torch.randn(3, n),)),
    Case("exponential", lambda x: x.clone().exponential_(), lambda n: (torch.randn(3, n),)),
    Case("poisson", lambda x: torch.poisson(x.abs()), lambda n: (torch.randn(3, n),)),
    Case("cauchy", lambda x: x.clone().cauchy_(), lambda n: (torch.randn(3, n),)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
@pytest.mark.parametrize("decomposed", [True, False])
def test_refused_with_reason_and_way_around(case, decomposed):
    program = export(case, symbolic=False)
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError) as refusal:
        import_program(program, decomposed)
    assert case.name in refusal.value.op
    assert "input of the module" in str(refusal.value)


def test_stock_bakes_one_draw():
    with tvm_kokoro_ext.disabled("randn"):
        module = import_program(export(CASES[0], symbolic=False), decomposed=True)
    assert "metadata" in module.script()
