// SPDX-License-Identifier: Apache-2.0
// The zoo's models on OpenVINO's CPU through Tenon and on Tenon's own CPU device; and a module without its OpenVINO.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/ledger.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/oracle/agreement.hpp>

namespace tenon {
namespace zoo_test {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::set<fs::path> zoo() {
  std::set<fs::path> found;
  const char* folder = std::getenv("TENON_ZOO");
  std::error_code ignored;
  for (fs::directory_iterator entry(folder ? folder : "", ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (entry->path().extension() == ".onnx") found.insert(entry->path());
    // A full IR stores f16 weights, which devices convert at different points.
    if (entry->path().extension() == ".xml") found.insert(entry->path());
  }
  return found;
}

/// Values valid for every port: small integers for tokens and masks, others around zero.
void fill(const Tensor& tensor, unsigned seed) {
  const auto random = [&] { return (seed = seed * 1664525u + 1013904223u) >> 8; };
  for (std::size_t i = 0; i < tensor.element_count(); ++i) {
    if (tensor.element_type() == element::f32)
      tensor.data<float>()[i] = static_cast<float>(random()) / 8388608.f - 1.f;
    else if (tensor.element_type() == element::i64)
      tensor.data<std::int64_t>()[i] = random() % 2;
    else if (tensor.element_type() == element::i32)
      tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 2);
    else
      FAIL() << "no values for " << to_string(tensor);
  }
}

TEST(OpenVinoZoo, AgreesWithTenonsCpuAndCopiesNothing) {
  Core core;
  if (const auto devices = core.get_available_devices();
      std::find(devices.begin(), devices.end(), "CPU") == devices.end())
    GTEST_SKIP() << "Tenon's CPU device is not built";
  if (zoo().empty()) GTEST_SKIP() << "no models in $TENON_ZOO";
  for (const fs::path& path : zoo()) {
    SCOPED_TRACE(path.filename());
    const AnyMap properties{hint::inference_precision(element::f32), zero_copy(ZeroCopy::kRequire)};
    auto ours = core.compile_model(path, "CPU", properties).create_infer_request();
    auto theirs = core.compile_model(path, "OPENVINO.CPU", properties).create_infer_request();
    const auto inputs = ours.get_compiled_model().inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor value(inputs[i].get_element_type(), inputs[i].get_shape());
      fill(value, static_cast<unsigned>(i + 1));
      ours.set_input_tensor(i, value);
      theirs.set_input_tensor(i, value);
    }
    ours.infer();
    theirs.infer();
    // Only OpenVINO knows the sizes of these outputs, so they are in its own memory.
    std::size_t found_by_values = 0;
    for (std::size_t i = 0; i < ours.get_compiled_model().outputs().size(); ++i) {
      if (ours.get_compiled_model().output(i).get_partial_shape().is_dynamic())
        found_by_values += ours.get_output_tensor(i).size_bytes();
      const Tensor expected = ours.get_output_tensor(i), actual = theirs.get_output_tensor(i);
      ASSERT_EQ(actual.shape(), expected.shape());
      ASSERT_EQ(actual.element_type(), expected.element_type());
      if (actual.element_type() != element::f32) continue;
      const Agreement a = agreement_of(path.stem(), actual, expected);
      std::printf("%s, output %zu: 1 - cosine %.1e, max relative error %.1e\n", path.filename().c_str(), i,
                  1 - a.cosine, a.max_relative_error);
      // A sum half-way between two of 256 steps may round either way.
      const bool has_8_bits = path.stem().string().find("_int8") != std::string::npos;
      EXPECT_GE(a.cosine, has_8_bits ? 0.98 : 0.99999);
      EXPECT_LE(a.max_relative_error, has_8_bits ? 0.25 : 1e-3);
    }
    EXPECT_EQ(theirs.ledger().total().copied, found_by_values);
  }
}

/// All real outputs of one inference, concatenated; of a detector its scores alone, best first: rounding changes which of
/// two almost equal boxes comes first.
std::vector<float> outputs_of(Core& core, const fs::path& path, const std::string& device, element::Type precision) {
  auto request = core.compile_model(path, device, hint::inference_precision(precision)).create_infer_request();
  const auto inputs = request.get_compiled_model().inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor value(inputs[i].get_element_type(), inputs[i].get_shape());
    fill(value, static_cast<unsigned>(i + 1));
    request.set_input_tensor(i, value);
  }
  request.infer();
  std::vector<float> values;
  for (std::size_t i = 0; i < request.get_compiled_model().outputs().size(); ++i) {
    const Tensor output = request.get_output_tensor(i);
    const bool is_found = request.get_compiled_model().output(i).get_partial_shape().is_dynamic();
    if (output.element_type() != element::f32 || (is_found && output.shape().size() != 1)) continue;
    values.insert(values.end(), output.data<float>(), output.data<float>() + output.element_count());
  }
  return values;
}

