"""The Whisper network, with Hugging Face's tensor names and nothing but what training needs.

It equals transformers' WhisperForConditionalGeneration (check.py proves it on the exported
checkpoint), but is several times faster on two CPU cores: matrix products and attention run
in bfloat16 while weights, norms' sums and the residual stream stay float32, windows may be shorter
than the full one, and attention is written out, since torch's fused one is slow at head size 32.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Linear(nn.Linear):
    def forward(self, x):
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, self.weight.to(x.dtype), bias)


class Norm(nn.LayerNorm):
    """Takes the float32 residual stream to the dtype the products run in."""

    def forward(self, x, dtype):
        return super().forward(x).to(dtype)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj = Linear(width, width)
        self.k_proj = Linear(width, width, bias=False)
        self.v_proj = Linear(width, width)
        self.out_proj = Linear(width, width)

    def split(self, x):  # (B,T,D) to (B,H,T,D/H)
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys(self, x):
        return self.split(self.k_proj(x)), self.split(self.v_proj(x))

    def forward(self, x, kv, mask=None):
        """Returns the output (B,L,D) and the attention weights (B,H,L,T)."""
        k, v = kv
        q = self.split(self.q_proj(x)) * (k.shape[-1] ** -0.5)
        w = q @ k.transpose(-1, -2)
        w = torch.softmax(w if mask is None else w + mask, -1)
        return self.out_proj((w @ v).transpose(1, 2).flatten(2)), w


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.self_attn = Attention(width, heads)
        self.self_attn_layer_norm = Norm(width)
        self.fc1 = Linear(width, inner)
        self.fc2 = Linear(inner, width)
        self.final_layer_norm = Norm(width)

    def forward(self, x, dtype):
        y = self.self_attn_layer_norm(x, dtype)
        x = x + self.self_attn(y, self.self_attn.keys(y))[0]
        return x + self.fc2(F.gelu(self.fc1(self.final_layer_norm(x, dtype))))


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.self_attn = Attention(width, heads)
        self.self_attn_layer_norm = Norm(width)
        self.encoder_attn = Attention(width, heads)
        self.encoder_attn_layer_norm = Norm(width)
        self.fc1 = Linear(width, inner)
        self.fc2 = Linear(inner, width)
        self.final_layer_norm = Norm(width)

    def forward(self, x, cross, mask, dtype):
        y = self.self_attn_layer_norm(x, dtype)
        x = x + self.self_attn(y, self.self_attn.keys(y), mask)[0]
        y, w = self.encoder_attn(self.encoder_attn_layer_norm(x, dtype), cross)
        x = x + y
        return x + self.fc2(F.gelu(self.fc1(self.final_layer_norm(x, dtype)))), w


def sinusoids(length, width):
    rate = math.log(10000) / (width // 2 - 1)
    t = torch.arange(length)[:, None] * torch.exp(-rate * torch.arange(width // 2))[None]
    return torch.cat([t.sin(), t.cos()], 1)


class Table(nn.Module):
    """An embedding table under Hugging Face's name for it."""

    def __init__(self, weight, learnt=True):
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=learnt)


class Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["d_model"]
        self.conv1 = nn.Conv1d(c["num_mel_bins"], width, 3, padding=1)
        self.conv2 = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.embed_positions = Table(sinusoids(c["max_source_positions"], width), learnt=False)
        self.layers = nn.ModuleList(EncoderLayer(width, c["encoder_attention_heads"], c["encoder_ffn_dim"])
                                    for _ in range(c["encoder_layers"]))
        self.layer_norm = Norm(width)

    def forward(self, mel, dtype):  # (B,80,2T) to (B,T,D)
        for conv in (self.conv1, self.conv2):
            mel = F.gelu(F.conv1d(mel.to(dtype), conv.weight.to(dtype), conv.bias.to(dtype), conv.stride, conv.padding))
        x = mel.transpose(1, 2)
        x = x + self.embed_positions.weight[: x.shape[1]]
        for layer in self.layers:
            x = layer(x, dtype)
        return self.layer_norm(x, dtype)


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["d_model"]
        self.embed_tokens = Table(torch.randn(c["vocab_size"], width) * 0.02)
        self.embed_positions = Table(torch.randn(c["max_target_positions"], width) * 0.01)
        self.layers = nn.ModuleList(DecoderLayer(width, c["decoder_attention_heads"], c["decoder_ffn_dim"])
                                    for _ in range(c["decoder_layers"]))
        self.layer_norm = Norm(width)

    def cross(self, audio):
        """Keys and values of the encoder's output, per layer: computed once a window."""
        return [layer.encoder_attn.keys(audio) for layer in self.layers]

    def forward(self, tokens, cross):
        """Returns float32 logits (B,L,V) and each layer's cross-attention weights."""
        dtype, n = cross[0][0].dtype, tokens.shape[1]
        x = self.embed_tokens.weight[tokens] + self.embed_positions.weight[:n]
        mask = torch.full((n, n), float("-inf"), dtype=dtype, device=x.device).triu(1)
        seen = []
        for layer, kv in zip(self.layers, cross):
            x, w = layer(x, kv, mask, dtype)
            seen.append(w)
        x = self.layer_norm(x, dtype)
        return F.linear(x, self.embed_tokens.weight.to(dtype)).float(), seen


class Whisper(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=m.in_features**-0.5 * 0.7)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, mel, tokens, dtype=torch.float32):
        return self.decoder(tokens, self.decoder.cross(self.encoder(mel, dtype)))[0]
