// SPDX-License-Identifier: Apache-2.0
// ONNX's backend tests: read, run, compare.
#include <tenon/graph/readers/onnx/backend_suite.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include <tenon/graph/readers/internal/weights.hpp>
#include <tenon/graph/readers/onnx/internal/onnx.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>

namespace tenon {
inline namespace v1 {

namespace {

namespace fs = std::filesystem;

std::string quoted(const fs::path& path) { return "\"" + path.string() + "\""; }

using onnx_reader::schema::OptionalProto, onnx_reader::schema::SequenceProto;
using onnx_reader::schema::TensorProto, onnx_reader::schema::TypeProto;

template <typename Proto>
Proto parse_value(const Tensor& bytes, const std::string& what, const char* kind) {
  Proto proto;
  if (!proto.ParseFromArray(bytes.size_bytes() ? bytes.data() : nullptr, static_cast<int>(bytes.size_bytes())))
    throw Error(Code::kInvalidArgument, what + " is no " + kind + ", which the model states, or a truncated one");
  return proto;
}

/// A recorded value: the one tensor, or the elements of a sequence.
struct Recorded {
  std::vector<Tensor> tensors;
  bool is_sequence = false, is_empty_optional = false;
};

Recorded read_sequence(SequenceProto& proto, const std::function<Tensor(TensorProto&)>& read, const std::string& what) {
  if (proto.elem_type() > 1) throw Error(Code::kUnimplemented, what + " is a sequence of others than tensors");
  Recorded recorded{{}, true};
  for (auto& element : *proto.mutable_tensor_values()) recorded.tensors.push_back(read(element));
  return recorded;
}

/// Reads a file of the kind that `type`, of the model's input or output, states.
Recorded read_value(const fs::path& path, const TypeProto& type) {
  const Tensor bytes = map_file(path);
  onnx_reader::ExternalData external(path.parent_path());
  const std::string what = quoted(path.filename());
  const auto read = [&](TensorProto& proto) { return onnx_reader::tensor_from_proto(proto, external, what); };
  if (type.has_sequence_type()) {
    auto proto = parse_value<SequenceProto>(bytes, what, "sequence");
    return read_sequence(proto, read, what);
  }
  if (type.has_optional_type()) {
    auto proto = parse_value<OptionalProto>(bytes, what, "optional");
    if (proto.has_sequence_value()) return read_sequence(*proto.mutable_sequence_value(), read, what);
    if (!proto.has_tensor_value()) return {{}, false, true};
    return {{read(*proto.mutable_tensor_value())}};
  }
  auto proto = parse_value<TensorProto>(bytes, what, "tensor");
  return {{read(proto)}};
}

/// The model's inputs or outputs as far as files of the test set record them: names and types.
using Values = std::vector<std::pair<std::string, TypeProto>>;

Values inputs_of(const onnx_reader::schema::GraphProto& graph) {
  std::set<std::string> constants;
  for (const auto& initializer : graph.initializer()) constants.insert(initializer.name());
  for (const auto& initializer : graph.sparse_initializer()) constants.insert(initializer.values().name());
  Values values;
  for (const auto& input : graph.input())
    if (!constants.count(input.name())) values.emplace_back(input.name(), input.type());
  return values;
}

Values outputs_of(const onnx_reader::schema::GraphProto& graph) {
  Values values;
  for (const auto& output : graph.output()) values.emplace_back(output.name(), output.type());
  return values;
}

/// All tensors in a row; what the reader must know of sequences and optionals goes to `options`.
std::vector<Tensor> read_all(const fs::path& folder, const std::string& prefix, const Values& values,
                             OnnxOptions* options) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; fs::exists(folder / (prefix + std::to_string(i) + ".pb")); ++i) {
    // Trailing optional inputs may be recorded even if the model does not use them.
    const auto& [name, type] = i < values.size() ? values[i] : Values::value_type();
    const Recorded recorded = read_value(folder / (prefix + std::to_string(i) + ".pb"), type);
    if (options && recorded.is_sequence) options->sequence_lengths[name] = recorded.tensors.size();
    if (options && recorded.is_empty_optional) options->empty_optionals.insert(name);
    tensors.insert(tensors.end(), recorded.tensors.begin(), recorded.tensors.end());
  }
  return tensors;
}

// Describes the first difference; empty if equal.
std::string difference(const Tensor& actual, const Tensor& expected, const BackendTestTolerance& tolerance) {
  if (actual.element_type() != expected.element_type()) {
    return "type is " + std::string(name(actual.element_type())) + ", expected " +
           std::string(name(expected.element_type()));
  }
  if (!(actual.shape() == expected.shape())) {
    return "shape is " + to_string(actual.shape()) + ", expected " + to_string(expected.shape());
  }
  if (expected.element_count() == 0) return {};
  if (expected.element_type() == ElementType::kString) {
    const auto *a = actual.data<std::string>(), *e = expected.data<std::string>();
    for (std::size_t i = 0; i < expected.element_count(); ++i)
      if (a[i] != e[i]) return "element " + std::to_string(i) + " is \"" + a[i] + "\", expected \"" + e[i] + "\"";
    return {};
  }
  if (!info(expected.element_type()).is_real) {
    if (std::memcmp(actual.data(), expected.data(), expected.size_bytes()) == 0) return {};
    const auto a = op::v0::Constant(actual).to_integers(), e = op::v0::Constant(expected).to_integers();
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (a[i] != e[i])
        return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", expected " + std::to_string(e[i]);
    }
    return {};
  }
  const auto a = op::v0::Constant(actual).to_doubles(), e = op::v0::Constant(expected).to_doubles();
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool is_other_zero =
        tolerance.tells_zeros_apart && e[i] == 0 && a[i] == 0 && std::signbit(a[i]) != std::signbit(e[i]);
    if ((a[i] == e[i] && !is_other_zero) || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    const bool is_close = !is_other_zero && std::isfinite(e[i]) &&
                          std::abs(a[i] - e[i]) <= tolerance.atol + tolerance.rtol * std::abs(e[i]);
    if (!is_close)
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", expected " + std::to_string(e[i]);
  }
  return {};
}

