"""Tiny, randomly initialised models of every causal language model known to transformers."""

from __future__ import annotations

import math
from typing import Any

import torch
import transformers
from transformers import CONFIG_MAPPING, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.pytorch_utils import Conv1D

VOCABULARY = 128
HEADS = 4
ROTARY = 8

# Upper limits for the values which configurations hold under these names.
LIMITS: list[tuple[int, str]] = [
    (
        VOCABULARY,
        """vocab_size decoder_vocab_size audio_vocab_size vocab_size_per_layer_input vocab_offset
        pronunciation_vocab_size shape_vocab_size encoder_hash_byte_group_vocab codebook_size
        max_position_embeddings n_positions n_ctx max_seq_len model_max_length context_length
        max_target_positions max_source_positions""",
    ),
    (
        48,
        """intermediate_size intermediate_size_mlp dense_intermediate_size moe_intermediate_size
        shared_expert_intermediate_size moe_shared_expert_intermediate_size
        shared_intermediate_size expert_ffn_hidden_size ffn_hidden_size encoder_ffn_dim
        decoder_ffn_dim ffn_dim d_ff d_inner dff dim_ff feed_forward_size mlp_dim prompt_mid_dim""",
    ),
    (
        32,
        """hidden_size d_model n_embd emb_dim embedding_dim embedding_size word_embed_proj_dim
        input_embedding_size output_embedding_size hidden_size_global backbone_hidden_size
        out_hidden_size projector_input_dim projector_output_dim lru_width
        pronunciation_embed_dim shape_embed_dim base_channels output_channels num_filters
        nemo_conv_channels ext_pw_out_channel depthwise_separable_out_channel image_size""",
    ),
    (
        16,
        """head_dim swa_head_dim index_head_dim attention_head_dim attention_head_size kv_channels
        d_head d_kv dim_head v_head_dim qk_nope_head_dim kv_lora_rank q_lora_rank o_lora_rank
        linear_head_dim linear_key_head_dim linear_value_head_dim mamba_d_head mamba_head_dim
        mamba_headdim mamba_d_state ssm_state_size state_size query_pre_attn_scalar
        hidden_size_per_layer_input""",
    ),
    (
        ROTARY,
        """qk_rope_head_dim rotary_dim chunk_size mamba_chunk_size block_size laurel_rank
        time_step_rank adapter_rank hc_lowrank gated_norm_rank router_hidden_size patch_size""",
    ),
    (
        5,
        """sliding_window sliding_window_size attention_window_size attention_chunk_size
        window_size local_attention index_topk""",
    ),
    (
        HEADS,
        """num_attention_heads attention_heads encoder_attention_heads decoder_attention_heads
        num_encoder_attention_heads num_decoder_attention_heads conf_num_attention_heads
        swa_num_attention_heads n_head n_heads num_heads index_n_heads linear_num_heads
        linear_num_value_heads mamba_n_heads mamba_num_heads num_experts num_local_experts
        n_routed_experts moe_num_experts zero_expert_num""",
    ),
    (
        2,
        """num_key_value_heads swa_num_key_value_heads num_kv_heads kv_n_heads
        linear_num_key_heads num_hidden_layers encoder_layers decoder_layers num_encoder_layers
        num_decoder_layers conf_num_hidden_layers num_global_layers num_layers
        num_layers_per_stack n_layer n_layers num_blocks depth num_experts_per_tok
        num_experts_per_token moe_k moe_top_k moe_topk n_group num_expert_group n_groups""",
    ),
    (
        1,
        """n_shared_experts num_shared_experts moe_num_shared_experts topk_group
        first_k_dense_replace num_dense_layers num_nextn_predict_layers num_kv_shared_layers""",
    ),
]
SIZES: dict[str, int] = {name: size for size, names in LIMITS for name in names.split()}
_OFTEN_UNSET = {"num_key_value_heads", "head_dim"}

_CONVOLUTIONS = {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention"] * 2}
_INDEXER = {
    "indexer_n_heads": 2,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 16,
    "indexer_budget": 4,
    "indexer_compress_ratio": 2,
}
_IMAGE_TOWER: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 32,
    "vocab_size": VOCABULARY,
    "vocab_offset": VOCABULARY,
    "rms_norm_eps": 1e-6,
}

