// SPDX-License-Identifier: Apache-2.0
// Caches of keys and values in the types that are asked for, beside the reference, and beside the CPU device with the same setting.
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/deferred.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace caches_test {

using namespace gpu_device::testing;

using Kinds = std::map<std::string, int>;

/// What a decoder's layer keeps, and how its attention reads it.
struct Form {
  std::size_t batch = 1, heads = 4, groups = 4, width = 64;
  bool has_beams = false;    ///< The last input says which row of the batch goes on where.
  bool begins_empty = true;  ///< The states' initialisers have no positions; else there are no initialisers.
  bool is_reshaped = false;  ///< The last input's values decide the result's shape.
  std::int64_t window = 0;   ///< How many positions the states keep; 0: all.
  bool has_nodes = false;    ///< Attention is the nodes that exporters write for it.
};

Out node(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {}) {
  return outputs(type, version, inputs, attributes)[0];
}

/// Each group's rows for all of its heads, as exporters write it.
Out repeated(const Out& x, const Form& form) {
  if (form.heads == form.groups) return x;
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const Out shape = node("ShapeOf", 3, {x}, {{"output_type", element::i64}});
  const Out rest = node("Gather", 8, {shape, ints({2, 3}), scalar(0)});
  const Out first = ints({number(form.batch), number(form.groups), number(form.heads / form.groups)});
  const Out wanted = node("Concat", 1, {first, rest}, {{"axis", std::int64_t{0}}});
  const Out wide =
      node("Broadcast", 3, {node("Unsqueeze", 0, {x, ints({2})}), wanted}, {{"mode", std::string("bidirectional")}});
  return node("Reshape", 1, {wide, ints({0, number(form.heads), -1, number(form.width)})}, {{"special_zero", true}});
}

std::shared_ptr<Model> decoder(const Form& form) {
  const auto rows = [&](std::size_t heads) {
    return PartialShape{static_cast<std::int64_t>(form.batch), static_cast<std::int64_t>(heads), -1,
                        static_cast<std::int64_t>(form.width)};
  };
  ParameterVector parameters{std::make_shared<op::v0::Parameter>(element::f32, rows(form.heads))};
  SinkVector sinks;
  OutputVector grown;
  std::shared_ptr<op::v0::Parameter> beams;
  if (form.has_beams)
    beams = std::make_shared<op::v0::Parameter>(element::i32, PartialShape{static_cast<std::int64_t>(form.batch)});
  for (const char* id : {"keys", "values"}) {
    parameters.push_back(std::make_shared<op::v0::Parameter>(element::f32, rows(form.groups)));
    OutputVector begin;
    if (form.begins_empty) begin = {reals({form.batch, form.groups, 0, form.width}, {})};
    Out past = node("ReadValue", 6, begin,
                    {{"variable_id", id}, {"variable_type", ElementType::kF32}, {"variable_shape", rows(form.groups)}});
    if (beams) past = node("Gather", 8, {past, beams->output(0), scalar(0)});
    grown.push_back(node("Concat", 1, {past, parameters.back()->output(0)}, {{"axis", std::int64_t{2}}}));
    Out kept = grown.back();
    if (form.window > 0)
      kept = node("Slice", 8,
                  {kept, ints({-form.window}), ints({std::numeric_limits<std::int64_t>::max()}), ints({1}), ints({2})});
    sinks.push_back(make_node("Assign", 6, {kept}, {{"variable_id", id}}));
  }
  if (beams) parameters.push_back(beams);
  const Out query = parameters[0]->output(0), key = repeated(grown[0], form), value = repeated(grown[1], form);
  Out y;
  if (form.has_nodes) {
    const Attributes plain{{"transpose_a", false}, {"transpose_b", false}},
        turned{{"transpose_a", false}, {"transpose_b", true}};
    const Out scores = node("Multiply", 1, {node("MatMul", 0, {query, key}, turned), reals({}, {0.25})});
    y = node("MatMul", 0, {node("Softmax", 8, {scores}, {{"axis", std::int64_t{-1}}}), value}, plain);
  } else {
    y = node("ScaledDotProductAttention", 13, {query, key, value}, {{"causal", false}});
  }
  if (form.is_reshaped) {
    parameters.push_back(std::make_shared<op::v0::Parameter>(element::i64, PartialShape{2}));
    y = node("Reshape", 1, {y, parameters.back()->output(0)}, {{"special_zero", false}});
  }
  return std::make_shared<Model>(OutputVector{y}, sinks, parameters, "cached");
}

std::vector<Tensor> tokens(const Form& form, std::size_t count, unsigned seed) {
  std::vector<Tensor> inputs;
  for (const std::size_t heads : {form.heads, form.groups, form.groups})
    inputs.push_back(random_tensor(ElementType::kF32, {form.batch, heads, count, form.width}, seed++));
  if (form.has_beams) {
    inputs.emplace_back(ElementType::kI32, Shape{form.batch});
    for (std::size_t i = 0; i < form.batch; ++i)
      inputs.back().data<std::int32_t>()[i] = static_cast<std::int32_t>((i * 2 + seed) % form.batch);
  }
  if (form.is_reshaped) {
    inputs.emplace_back(ElementType::kI64, Shape{2});
    inputs.back().data<std::int64_t>()[0] = -1;
    inputs.back().data<std::int64_t>()[1] = static_cast<std::int64_t>(form.width);
  }
  return inputs;
}

Tensor infer(InferRequest& request, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  Tensor y;
  request.get_output_tensor().copy_to(y);
  return y;
}
VariableState state_of(InferRequest& request, const std::string& id) {
  for (auto& state : request.query_state())
    if (state.get_name() == id) return state;
  throw Error(Code::kNotFound, id);
}

void expect_near(const Tensor& wanted, const Tensor& got, double tolerance) {
  ASSERT_EQ(wanted.shape(), got.shape());
  ASSERT_EQ(got.element_type(), ElementType::kF32);
  for (std::size_t i = 0; i < wanted.element_count(); ++i)
    ASSERT_NEAR(wanted.data<float>()[i], got.data<float>()[i], tolerance) << "element " << i;
}

AnyMap settings(const std::string& type) {
  return {hint::inference_precision(element::f32), {"KV_CACHE_PRECISION", type}, enable_profiling(true)};
}
bool has_device(Core& core, const std::string& name) {
  const auto devices = core.get_available_devices();
  return std::find(devices.begin(), devices.end(), name) != devices.end();
}

/// On the GPU, and, where the settings are the CPU device's, too, on that: a prompt, tokens, several at once, a prompt after a reset; states are read, and set again.
void judge_cache(const Form& form, const AnyMap& properties, double tolerance, double rounding, bool on_cpu = false) {
  SCOPED_TRACE(std::to_string(tolerance) + ", " + std::to_string(form.groups) + " groups of " +
               std::to_string(form.width));
  const auto model = decoder(form);
  Core core;
  std::vector<InferRequest> requests{core.compile_model(model, "GPU", properties).create_infer_request()};
  if (on_cpu && has_device(core, "CPU"))
    requests.push_back(core.compile_model(model, "CPU", properties).create_infer_request());
  VariableMap variables;
  unsigned seed = 1;
  const auto go = [&](std::size_t count) {
    const std::vector<Tensor> inputs = tokens(form, count, seed += 10);
    const Tensor wanted = evaluate(*model, inputs, &variables).at(0);
    for (InferRequest& request : requests) expect_near(wanted, infer(request, inputs), tolerance);
  };
  for (const std::size_t count : {9, 1, 1, 3, 1}) go(count);
  for (const char* id : {"keys", "values"}) {
    const Tensor value = state_of(requests[0], id).get_state();
    expect_near(variables.at(id), value, rounding);
    state_of(requests[0], id).set_state(value);
    // What was rounded once stays.
    expect_near(value, state_of(requests[0], id).get_state(), rounding / 100);
  }
  go(1);
  for (InferRequest& request : requests) request.reset_state();
  variables.clear();
  for (const std::size_t count : {4, 1, 70, 1}) go(count);
}

void judge_types(const Form& form) {
  judge_cache(form, settings("f16"), 4e-3, 2e-3, true);
  judge_cache(form, settings("u8"), 0.05, 0.02, true);
}

TEST(GpuCaches, LieInTheTypeThatIsAskedFor) {
  judge_cache({1, 4, 4, 64}, settings("f32"), 1e-4, 0, true);
  for (const Form& form : {Form{1, 4, 2, 64}, Form{1, 2, 2, 20, false, false}, Form{1, 2, 2, 16, false, true, true}})
    judge_types(form);
}

TEST(GpuCaches, FollowBeams) { judge_types({3, 4, 2, 32, true}); }

TEST(GpuCaches, AreReadByTheNodesOfAttention) {
  Form form{1, 4, 2, 32};
  form.has_nodes = true;
  judge_types(form);
  for (const char* type : {"f16", "u8"}) {
    AnyMap properties = settings(type);
    properties.insert(intel_gpu::hint::enable_sdpa_optimization(false));
    judge_cache(form, properties, 0.05, 0.02);
  }
}

/// A window that slides does not grow by Concat alone, and keeps the model's type.
TEST(GpuCaches, OfSlidingWindows) {
  Form form{1, 4, 2, 32};
  form.window = 6;
  judge_cache(form, settings("u8"), 1e-4, 0, true);
}

/// Values between kernels in f16, and caches in what they lie in, or in fewer bits.
TEST(GpuCaches, OfHalves) {
  for (const std::size_t width : {32u, 64u})
    judge_cache({1, 4, 2, width}, {hint::inference_precision(element::f16)}, 0.02, 2e-3);
  judge_cache({1, 4, 2, 64}, {hint::inference_precision(element::f16), hint::kv_cache_precision(element::u8)}, 0.05,
              0.02);
}

/// What a request holds after a token behind many positions, and the kernels that ran for it.
struct Ran {
  std::uint64_t bytes = 0;
  Kinds kinds;
  Tensor y;
};
Ran run_behind(std::size_t positions, const AnyMap& properties) {
  const Form form{1, 4, 2, 64};
  Core core;
  const auto held = [&] { return core.get_property("GPU", intel_gpu::memory_statistics).at("cl_mem"); };
  drain_deferred(default_deadline());
  // Drivers let go of memory a moment after its last user: what others held must not fall meanwhile.
  std::uint64_t before = held();
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (held() != before) i = 0;
    before = held();
  }
  InferRequest request = core.compile_model(decoder(form), "GPU", properties).create_infer_request();
  for (const char* id : {"keys", "values"})
    state_of(request, id).set_state(random_tensor(ElementType::kF32, {1, form.groups, positions, form.width}, 5));
  Ran ran;
  for (unsigned seed : {1, 2}) ran.y = infer(request, tokens(form, 1, seed));
  drain_deferred(default_deadline());
  ran.bytes = held() - before;
  for (const ProfilingInfo& info : request.get_profiling_info())
    if (info.status == ProfilingInfo::Status::EXECUTED) ++ran.kinds[info.exec_type];
  return ran;
}

