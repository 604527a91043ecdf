"""The generate step of a Llama of transformers, with its static cache, over 64 steps."""

import numpy as np
import pytest
import torch
import tvm
from tvm import relax

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError

STEPS = 64


@pytest.fixture(scope="module")
def llama():
    transformers = pytest.importorskip("transformers", reason="pip install 'tvm-kokoro[models]'")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=64,
        max_position_embeddings=2 * STEPS,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=1.5 / parameter.shape[1] ** 0.5)
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=STEPS,
        cache_config={"batch_size": 1, "max_cache_len": STEPS},
    )
    return model


@pytest.fixture(scope="module")
def program(llama):
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    example = {"input_ids": torch.tensor([[3]]), "cache_position": torch.tensor([0])}
    with torch.no_grad():
        step = TorchExportableModuleWithStaticCache(llama)
        return torch.export.export(step, (), kwargs=example)


@pytest.mark.slow
def test_a_generate_step_is_right_over_its_whole_cache(llama, program):
    from tvm.relax.frontend.torch import from_exported_program

    program, state = tvm_kokoro_ext.with_explicit_state(program)
    assert sorted(state)[-4:] == ["key_cache_0", "key_cache_1", "value_cache_0", "value_cache_1"]
    executable = tvm.compile(from_exported_program(program), "llvm")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    held = [tvm.runtime.tensor(tensor.numpy()) for tensor in state.values()]
    seen = [5]
    for step in range(STEPS):
        token = np.array([[seen[-1]]])
        logits, *held = machine["main"](
            tvm.runtime.tensor(token), tvm.runtime.tensor(np.array([step])), *held
        )
        with torch.no_grad():  # the whole text again, without a cache
            want = llama(input_ids=torch.tensor([seen]), use_cache=False).logits[0, -1].numpy()
        np.testing.assert_allclose(logits.numpy()[0, -1], want, atol=1e-4 * np.abs(want).max())
        seen.append((int(want.argmax()) + step) % 64)
    assert len(set(seen)) > 20


@pytest.mark.slow
def test_the_cache_is_refused_where_it_would_be_lost(program):
    from tvm.relax.frontend.torch import from_exported_program

    with pytest.raises(UnsupportedOperatorError, match="'key_cache_0'.*with_explicit_state"):
        from_exported_program(program)