OVERRIDES: dict[str, dict[str, Any]] = {
    "bamba": {"num_hidden_layers": 4, "attn_layer_indices": [1, 3]},
    # Its attention always divides the hidden size by the heads, whatever head_dim says.
    "blt": {
        part: {"head_dim": 8}
        for part in ["patcher_config", "encoder_config", "decoder_config", "global_config"]
    },
    "cohere_compass_text": {
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e4}}
    },
    # The default configuration lacks two values which the attention reads.
    "dbrx": {"attn_config": {"rope_theta": 1e4, "clip_qkv": 8.0, "kv_n_heads": 2}},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "deepseek_v4": {
        "num_hidden_layers": 3,
        "layer_types": [
            "sliding_attention",
            "compressed_sparse_attention",
            "heavily_compressed_attention",
        ],
        "mlp_layer_types": ["hash_moe", "moe", "moe"],
        "compress_rates": {"compressed_sparse_attention": 2, "heavily_compressed_attention": 4},
        "num_key_value_heads": 1,
        "head_dim": 16,
        "partial_rotary_factor": 0.5,
        "o_groups": 2,
    },
    "dots1": {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1},
    # Published checkpoints set head_dim although the configuration class does not declare it.
    "exaone_moe": {"head_dim": 16},
    "glm4_moe": {"head_dim": 16},
    "qwen3_moe": {"head_dim": 16},
    "falcon_h1": {"mamba_d_ssm": 32, "head_dim": 16},
    # Full-attention layers have a larger head than sliding ones.
    "gemma4": {"text_config": {"global_head_dim": 32}},
    "gemma4_text": {"global_head_dim": 32},
    "gemma4_unified": {"text_config": {"global_head_dim": 32}},
    "gemma4_unified_text": {"global_head_dim": 32},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {
        "num_hidden_layers": 4,
        "layer_types": ["linear_attention", "full_attention"] * 2,
    },
    # The output projection is square, so that the heads have to fill the hidden size.
    "helium": {"head_dim": 8},
    "jamba": {"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1},
    # Layers may differ in their number of heads.
    "laguna": {
        "layer_types": ["full_attention", "sliding_attention"],
        "num_attention_heads_per_layer": [4, 6],
    },
    "lfm2": _CONVOLUTIONS,
    "lfm2_moe": _CONVOLUTIONS,
    "minimax_m3_vl_text": {
        "layer_types": ["full_attention", "minimax_m3_sparse"],
        "mlp_layer_types": ["dense", "sparse"],
        "index_block_size": 2,
        "index_topk_blocks": 2,
    },
    # Layer 1 attends to images only and is passed over in a text.
    "mllama": {"text_config": {"num_hidden_layers": 3, "cross_attention_layers": [1]}},
    # With several codebooks, each row of a batch would be one codebook.
    "musicgen": {"decoder": {"num_codebooks": 1}},
    "musicgen_melody": {"decoder": {"num_codebooks": 1}},
    "nemotron_h": {
        "num_hidden_layers": 5,
        "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp", "full_attention"],
    },
    "qwen4_exp": {"text_config": _INDEXER},
    "qwen4_exp_text": _INDEXER,
    "recurrent_gemma": {"num_hidden_layers": 4, "block_types": ["recurrent", "attention"]},
    "reformer": {"axial_pos_embds": False, "attn_layers": ["local", "lsh"]},
    "xlm": {"causal": True},
    "xlnet": {"d_head": 8},
    "xmod": {"default_language": "en_XX"},
    "zamba2": {"n_mamba_heads": 4},
}

UNBUILDABLE: dict[str, str] = {
    "gemma4_assistant": "runs only on the hidden and key/value states of another model",
    "gemma4_unified_assistant": "runs only on the hidden and key/value states of another model",
}


