"""Random operators are rejected with a workaround; stock stores one draw as a constant.

They include dropout in training mode, which stock converts to the identity.
"""

import pytest
import torch
from frontend_cases import Case, check, export, fix_tests, import_program
from torch import nn
from torch.nn import functional

import tvm_kokoro_ext

CASES = [
    Case("randn_like", lambda x: x + torch.randn_like(x), lambda n: (torch.randn(3, n),)),
    Case("randn", lambda x: x + torch.randn(3, 6), lambda n: (torch.randn(3, n),)),
    Case("rand", lambda x: x + torch.rand(3, 6), lambda n: (torch.randn(3, n),)),
    Case("rand_like", lambda x: x + torch.rand_like(x), lambda n: (torch.randn(3, n),)),
    Case("exponential", lambda x: x.clone().exponential_(), lambda n: (torch.randn(3, n),)),
    Case("poisson", lambda x: torch.poisson(x.abs()), lambda n: (torch.randn(3, n),)),
    Case("bernoulli", lambda x: torch.bernoulli(x, 0.5), lambda n: (torch.randn(3, n),)),
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


def rows(n):
    return (torch.randn(2, 3, n),)


def attention(x):
    return functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)


def branch(x):
    return torch.cond(x.sum() > 0, lambda x: functional.dropout(x, 0.5, True), torch.neg, (x,))


# By what the refusal names: dropout itself, and what has one inside.
TRAINING = [
    Case("aten.dropout.default", lambda x: functional.dropout(x, 0.5, True), rows),
    Case("aten.dropout_.default", lambda x: functional.dropout(x + 1, 0.5, True, True), rows),
    Case("aten.feature_dropout.default", lambda x: functional.dropout1d(x, 0.5, True), rows),
    Case("aten.alpha_dropout.default", lambda x: functional.alpha_dropout(x, 0.5, True), rows),
    Case(
        "aten.feature_alpha_dropout.default",
        lambda x: functional.feature_alpha_dropout(x, 0.5, True),
        rows,
    ),
    Case("aten.native_dropout.default", lambda x: torch.native_dropout(x, 0.5, True), rows),
    Case("aten.rrelu.default", lambda x: functional.rrelu(x, training=True), rows),
    Case("aten.scaled_dot_product_attention.default", attention, rows),
    Case("aten.dropout.default", branch, rows),
]
RECURRENT = {
    "aten.lstm.input": nn.LSTM(6, 4, 2, dropout=0.5),
    "aten.gru.input": nn.GRU(6, 4, 2, dropout=0.5),
    "aten.rnn_tanh.input": nn.RNN(6, 4, 2, dropout=0.5),
}


@pytest.mark.parametrize("case", TRAINING, ids=lambda c: c.name)
@pytest.mark.parametrize("decomposed", [True, False])
def test_dropout_in_training_is_refused(case, decomposed):
    program = export(case, symbolic=False)
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="evaluation mode") as refusal:
        import_program(program, decomposed)
    assert refusal.value.op == case.name


@pytest.mark.parametrize("name", RECURRENT)
@pytest.mark.parametrize("decomposed", [True, False])
def test_dropout_between_layers_is_refused_in_training(name, decomposed):
    program = torch.export.export(RECURRENT[name].train(), (torch.randn(5, 2, 6),))
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="evaluation mode") as refusal:
        import_program(program, decomposed)
    assert refusal.value.op == name


def kept(x):
    masked = torch.native_dropout(x, 0.5, False)
    return functional.dropout(x, 0.5, False), functional.dropout(x, 0.0, True), *masked


test_dropout, test_dropout_stock = fix_tests("dropout", [Case("evaluation", kept, rows)])


def test_a_refused_operator_may_have_a_converter_of_the_callers_own():
    def identity(node, importer):
        return importer.env[node.args[0]]

    program = export(TRAINING[0], symbolic=False)
    import_program(program, False, custom_convert_map={"dropout.default": identity})


@pytest.mark.slow
def test_recurrences_without_dropout_stay_right_in_training_mode():
    for module in (nn.GRU(6, 4, 2).train(), nn.GRU(6, 4, 2, dropout=0.5).eval()):
        check(Case("gru", lambda x, m=module: m(x), lambda n: (torch.randn(3, 2, 6),)), False, True)
