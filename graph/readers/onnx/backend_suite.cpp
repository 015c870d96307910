// SPDX-License-Identifier: Apache-2.0
// ONNX's backend tests: read, run, compare.
#include <tenon/graph/readers/onnx/backend_suite.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <system_error>

#include <tenon/graph/readers/internal/weights.hpp>
#include <tenon/graph/readers/onnx/internal/onnx.hpp>
#include <tenon/graph/readers/read_model.hpp>

namespace tenon {
inline namespace v1 {

namespace {

namespace fs = std::filesystem;

Tensor read_tensor(const fs::path& path) {
  const Tensor bytes = map_file(path);
  onnx_reader::schema::TensorProto proto;
  onnx_reader::ExternalData external(path.parent_path());
  const std::string what = "\"" + path.filename().string() + "\"";
  if (!proto.ParseFromArray(bytes.size_bytes() ? bytes.data() : nullptr, static_cast<int>(bytes.size_bytes()))) {
    throw Error(Code::kUnimplemented, what + " is a sequence or an optional, and the runner compares tensors");
  }
  // A serialised sequence parses as a tensor of unknown fields.
  if (proto.data_type() == 0)
    throw Error(Code::kUnimplemented, what + " is a sequence or an optional, and the runner compares tensors");
  return onnx_reader::tensor_from_proto(proto, external, what);
}

std::vector<Tensor> read_all(const fs::path& folder, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; fs::exists(folder / (prefix + std::to_string(i) + ".pb")); ++i) {
    tensors.push_back(read_tensor(folder / (prefix + std::to_string(i) + ".pb")));
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

std::string run_data_set(const std::shared_ptr<Model>& model, const fs::path& folder, const BackendTestRun& run,
                         const BackendTestTolerance& tolerance) {
  std::vector<Tensor> inputs = read_all(folder, "input_");
  const std::vector<Tensor> expected = read_all(folder, "output_");
  const std::size_t wanted = model->get_parameters().size();
  // Trailing optional inputs may be recorded even if the model does not use them.
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
    const auto model = read_model(folder / "model.onnx");
    for (std::size_t i = 0; i < data_sets && result.reason.empty(); ++i) {
      const std::string name = "test_data_set_" + std::to_string(i);
      result.reason = run_data_set(model, folder / name, run, tolerance);
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
