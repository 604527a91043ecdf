"""The models that are tried: the architectures of three libraries, small, with random weights.

A maker imports its library, so that a process imports only what its own model needs.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Model:
    """One model.

    Attributes
    ----------
    name, library, kind
        What it is called, the package that it comes from, and what it does.
    make
        Gives the module, whose random weights are drawn from torch's default generator.
    inputs
        Makes the tensors of a call, from a batch and a size (a length, or the edge of an image).
    sizes
        The size of the exported example, and another at which a dynamic program is run as well.
    batches
        The same for the batch.
    dtypes
        In which the model is tried.
    not_exported
        The variants (static, dynamic) that torch.export does not take, or whose guards its own
        program refuses.
    gain
        How much a layer's random weights amplify. A deep model of a large gain is chaotic: eager
        PyTorch's own float32 is far from its float64.
    in_ci
        Whether the slow tier of CI has it.
    """

    name: str
    library: str
    kind: str
    make: Callable[[], nn.Module]
    inputs: Callable[[int, int], tuple[Tensor, ...]]
    sizes: tuple[int, int]
    batches: tuple[int, int] = (2, 3)
    dtypes: tuple[str, ...] = ("float32",)
    not_exported: tuple[str, ...] = ()
    gain: float = 1.5
    in_ci: bool = False


class Call(nn.Module):
    """A module of which a named call is made, and one tensor, or a tuple of them, is returned."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], output: str, **fixed: Any) -> None:
        super().__init__()
        self.model, self.names, self.output, self.fixed = model, names, output, fixed

    def forward(self, *tensors: Tensor) -> Any:
        given = dict(zip(self.names, tensors, strict=True))
        result = self.model(**given, **self.fixed)
        if not self.output:
            return result
        for part in self.output.split("."):
            result = result[int(part)] if part.isdigit() else getattr(result, part)
        return result


def declare_torchvision_operators() -> None:
    """Let torchvision be imported where its compiled operators do not fit the installed torch.

    A torchvision for CUDA beside a torch for CPUs stops at the import, and with it transformers,
    because two operators are missing. No model here calls them.
    """
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            torch.library.define(f"torchvision::{name}", schema)


# --- transformers ------------------------------------------------------------------------

VOCABULARY = 96

#: The names that configurations have for the same things.
SMALL: Mapping[str, Any] = MappingProxyType(
    {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "d_model": 32,
        "n_embd": 32,
        "dim": 32,
        "embedding_size": 32,
        "num_hidden_layers": 2,
        "num_layers": 2,
        "n_layer": 2,
        "n_layers": 2,
        "num_attention_heads": 4,
        "num_heads": 4,
        "n_head": 4,
        "n_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 64,
        "hidden_dim": 64,
        "d_ff": 64,
        "ffn_dim": 64,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 128,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "decoder_start_token_id": 1,
    }
)


