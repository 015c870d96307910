// SPDX-License-Identifier: Apache-2.0
// Runs ONNX's backend tests: folders of model.onnx with recorded inputs and outputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {

enum class BackendTestOutcome : std::uint8_t { kPassed, kFailed, kSkipped };

struct BackendTestResult {
  std::string name;  ///< The folder's name.
  BackendTestOutcome outcome = BackendTestOutcome::kFailed;
  std::string reason;  ///< Empty when passed.
  /// Failed because outputs differ from the recorded ones, not because the model was refused.
  bool is_mismatch = false;
};

/// Equal when |actual - expected| <= atol + rtol * |expected|, or both are NaN, or equal infinities. Integers must be
/// equal, and so must element types and shapes.
struct BackendTestTolerance {
  double rtol = 1e-3;
  double atol = 1e-5;
  bool tells_zeros_apart = false;  ///< -0 is not 0.
};

/// Runs `model` on inputs in parameter order; returns its outputs in order.
using BackendTestRun =
    std::function<std::vector<Tensor>(const std::shared_ptr<Model>& model, const std::vector<Tensor>& inputs)>;

/// Runs every test_data_set_<N> of one folder; the elements of sequences are inputs and outputs of their own. A test that
/// cannot be read (operations, maps) fails, with the reason. A folder without model.onnx or data sets is skipped. Never throws for a folder's contents.
/// @errors kUnimplemented: the build has no ONNX reader.
TENON_API BackendTestResult run_backend_test(const std::filesystem::path& folder, const BackendTestRun& run,
                                             const BackendTestTolerance& tolerance = {});

}  // namespace v1
}  // namespace tenon