TEST(GpuCaches, TakeTheMemoryOfTheirTypeAndAreReadWhereTheyLie) {
  const Ran exact = run_behind(2048, settings("f32")), half = run_behind(2048, settings("f16")),
            bytes = run_behind(2048, settings("u8"));
  EXPECT_NEAR(static_cast<double>(half.bytes) / static_cast<double>(exact.bytes), 0.5, 0.06);
  // 64 bytes and two reals, instead of 64 reals.
  EXPECT_NEAR(static_cast<double>(bytes.bytes) / static_cast<double>(exact.bytes), 72.0 / 256, 0.06);
  AnyMap keys = settings("f32");
  keys["KEY_CACHE_PRECISION"] = "u8";
  EXPECT_NEAR(static_cast<double>(run_behind(2048, keys).bytes), static_cast<double>(exact.bytes + bytes.bytes) / 2,
              static_cast<double>(exact.bytes) / 16);
  expect_near(exact.y, half.y, 1e-3);
  expect_near(exact.y, bytes.y, 0.02);
  // No kernel makes reals of a cache: new rows are narrowed where they are joined with the old ones.
  EXPECT_EQ(half.kinds, exact.kinds);
  Kinds wanted = exact.kinds;
  EXPECT_EQ(wanted["maps"], 1u)
      << "of what lies in a cache, nothing is moved; new rows of both are written side by side";
  EXPECT_EQ(wanted.count("map"), 0u);
  wanted.erase("map");
  wanted.erase("maps");
  // On NVIDIA's devices one kernel narrows both.
  wanted["narrow_rows"] = bytes.kinds.at("narrow_rows") == 1 ? 1 : 2;
  EXPECT_EQ(bytes.kinds, wanted);
}

