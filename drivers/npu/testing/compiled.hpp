// SPDX-License-Identifier: Apache-2.0
// Shared by the compiler's tests: models as clients pass them, programs, and reference results.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/npu_platforms.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/drivers/npu/compiler/arguments.hpp>
#include <tenon/drivers/npu/compiler/compiler.hpp>
#include <tenon/drivers/npu/compiler/options.hpp>
#include <tenon/drivers/npu/compiler/program.hpp>
#include <tenon/drivers/npu/compiler/run.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/evaluate.hpp>  // IWYU pragma: export
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/ops.hpp>  // IWYU pragma: export
#include <tenon/graph/partial_shape.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/store/testing/reseal.hpp>

namespace tenon::npu::compiler {

using Bytes = std::vector<std::uint8_t>;

template <typename T>
void append(Bytes& bytes, const T& value) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), data, data + sizeof value);
}

/// The model in the form with weights in the buffer.
inline Bytes in_memory(const std::string& xml, const Tensor& weights) {
  Bytes bytes;
  append(bytes, std::uint16_t{7});
  append(bytes, std::uint16_t{28});
  append(bytes, std::uint32_t{2});
  append(bytes, std::uint64_t{xml.size()});
  bytes.insert(bytes.end(), xml.begin(), xml.end());
  const std::uint64_t size = weights ? weights.size_bytes() : 0;
  append(bytes, size);
  if (size) {
    const auto* data = static_cast<const std::uint8_t*>(weights.data());
    bytes.insert(bytes.end(), data, data + size);
  }
  return bytes;
}

inline Bytes in_memory(const Model& model) {
  const SerializedModel serialized = serialize(model);
  return in_memory(serialized.xml, serialized.weights);
}

inline Platform device() { return *find_npu_platform(4000); }

inline Request request_for(const Bytes& ir, const char* flags = nullptr) {
  Request request;
  request.ir = ir;
  request.build_flags = flags;
  request.device = device();
  return request;
}

inline std::shared_ptr<Program> program_of(const Bytes& ir, const char* flags = nullptr) {
  return compile(request_for(ir, flags), nullptr).program;
}
inline std::shared_ptr<Program> program_of(const Model& model, const char* flags = nullptr) {
  return program_of(in_memory(model), flags);
}

inline Tensor random_tensor(ElementType type, const Shape& shape, unsigned seed = 1) {
  Tensor tensor(type, shape);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  if (type == ElementType::kF32) {
    for (std::size_t i = 0; i < tensor.element_count(); ++i) tensor.data<float>()[i] = real(generator);
  } else if (type == ElementType::kI64) {
    for (std::size_t i = 0; i < tensor.element_count(); ++i)
      tensor.data<std::int64_t>()[i] = static_cast<std::int64_t>(generator() % 50);
  } else {
    auto* bytes = static_cast<std::uint8_t*>(tensor.data());
    for (std::size_t i = 0; i < tensor.size_bytes(); ++i) bytes[i] = static_cast<std::uint8_t>(generator() % 100);
  }
  return tensor;
}

/// Runs a program once on packed tensors, in input order; states start at zero. @return its outputs.
inline std::vector<Tensor> run_once(ProgramRun& run, const Program& program, const std::vector<Tensor>& inputs) {
  static engine::Workers workers(2);
  std::vector<Tensor> outputs;
  static std::vector<Tensor> states;
  std::size_t next = 0;
  for (std::size_t i = 0; i < program.arguments().size(); ++i) {
    const Argument& argument = program.arguments()[i];
    if (argument.role == Argument::Role::kState) {
      states.emplace_back(argument.type, argument.max_shape());
      std::memset(states.back().data(), 0, states.back().size_bytes());
      run.set_argument(i, states.back().data());
    } else if (argument.is_input) {
      run.set_argument(i, inputs.at(next++).data());
    } else {
      outputs.emplace_back(argument.type, argument.max_shape());
      run.set_argument(i, outputs.back().data());
    }
  }
  run.execute(workers);
  return outputs;
}

/// One input, one output: relu(x + 1).
inline std::shared_ptr<Model> small_model(const PartialShape& shape = PartialShape{1, 4},
                                          element::Type type = element::f32) {
  auto x = std::make_shared<op::v0::Parameter>(type, shape);
  x->set_friendly_name("x");
  x->output(0).set_names({"x_tensor"});
  auto one = std::make_shared<op::v0::Constant>(type, Shape{1}, std::vector<double>{1});
  auto sum = std::make_shared<op::v1::Add>(x->output(0), one->output(0));
  sum->set_friendly_name("sum");
  auto relu = std::make_shared<op::v0::Relu>(sum->output(0));
  relu->set_friendly_name("relu");
  relu->output(0).set_names({"y_tensor"});
  auto result = std::make_shared<op::v0::Result>(relu->output(0));
  result->set_friendly_name("y");
  return std::make_shared<Model>(ResultVector{result}, ParameterVector{x}, "small");
}

/// y[0..3] = x[0] * n: [1, 1] times ones [1, n], times ones [n, 4]; the intermediate has n elements.
inline std::shared_ptr<Model> product_model(std::size_t n) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 1});
  x->set_friendly_name("x");
  const auto ones = [](const Shape& shape) {
    return std::make_shared<op::v0::Constant>(element::f32, shape, std::vector<double>{1})->output(0);
  };
  auto wide = std::make_shared<op::v0::MatMul>(x->output(0), ones({1, n}));
  auto narrow = std::make_shared<op::v0::MatMul>(wide->output(0), ones({n, 4}));
  return std::make_shared<Model>(OutputVector{narrow->output(0)}, ParameterVector{x}, "product");
}

/// A running mean: state = 0.75 state + 0.25 x; y = x - new state.
inline std::shared_ptr<Model> stateful_model() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 8});
  x->set_friendly_name("x");
  const auto number = [](double value) {
    return std::make_shared<op::v0::Constant>(element::f32, Shape{1}, std::vector<double>{value})->output(0);
  };
  Attributes variable({{"variable_id", Attribute(std::string("mean"))},
                       {"variable_type", Attribute(ElementType::kF32)},
                       {"variable_shape", Attribute(PartialShape{1, 8})}});
  auto read = make_node("ReadValue", 6, {}, variable, "read");
  auto kept = std::make_shared<op::v1::Multiply>(read->output(0), number(0.75));
  auto taken = std::make_shared<op::v1::Multiply>(x->output(0), number(0.25));
  auto mean = std::make_shared<op::v1::Add>(kept->output(0), taken->output(0));
  auto assign = make_node("Assign", 6, {mean->output(0)}, Attributes({{"variable_id", Attribute(std::string("mean"))}}),
                          "assign");
  auto difference = std::make_shared<op::v1::Subtract>(x->output(0), mean->output(0));
  difference->set_friendly_name("difference");
  auto result = std::make_shared<op::v0::Result>(difference->output(0));
  result->set_friendly_name("y");
  return std::make_shared<Model>(ResultVector{result}, SinkVector{assign}, ParameterVector{x}, "stateful");
}

/// Recomputes the hashes of a changed native binary, so that the checks after them are reached.
inline void repair_hashes(Bytes& blob) {
  constexpr std::size_t kHeader = 128;  // The same value as in native_blob.cpp.
  store::reseal(reinterpret_cast<char*>(blob.data()), blob.size(), kHeader, kHeader);
}

inline std::filesystem::path zoo() {
  const char* folder = std::getenv("TENON_ZOO");
  return folder ? folder : "";
}

}  // namespace tenon::npu::compiler
