"""`bert_forward`: the ALBERT text model and the projection after it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from kokoro_pipeline.errors import InputError

from .masks import padding_positions
from .operators import masked_attention
from .stock import StockModule


class BertForward(nn.Module):
    """Maps input_ids int64 [B, n] and lengths int64 [B] to d_en float32 [B, 512, n].

    d_en is 0 from `lengths[b]` on. Raises ValueError if the checkpoint's layers are not shared.
    """

    def __init__(self, model: StockModule) -> None:
        super().__init__()
        self.bert = model.bert
        self.bert_encoder = model.bert_encoder
        groups = self.bert.encoder.albert_layer_groups
        if len(groups) != 1 or len(groups[0].albert_layers) != 1:
            raise InputError("Kokoro's ALBERT shares one layer; this checkpoint's does not")
        self.n_layers = int(self.bert.config.num_hidden_layers)

    def forward(self, input_ids: Tensor, lengths: Tensor) -> Tensor:
        tables = self.bert.embeddings
        # Look up an arange instead of slicing the table, which would have the extent min(n, 512).
        positions = functional.embedding(
            torch.arange(input_ids.shape[1]), tables.position_embeddings.weight
        )
        x = tables.word_embeddings(input_ids) + tables.token_type_embeddings.weight[0] + positions
        x = self.bert.encoder.embedding_hidden_mapping_in(tables.LayerNorm(x))
        layer = self.bert.encoder.albert_layer_groups[0].albert_layers[0]
        for _ in range(self.n_layers):
            x = self._layer(layer, x, lengths)
        d_en = self.bert_encoder(x).transpose(1, 2)
        return d_en.masked_fill(padding_positions(lengths, x)[:, None, :], 0.0)

    @staticmethod
    def _layer(layer: StockModule, x: Tensor, lengths: Tensor) -> Tensor:
        attention = layer.attention
        mixed = masked_attention(
            attention.query(x),
            attention.key(x),
            attention.value(x),
            lengths,
            attention.num_attention_heads,
        )
        x = attention.LayerNorm(x + attention.dense(mixed))
        hidden = functional.gelu(layer.ffn(x), approximate="tanh")
        return layer.full_layer_layer_norm(layer.ffn_output(hidden) + x)