def architectures() -> list[str]:
    """All model types which the installed transformers maps to a causal language model."""
    return sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def small_config(model_type: str) -> PreTrainedConfig:
    """The default configuration of a model type, shrunk to some ten thousand parameters."""
    config = _shrunk(CONFIG_MAPPING[model_type](), OVERRIDES.get(model_type, {}))
    if model_type == "gemma3n":
        # Its own image tower needs the package timm; a text reaches neither of the two.
        vars(config)["vision_config"] = CONFIG_MAPPING["siglip_vision_model"](**_IMAGE_TOWER)
    return config


def build(model_type: str, *, attention: str | None = None, seed: int = 0) -> PreTrainedModel:
    """A tiny model in eval mode with random weights; `attention` asks for an implementation."""
    model_class = getattr(transformers, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[model_type])
    config = small_config(model_type)
    if not isinstance(config, model_class.config_class):
        config = config.get_text_config(decoder=True)
    options = {} if attention is None else {"attn_implementation": attention}
    torch.manual_seed(seed)
    new = model_class._from_config(config, dtype=torch.float32, **options)
    model: PreTrainedModel = new.eval()
    torch.manual_seed(seed)
    _randomise(model)
    return model


def _shrunk(config: PreTrainedConfig, overrides: dict[str, Any]) -> PreTrainedConfig:
    """A new configuration of the same class with small sizes and, on top, the overrides."""
    attributes = {name: value for name, value in vars(config).items() if name[0] != "_"}
    kwargs: dict[str, Any] = dict(overrides)
    small: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, PreTrainedConfig):
            kwargs[name] = _shrunk(value, overrides.get(name, {}))
        elif "_token_i" in name:
            small[name] = _special_token(value)
        elif name in SIZES and type(value) is int:
            small[name] = min(value, SIZES[name])
        elif name in SIZES and (isinstance(value, list) or name in _OFTEN_UNSET):
            small[name] = SIZES[name]
    if "qk_rope_head_dim" in attributes:
        # Latent attention has as many keys as queries, and head_dim means its rotary part.
        small["num_key_value_heads"] = HEADS
        small["head_dim"] = ROTARY
    if "is_decoder" in attributes:
        small["is_decoder"] = True
    return type(config)(**{**small, **_layer_kinds(attributes), **kwargs})


def _layer_kinds(attributes: dict[str, Any]) -> dict[str, Any]:
    """Short per-layer lists in which every kind of layer of the long ones still occurs."""
    names = ["layer_types", "layers_block_type", "mlp_layer_types", "indexer_types"]
    kinds = {name: list(dict.fromkeys(attributes[name])) for name in names if attributes.get(name)}
    if not kinds:
        return {}
    mixed = any(len(types) > 1 for name, types in kinds.items() if name.startswith("layer"))
    layers = 4 if mixed else 2
    return {
        "num_hidden_layers": layers,
        **{name: (types * layers)[:layers] for name, types in kinds.items()},
    }


def _special_token(token: Any) -> Any:
    """Special tokens get the ids 0, 1 and 2, which leaves all others to ordinary text."""
    if isinstance(token, list | tuple):
        return [_special_token(one) for one in token]
    return token % 3 if isinstance(token, int) else token


def _randomise(model: PreTrainedModel) -> None:
    """Draw all weight matrices at a scale at which every head shows in the output."""
    done: set[int] = set()
    for module in model.modules():
        if "norm" in type(module).__name__.lower():
            continue
        for name, parameter in module.named_parameters(recurse=False):
            if id(parameter) in done or not parameter.is_floating_point():
                continue
            done.add(id(parameter))
            if parameter.dim() >= 2:
                torch.nn.init.normal_(parameter, std=_fan_in(module, parameter) ** -0.5)
            elif not name.endswith("bias") and not parameter.any():
                torch.nn.init.normal_(parameter, std=0.1)


def _fan_in(module: torch.nn.Module, parameter: torch.nn.Parameter) -> int:
    """How many inputs add up to one output."""
    if isinstance(module, Conv1D):
        return int(parameter.shape[0])
    if isinstance(module, torch.nn.modules.conv._ConvNd):
        return math.prod(parameter.shape[1:])
    return int(parameter.shape[-1])