TEST(GpuCaches, TakeRemoteTensors) {
  const Form form{1, 4, 2, 64};
  const Tensor value = random_tensor(ElementType::kF32, {1, form.groups, 5, form.width}, 3);
  Core core;
  RemoteTensor remote = core.get_default_context("GPU").create_tensor(element::f32, value.shape());
  remote.copy_from(value);
  for (const auto& [type, rounding] : {std::pair("f16", 2e-3), {"u8", 0.02}}) {
    InferRequest request = core.compile_model(decoder(form), "GPU", settings(type)).create_infer_request();
    VariableMap variables;
    for (const char* id : {"keys", "values"}) {
      state_of(request, id).set_state(remote);
      expect_near(value, state_of(request, id).get_state(), rounding);
      variables[id] = value;
    }
    const std::vector<Tensor> inputs = tokens(form, 1, 8);
    expect_near(evaluate(*decoder(form), inputs, &variables).at(0), infer(request, inputs), 0.05);
  }
}

TEST(GpuCaches, AreNamedAndRefused) {
  Core core;
  const auto model = decoder({});
  const auto type = [&](const AnyMap& properties) {
    return core.compile_model(model, "GPU", properties).get_property("KV_CACHE_PRECISION").as<std::string>();
  };
  EXPECT_EQ(type({hint::inference_precision(element::f32)}), "f32");
  EXPECT_EQ(type({hint::inference_precision(element::f16)}), "f16") << "as values between kernels";
  EXPECT_EQ(type(settings("u4")), "u8");
  EXPECT_EQ(type({{"KV_CACHE_PRECISION", "f16"}, {"VALUE_CACHE_PRECISION", "u8"}}), "dynamic");
  for (const auto& [name, value] : {std::pair("KV_CACHE_PRECISION", "bf16"),
                                    {"KEY_CACHE_PRECISION", "i32"},
                                    {"VALUE_CACHE_PRECISION", "f64"},
                                    {"KEY_CACHE_GROUP_SIZE", "32"}}) {
    try {
      core.compile_model(model, "GPU", {{name, value}});
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(name));
    }
  }
}

}  // namespace caches_test
}  // namespace tenon