// NumPy has no bfloat16, so the suite records its bits as u16.
Tensor as_bf16(const Tensor& bits) {
  return Tensor(TensorInfo{ElementType::kBf16, bits.shape(), {}}, bits.memory(), bits.offset(), bits.lease());
}

/// One test's model; sequences of other lengths make another model of the file.
struct Test {
  fs::path file;
  Values inputs, outputs;
  OnnxOptions options;
  std::shared_ptr<Model> model;
};

Test test_of(const fs::path& file) {
  const auto proto = onnx_reader::parse_model(map_file(file), quoted(file));
  return {file, inputs_of(proto.graph()), outputs_of(proto.graph()), {}, nullptr};
}

std::string run_data_set(Test& test, const fs::path& folder, const BackendTestRun& run,
                         const BackendTestTolerance& tolerance) {
  OnnxOptions options;
  std::vector<Tensor> inputs = read_all(folder, "input_", test.inputs, &options);
  const std::vector<Tensor> expected = read_all(folder, "output_", test.outputs, nullptr);
  if (!test.model || !(options == test.options)) {
    test.model = read_onnx(map_file(test.file), test.file.parent_path(), quoted(test.file), true, options);
    test.options = options;
  }
  const std::shared_ptr<Model>& model = test.model;
  const std::size_t wanted = model->get_parameters().size();
  if (inputs.size() < wanted)
    return "has " + std::to_string(inputs.size()) + " recorded inputs for " + std::to_string(wanted);
  inputs.resize(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    const bool is_bf16 = model->get_parameters()[i]->get_element_type() == ElementType::kBf16;
    if (is_bf16 && inputs[i].element_type() == ElementType::kU16) inputs[i] = as_bf16(inputs[i]);
  }
  const std::vector<Tensor> actual = run(model, inputs);
  if (actual.size() != expected.size()) {
    return "gave " + std::to_string(actual.size()) + " outputs, expected " + std::to_string(expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool is_bf16 =
        actual[i].element_type() == ElementType::kBf16 && expected[i].element_type() == ElementType::kU16;
    const std::string text = difference(actual[i], is_bf16 ? as_bf16(expected[i]) : expected[i], tolerance);
    if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
  }
  return {};
}

}  // namespace

BackendTestResult run_backend_test(const fs::path& folder, const BackendTestRun& run,
                                   const BackendTestTolerance& tolerance) {
  BackendTestResult result;
  result.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  std::error_code ignored;
  if (!fs::exists(folder / "model.onnx", ignored)) {
    result.outcome = BackendTestOutcome::kSkipped;
    result.reason = "has no model.onnx";
    return result;
  }
  std::size_t data_sets = 0;
  try {
    while (fs::exists(folder / ("test_data_set_" + std::to_string(data_sets)))) ++data_sets;
    if (data_sets == 0) {
      result.outcome = BackendTestOutcome::kSkipped;
      result.reason = "has no test_data_set_0";
      return result;
    }
    Test test = test_of(folder / "model.onnx");
    for (std::size_t i = 0; i < data_sets && result.reason.empty(); ++i) {
      const std::string name = "test_data_set_" + std::to_string(i);
      result.reason = run_data_set(test, folder / name, run, tolerance);
      if (result.reason.empty()) continue;
      result.reason = name + ": " + result.reason;
      result.is_mismatch = true;
    }
  } catch (const std::exception& error) {
    result.reason = error.what();
  }
  result.outcome = result.reason.empty() ? BackendTestOutcome::kPassed : BackendTestOutcome::kFailed;
  return result;
}

}  // namespace v1
}  // namespace tenon
