# SPDX-License-Identifier: Apache-2.0
"""torch's side of the moving models and the decoders: the same weights, read from our files, in f16 on a CUDA device."""
import time

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper

import common
from common import median

DEVICE, KIND = "cuda", torch.float16


def settle():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def parameters_of(path, features):
    """The model's constants in the order in which it was written, without small ones."""
    for tensor in onnx.load(path, load_external_data=False).graph.initializer:
        if tensor.data_type not in (TensorProto.FLOAT, TensorProto.FLOAT16) or np.prod(tensor.dims) < features:
            continue
        if tensor.data_location == TensorProto.EXTERNAL:
            place = {entry.key: entry.value for entry in tensor.external_data}
            value = np.memmap(path.parent / place["location"], np.float16, "r", int(place["offset"]), tuple(tensor.dims))
        else:
            value = numpy_helper.to_array(tensor)
        yield torch.from_numpy(np.array(value)).to(DEVICE, KIND)


def made(model_class, config):
    before = torch.get_default_dtype()
    torch.set_default_dtype(KIND)  # Not half() afterwards: positions are turned by f32 numbers.
    try:
        with torch.device(DEVICE):
            return model_class(config).eval()
    finally:
        torch.set_default_dtype(before)


def fill(module, weights, bias=False):
    """A linear layer, whose weights we keep as [inputs, outputs]; or the rows of a table, or a normalisation."""
    value = next(weights)
    module.weight.copy_(value.T if isinstance(module, torch.nn.Linear) else value)
    if bias:
        module.bias.copy_(next(weights))


@torch.inference_mode()
def llama(given, path, prompt, tokens):
    from transformers import LlamaConfig, LlamaForCausalLM
    features = given["features"]
    config = LlamaConfig(hidden_size=features, intermediate_size=features * 8 // 3 // 64 * 64, num_hidden_layers=given["layers"],
                         num_attention_heads=given["heads"], num_key_value_heads=given["groups"], vocab_size=given["vocabulary"],
                         max_position_embeddings=2048, rms_norm_eps=1e-6, tie_word_embeddings=False)
    model = made(LlamaForCausalLM, config)
    weights = parameters_of(path, features)
    fill(model.model.embed_tokens, weights)
    for layer in model.model.layers:
        fill(layer.input_layernorm, weights)
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            fill(getattr(layer.self_attn, name), weights)
        fill(layer.post_attention_layernorm, weights)
        for name in ("gate_proj", "up_proj", "down_proj"):
            fill(getattr(layer.mlp, name), weights)
    fill(model.model.norm, weights)
    fill(model.lm_head, weights)
    return decode(model, config, path, prompt, tokens)


@torch.inference_mode()
def gpt2(given, path, prompt, tokens):
    from transformers import GPT2Config, GPT2LMHeadModel
    features = given["features"]
    config = GPT2Config(n_embd=features, n_layer=given["layers"], n_head=given["heads"], n_positions=given["most"],
                        vocab_size=given["vocabulary"], activation_function="gelu", layer_norm_epsilon=1e-6, tie_word_embeddings=False)
    model = made(GPT2LMHeadModel, config)
    weights = parameters_of(path, features)
    fill(model.transformer.wte, weights)
    fill(model.transformer.wpe, weights)
    for block in model.transformer.h:
        fill(block.ln_1, weights, True)
        parts = [next(weights) for _ in range(6)]  # This library joins what queries, keys and values are made by.
        block.attn.c_attn.weight.copy_(torch.cat(parts[0::2], 1))
        block.attn.c_attn.bias.copy_(torch.cat(parts[1::2]))
        fill(block.attn.c_proj, weights, True)
        fill(block.ln_2, weights, True)
        fill(block.mlp.c_fc, weights, True)
        fill(block.mlp.c_proj, weights, True)
    fill(model.lm_head, weights)
    fill(model.transformer.ln_f, weights, True)
    return decode(model, config, path, prompt, tokens)