TEST(OpenVinoZoo, InBf16TenonIsAsNearToF32AsOpenVino) {
  Core core;
  const auto devices = core.get_available_devices();
  if (std::find(devices.begin(), devices.end(), "CPU") == devices.end())
    GTEST_SKIP() << "Tenon's CPU device is not built";
  const auto can = core.get_property("CPU", device::capabilities);
  if (std::find(can.begin(), can.end(), device::capability::BF16) == can.end())
    GTEST_SKIP() << "this CPU does not multiply bf16";
  for (const fs::path& path : zoo()) {
    const std::string name = path.stem();
    if (path.extension() != ".onnx" || name.find("_tiny") == std::string::npos) continue;
    SCOPED_TRACE(name);
    const auto exact = outputs_of(core, path, "OPENVINO.CPU", element::f32);
    const auto theirs = outputs_of(core, path, "OPENVINO.CPU", element::bf16);
    const auto ours = outputs_of(core, path, "CPU", element::bf16);
    ASSERT_EQ(ours.size(), exact.size());
    const Agreement mine = agreement(ours, exact), peer = agreement(theirs, exact), both = agreement(ours, theirs);
    std::printf(
        "%s in bf16: 1 - cosine to f32 %.1e (OpenVINO's %.1e), max relative error %.1e (%.1e); to OpenVINO's %.1e, "
        "%.1e\n",
        name.c_str(), 1 - mine.cosine, 1 - peer.cosine, mine.max_relative_error, peer.max_relative_error,
        1 - both.cosine, both.max_relative_error);
    const bool has_8_bits = name.find("_int8") != std::string::npos;
    EXPECT_GE(mine.cosine, has_8_bits ? 0.99 : 0.999);
    EXPECT_GE(both.cosine, has_8_bits ? 0.98 : 0.999);
    EXPECT_LE(mine.max_relative_error, has_8_bits ? 0.25 : 0.1);
  }
}

TEST(OpenVinoModule, WithoutItsLibraryIsUnavailableByNameAndDisturbsNoOther) {
  const char* const folder = std::getenv("TENON_DEVICE_PATH");
  ASSERT_NE(folder, nullptr);
  std::ifstream in(fs::path(folder) / "libtenon_device_openvino.so", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(bytes.empty());
  // The same module, changed to need a library that no machine has.
  const std::string wanted = "libopenvino.so.", missing = "libopenvinX.so.";
  const auto at = bytes.find(wanted);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, wanted.size(), missing);
  // Beside links to the libraries that it finds next to itself.
  const fs::path apart = fs::temp_directory_path() / ("tenon_gone_" + std::to_string(::getpid()));
  fs::create_directory(apart);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().find(".so.") != std::string::npos || entry.path().filename() == "tenon")
      fs::create_symlink(fs::absolute(entry.path()), apart / entry.path().filename());
  const fs::path copy = apart / "libtenon_device_gone.so";
  std::ofstream(copy, std::ios::binary) << bytes;
  Core core;
  try {
    core.register_plugin(copy, "GONE");
    ADD_FAILURE() << "the module was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.what(), HasSubstr(missing));
  }
  fs::remove_all(apart);
  EXPECT_THAT(core.get_available_devices(), Contains("OPENVINO.CPU"));
}

}  // namespace zoo_test
}  // namespace tenon