def _transformer(
    model: str,
    names: tuple[str, ...],
    output: str,
    options: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> nn.Module:
    transformers = importlib.import_module("transformers")
    cls = getattr(transformers, model)
    config_class = cls.config_class
    known = config_class().to_dict()
    given = {name: value for name, value in SMALL.items() if name in known} | dict(options or {})
    return Call(cls(config_class(**given)).eval(), names, output, **dict(fixed or {}))


def tokens(batch: int, length: int) -> tuple[Tensor, ...]:
    """Token ids [batch, length]."""
    return (torch.randint(3, VOCABULARY, (batch, length)),)


def masked(batch: int, length: int) -> tuple[Tensor, ...]:
    """Token ids, and a mask that leaves out the end of the last row."""
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[-1, -2:] = 0
    return (*tokens(batch, length), mask)


def pairs(batch: int, length: int) -> tuple[Tensor, ...]:
    """Token ids of an encoder and of a decoder."""
    return (*tokens(batch, length), *tokens(batch, 5))


def waves(batch: int, length: int) -> tuple[Tensor, ...]:
    """Waveforms [batch, length]."""
    return (torch.randn(batch, length) * 0.3,)


def images(batch: int, edge: int) -> tuple[Tensor, ...]:
    """Images [batch, 3, edge, edge]."""
    return (torch.randn(batch, 3, edge, edge),)


IDS = ("input_ids",)
MASKED = ("input_ids", "attention_mask")
STATE = "last_hidden_state"
NO_CACHE = MappingProxyType({"use_cache": False})
BOTH = ("float32", "bfloat16")


def _encoder(name: str, model: str, **more: Any) -> Model:
    options = more.pop("options", {})
    make = functools.partial(_transformer, model, MASKED, STATE, options)
    return Model(name, "transformers", "encoder", make, masked, (9, 14), **more)


def _decoder(name: str, model: str, **more: Any) -> Model:
    options = more.pop("options", {})
    make = functools.partial(_transformer, model, IDS, "logits", options, NO_CACHE)
    return Model(name, "transformers", "decoder", make, tokens, (9, 14), **more)


def _translator(name: str, model: str, **more: Any) -> Model:
    options = more.pop("options", {})
    names = ("input_ids", "decoder_input_ids")
    make = functools.partial(_transformer, model, names, "logits", options, NO_CACHE)
    return Model(name, "transformers", "encoder-decoder", make, pairs, (9, 14), **more)


def _seeing(name: str, model: str, output: str, edges: tuple[int, int], **more: Any) -> Model:
    options = {"image_size": edges[0]} | more.pop("options", {})
    kind = more.pop("kind", "vision")
    make = functools.partial(_transformer, model, ("pixel_values",), output, options)
    return Model(name, "transformers", kind, make, images, edges, **more)


WAV2VEC = {
    "conv_dim": (16, 16, 16),
    "conv_kernel": (10, 3, 2),
    "conv_stride": (5, 2, 2),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
    "mask_time_prob": 0.0,
    "apply_spec_augment": False,
}


def _hearing(name: str, model: str, **more: Any) -> Model:
    options = WAV2VEC | more.pop("options", {})
    output = more.pop("output", STATE)
    make = functools.partial(_transformer, model, ("input_values",), output, options)
    return Model(name, "transformers", "speech", make, waves, (400, 640), **more)


def _mels(batch: int, frames: int) -> tuple[Tensor, ...]:
    return torch.randn(batch, 16, frames), *tokens(batch, 5)


def _whisper() -> nn.Module:
    options = {"num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 32}
    names = ("input_features", "decoder_input_ids")
    return _transformer("WhisperForConditionalGeneration", names, "logits", options, NO_CACHE)


class _HiFiGAN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        transformers = importlib.import_module("transformers")
        config = transformers.SpeechT5HifiGanConfig(
            model_in_dim=16,
            upsample_initial_channel=32,
            upsample_rates=[4, 2],
            upsample_kernel_sizes=[8, 4],
            resblock_kernel_sizes=[3, 5],
            resblock_dilation_sizes=[[1, 3], [1, 3]],
        )
        self.vocoder = transformers.SpeechT5HifiGan(config)

    def forward(self, spectrogram: Tensor) -> Tensor:
        return self.vocoder(spectrogram)


def _hifigan() -> nn.Module:
    return _HiFiGAN().eval()


def _vits_config() -> Any:
    transformers = importlib.import_module("transformers")
    return transformers.VitsConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        ffn_dim=64,
        flow_size=32,
        spectrogram_bins=17,
        upsample_initial_channel=32,
        upsample_rates=[4, 2],
        upsample_kernel_sizes=[8, 4],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
        prior_encoder_num_flows=2,
        prior_encoder_num_wavenet_layers=2,
    )


class _VitsText(nn.Module):
    """The text encoder of VITS."""

    def __init__(self) -> None:
        super().__init__()
        self.model = importlib.import_module("transformers").VitsModel(_vits_config())

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        mask = torch.ones_like(ids).unsqueeze(-1).float()
        found = self.model.text_encoder(ids, padding_mask=mask, return_dict=True)
        return found.last_hidden_state, found.prior_means


class _VitsVoice(nn.Module):
    """The flow, backwards, and the decoder of VITS."""

    def __init__(self) -> None:
        super().__init__()
        self.model = importlib.import_module("transformers").VitsModel(_vits_config())

    def forward(self, latents: Tensor) -> Tensor:
        mask = torch.ones_like(latents[:, :1])
        return self.model.decoder(self.model.flow(latents, mask, reverse=True) * mask)


class _Encodec(nn.Module):
    """The encoder and the decoder of EnCodec, without the codes between them."""

    def __init__(self) -> None:
        super().__init__()
        transformers = importlib.import_module("transformers")
        config = transformers.EncodecConfig(
            num_filters=4,
            hidden_size=16,
            codebook_dim=16,
            upsampling_ratios=[4, 2],
            num_lstm_layers=1,
            use_causal_conv=True,
        )
        self.model = transformers.EncodecModel(config)

    def forward(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        latents = self.model.encoder(wave)
        return latents, self.model.decoder(latents)


# --- vision libraries --------------------------------------------------------------------


def _torchvision() -> Any:
    return importlib.import_module("torchvision")


def _vision(path: str, **options: Any) -> nn.Module:
    found: Any = _torchvision().models
    for part in path.split("."):
        found = getattr(found, part)
    return found(weights=None, **options).eval()


class _Parts(nn.Module):
    """The backbone and the heads of a detector, without the search for boxes in what they give."""

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = detector.backbone, detector.head

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        found = self.head(list(self.backbone(image).values()))
        return tuple(found.values())


def _detector(path: str, **options: Any) -> nn.Module:
    return _Parts(_vision(path, weights_backbone=None, **options)).eval()


def _tv(name: str, path: str, edges: tuple[int, int] = (64, 96), **more: Any) -> Model:
    kind = more.pop("kind", "classification")
    options = more.pop("options", {})
    output = more.pop("output", "")
    detector = more.pop("detector", False)

    def make() -> nn.Module:
        if detector:
            return _detector(path, **options)
        module = _vision(path, **options)
        return module if not output else _Entry(module, output)

    return Model(name, "torchvision", kind, make, images, edges, **more)


class _Entry(nn.Module):
    """One entry of what a module returns in a dict."""

    def __init__(self, module: nn.Module, entry: str) -> None:
        super().__init__()
        self.module, self.entry = module, entry

    def forward(self, image: Tensor) -> Tensor:
        return self.module(image)[self.entry]


def _timm(name: str, edges: tuple[int, int] = (64, 96), **more: Any) -> Model:
    options = more.pop("options", {})

    def make() -> nn.Module:
        _torchvision()
        return (
            importlib.import_module("timm").create_model(name, pretrained=False, **options).eval()
        )

    kind = "classification"
    return Model(f"timm_{name}", "timm", kind, make, images, edges, **more)


HEADS = {"num_classes": 10}

MODELS: tuple[Model, ...] = (
    # encoders
    _encoder("bert", "BertModel", dtypes=BOTH, in_ci=True),
    _encoder("roberta", "RobertaModel", options={"max_position_embeddings": 130}),
    _encoder("distilbert", "DistilBertModel"),
    _encoder("albert", "AlbertModel"),
    _encoder("electra", "ElectraModel"),
    _encoder("mpnet", "MPNetModel"),
    _encoder(
        "deberta_v2",
        "DebertaV2Model",
        options={"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
    ),
    _encoder("modernbert", "ModernBertModel"),
    _encoder("convbert", "ConvBertModel"),
    _encoder("fnet", "FNetModel"),
    _encoder("squeezebert", "SqueezeBertModel"),
    _encoder(
        "deberta",
        "DebertaModel",
        options={"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    ),
    _encoder(
        "esm", "EsmModel", options={"position_embedding_type": "rotary", "token_dropout": False}
    ),
    _encoder("yoso", "YosoModel", options={"use_expectation": True}),
    # decoders
    _decoder("gpt2", "GPT2LMHeadModel", dtypes=BOTH, in_ci=True),
    _decoder("gpt_neox", "GPTNeoXForCausalLM"),
    _decoder("gptj", "GPTJForCausalLM", options={"rotary_dim": 4}),
    _decoder("opt", "OPTForCausalLM", options={"word_embed_proj_dim": 32}),
    _decoder("bloom", "BloomForCausalLM"),
    _decoder("falcon", "FalconForCausalLM"),
    _decoder("llama", "LlamaForCausalLM", dtypes=BOTH),
    _decoder("mistral", "MistralForCausalLM", options={"sliding_window": 6}),
    _decoder("qwen2", "Qwen2ForCausalLM"),
    _decoder("qwen3", "Qwen3ForCausalLM", options={"head_dim": 8}),
    _decoder("gemma2", "Gemma2ForCausalLM", options={"head_dim": 8, "sliding_window": 6}),
    _decoder("phi", "PhiForCausalLM"),
    _decoder("stablelm", "StableLmForCausalLM"),
    _decoder("mixtral", "MixtralForCausalLM", options={"num_local_experts": 4}),
    _decoder("mamba", "MambaForCausalLM", options={"state_size": 4}, not_exported=("dynamic",)),
    _decoder(
        "gpt_neo",
        "GPTNeoForCausalLM",
        options={"attention_types": [[["global", "local"], 1]], "window_size": 4},
    ),
    _decoder("mpt", "MptForCausalLM"),
    _decoder("ctrl", "CTRLLMHeadModel", options={"dff": 64}),
    _decoder("xglm", "XGLMForCausalLM", options={"attention_heads": 4}),
    # encoder-decoders
    _translator("t5", "T5ForConditionalGeneration", options={"d_kv": 8}, dtypes=BOTH),
    _translator("bart", "BartForConditionalGeneration"),
    _translator("marian", "MarianMTModel"),
    _translator("pegasus", "PegasusForConditionalGeneration"),
    Model("whisper", "transformers", "speech", _whisper, _mels, (40, 40), dtypes=BOTH),
    # speech
    _hearing("wav2vec2", "Wav2Vec2Model", dtypes=BOTH, in_ci=True),
    _hearing(
        "wav2vec2_layer_norm",
        "Wav2Vec2Model",
        options={"feat_extract_norm": "layer", "do_stable_layer_norm": True},
    ),
    _hearing("hubert", "HubertModel"),
    _hearing("wavlm", "WavLMModel"),
    _hearing("conformer", "Wav2Vec2ConformerModel", options={"conv_depthwise_kernel_size": 5}),
    _hearing("wav2vec2_ctc", "Wav2Vec2ForCTC", output="logits"),
    Model(
        "hifigan",
        "transformers",
        "speech",
        _hifigan,
        lambda b, n: (torch.randn(b, n, 16),),
        (12, 20),
    ),
    Model("vits_text", "transformers", "speech", lambda: _VitsText().eval(), tokens, (9, 14)),
    Model(
        "vits_voice",
        "transformers",
        "speech",
        lambda: _VitsVoice().eval(),
        lambda b, n: (torch.randn(b, 32, n),),
        (12, 20),
    ),
    Model(
        "encodec",
        "transformers",
        "speech",
        lambda: _Encodec().eval(),
        lambda b, n: (torch.randn(b, 1, 8 * n),),
        (12, 20),
        not_exported=("static", "dynamic"),
    ),
    # vision of transformers
    _seeing("vit", "ViTModel", STATE, (32, 32), options={"patch_size": 8}, dtypes=BOTH),
    _seeing("dinov2", "Dinov2Model", STATE, (32, 32), options={"patch_size": 8}),
    _seeing(
        "swin",
        "SwinModel",
        STATE,
        (32, 48),
        options={
            "patch_size": 2,
            "embed_dim": 16,
            "depths": [1, 1],
            "num_heads": [2, 4],
            "window_size": 4,
        },
    ),
    _seeing(
        "convnext",
        "ConvNextModel",
        STATE,
        (32, 48),
        options={"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    ),
    _seeing(
        "segformer",
        "SegformerForSemanticSegmentation",
        "logits",
        (64, 96),
        kind="segmentation",
        options={
            "hidden_sizes": [8, 16, 24, 32],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
            "decoder_hidden_size": 32,
        },
    ),
    _seeing(
        "mobilevit",
        "MobileViTModel",
        STATE,
        (64, 96),
        options={"hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32]},
        not_exported=("dynamic",),
    ),
    _seeing(
        "yolos",
        "YolosForObjectDetection",
        "logits",
        (32, 32),
        kind="detection",
        options={"patch_size": 8, "image_size": [32, 32], "num_detection_tokens": 5},
    ),
    # torchvision
    _tv("resnet18", "resnet18", options=HEADS, dtypes=BOTH),
    _tv("mobilenet_v2", "mobilenet_v2", options=HEADS | {"width_mult": 0.35}),
    _tv("mobilenet_v3_small", "mobilenet_v3_small", options=HEADS),
    _tv("shufflenet_v2", "shufflenet_v2_x0_5", options=HEADS),
    _tv("squeezenet1_1", "squeezenet1_1", options=HEADS),
    _tv("efficientnet_b0", "efficientnet_b0", options=HEADS),
    _tv("regnet_y_400mf", "regnet_y_400mf", options=HEADS),
    _tv("densenet121", "densenet121", options=HEADS),
    _tv("googlenet", "googlenet", options=HEADS | {"init_weights": False, "aux_logits": False}),
    _tv(
        "lraspp",
        "segmentation.lraspp_mobilenet_v3_large",
        kind="segmentation",
        options={"weights_backbone": None, "num_classes": 5},
        output="out",
    ),
    _tv(
        "deeplabv3",
        "segmentation.deeplabv3_mobilenet_v3_large",
        kind="segmentation",
        options={"weights_backbone": None, "num_classes": 5},
        output="out",
    ),
    _tv(
        "ssdlite",
        "detection.ssdlite320_mobilenet_v3_large",
        (128, 160),
        kind="detection",
        options={"num_classes": 5},
        detector=True,
        not_exported=("dynamic",),
    ),
    # timm
    _timm("mobilenetv4_conv_small_035", options=HEADS),
    _timm("convnext_atto", options=HEADS),
    _timm("ghostnet_050", options=HEADS),
    _timm("test_vit", (160, 160), options=HEADS),
    _timm("test_efficientnet", options=HEADS),
    _timm("test_resnet", options=HEADS),
    _timm("levit_128s", (224, 224), options=HEADS, gain=1.0),
)

BY_NAME = {model.name: model for model in MODELS}