def decode(model, config, path, prompt, tokens):
    """Milliseconds of a prompt, as it is and compiled, and of a compiled token behind it; ids lie in the device's memory."""
    from transformers import StaticCache
    length = -(-(prompt + tokens) // 64) * 64
    cache = StaticCache(config=config, max_cache_len=length)
    ids = (torch.arange(prompt, device=DEVICE) % 61)[None]
    places = {at: torch.tensor([[at]], device=DEVICE) for at in range(prompt, length)}
    places[0] = torch.arange(prompt, device=DEVICE)[None]
    zero = torch.zeros(1, 1, dtype=torch.int64, device=DEVICE)

    def timed(run, ids, begin):
        settle()
        start = time.perf_counter()
        logits = run(input_ids=ids, position_ids=places[begin], past_key_values=cache, use_cache=True,
                     logits_to_keep=1).logits
        settle()
        return 1000 * (time.perf_counter() - start), logits

    def prompts(run, count):
        times = []
        for _ in range(count):
            cache.reset()
            times.append(timed(run, ids, 0)[0])
        return times

    found = {"torch_prompt_eager_ms": median(prompts(model, 6)[1:])}
    found["torch_prompt_ms"] = found["torch_prompt_eager_ms"]
    how = dict(fullgraph=True, dynamic=False)
    if DEVICE == "cuda":
        how["mode"] = "reduce-overhead"
    common.say("torch: a token is compiled")
    start = time.perf_counter()
    run = torch.compile(model, **how)
    for again in range(2):
        prompts(model, 1)
        times = []
        for at in range(tokens):
            torch.compiler.cudagraph_mark_step_begin()
            ms, logits = timed(run, zero, prompt + at)
            times.append(ms)
        if not again:
            found["torch_compile_s"] = time.perf_counter() - start
    found["torch_token_ms"] = median(times)
    ours, theirs = np.fromfile(path.parent / "logits.bin", np.float32), logits.float().cpu().numpy().ravel()
    found["error_of_largest"] = float(np.abs(ours[-len(theirs):] - theirs).max() / np.abs(theirs).max())
    # The prompt's compilation takes as long again: only where there is time for it.
    if time.monotonic() - common.BEGIN + 2 * found["torch_compile_s"] < 400:
        try:
            common.say("torch: the prompt is compiled")
            found["torch_prompt_compiled_ms"] = median(prompts(torch.compile(model, **how), 6)[3:])
            found["torch_prompt_ms"] = min(found["torch_prompt_ms"], found["torch_prompt_compiled_ms"])
        except Exception as error:
            common.say(f"torch: the compiled prompt: {type(error).__name__}: {str(error)[:200]}")
    return found | {"torch": "static cache, compiled"}


def timed_extents(run, extents):
    """As ours: the median over extents of each one's median."""
    times = {}
    for _ in range(4):
        for extent in extents:
            start = time.perf_counter()
            run(extent)
            times.setdefault(extent, []).append(1000 * (time.perf_counter() - start))
    return median([median(values[1:]) for values in times.values()])


def captured(run):
    """A CUDA graph of what `run` does with tensors that stay, and its result."""
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = run()
    return graph, result


def fastest(ways):
    """The fastest of {how: what gives its ms} that torch can do."""
    found = {}
    for how, measure in ways.items():
        if how == "CUDA graphs" and DEVICE != "cuda":
            continue
        common.say(f"torch: {how}")
        try:
            found[how] = measure()
        except Exception as error:
            common.say(f"torch: {how}: {type(error).__name__}: {str(error)[:200]}")
    how = min(found, key=found.get)
    return {"torch_ms": found[how], "torch": how, "torch_ways": found}


@torch.inference_mode()
def bert(given, path, extents, fixed, buckets, result):
    from transformers import BertConfig, BertModel
    features = given["features"]
    config = BertConfig(hidden_size=features, num_hidden_layers=given["layers"], num_attention_heads=given["heads"],
                        intermediate_size=4 * features, vocab_size=given["vocabulary"], layer_norm_eps=1e-6, attn_implementation="sdpa")
    model = made(lambda config: BertModel(config, add_pooling_layer=False), config)
    weights = parameters_of(path, features)
    model.embeddings.token_type_embeddings.weight.zero_()
    fill(model.embeddings.word_embeddings, weights)
    fill(model.embeddings.position_embeddings, weights)
    fill(model.embeddings.LayerNorm, weights, True)
    for layer in model.encoder.layer:
        for linear in (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value, layer.attention.output.dense):
            fill(linear, weights, True)
        fill(layer.attention.output.LayerNorm, weights, True)
        fill(layer.intermediate.dense, weights, True)
        fill(layer.output.dense, weights, True)
        fill(layer.output.LayerNorm, weights, True)
    texts = {extent: (torch.arange(extent) % 61)[None] for extent in {*extents, fixed}}

    def compiled():
        run = torch.compile(model, dynamic=True)
        return timed_extents(lambda extent: run(texts[extent].to(DEVICE)).last_hidden_state.cpu(), extents)

    def replayed():
        graphs = {}
        for size in buckets:
            ids = torch.zeros(1, size, dtype=torch.int64, device=DEVICE)
            mask = torch.ones(1, 1, size, size, dtype=torch.bool, device=DEVICE)
            graphs[size] = (ids, mask, *captured(lambda: model(ids, attention_mask=mask).last_hidden_state))

        def run(extent):
            ids, mask, graph, y = graphs[next(size for size in buckets if size >= extent)]
            ids[:, :extent].copy_(texts[extent])
            mask[..., :extent] = True
            mask[..., extent:] = False
            graph.replay()
            return y[:, :extent].cpu()

        return timed_extents(run, extents)

    wanted = model(texts[fixed].to(DEVICE)).last_hidden_state.float().cpu().numpy()
    ours = np.fromfile(result, np.float32).reshape(wanted.shape)
    error = float(np.abs(ours - wanted).max() / np.abs(wanted).max())
    return fastest({"torch.compile": compiled, "CUDA graphs": replayed}) | {"error_of_largest": error}


@torch.inference_mode()
def segformer(extents, fixed, sides):
    """A model of the same form, with weights of its own."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    model = made(SegformerForSemanticSegmentation, SegformerConfig(num_labels=19, decoder_hidden_size=256))
    pictures = {side: (torch.arange(3 * side * side) % 251 / 251).reshape(1, 3, side, side) for side in {*extents, fixed}}

    def compiled():
        run = torch.compile(model, dynamic=True)
        return timed_extents(lambda side: run(pictures[side].to(DEVICE).to(KIND)).logits.cpu(), extents)

    def replayed():
        graphs = {}
        for side in sides:
            x = torch.zeros(1, 3, side, side, device=DEVICE)
            graphs[side] = (x, *captured(lambda: model(x.to(KIND)).logits))

        def run(side):
            x, graph, y = graphs[side]
            x.copy_(pictures[side])
            graph.replay()
            return y.cpu()

        return timed_extents(run, extents)

    return fastest({"torch.compile": compiled, "CUDA graphs": replayed})
