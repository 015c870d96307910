// SPDX-License-Identifier: Apache-2.0
// Compiling and importing once the device is known: what Core does with its options.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenon/core/any.hpp>
#include <tenon/core/frame.hpp>  // IWYU pragma: export
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/cache/cache.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

struct FrameOption {
  FrameInfo info;
  std::string input;
};

/// The options of a compile call, split into the device's and the runtime's own.
struct CompileOptions {
  AnyMap device;
  ZeroCopy policy = ZeroCopy::kPrefer;
  std::optional<FrameOption> frames;
  cache::Settings cache;
};

/// Loads the model from the cache or from COMPILED_BLOB, or compiles it. @errors as Core::compile_model
std::shared_ptr<ModelState> compile_state(const std::shared_ptr<SharedState>& shared, std::shared_ptr<Device> device,
                                          ModelSource source, CompileOptions options);
/// Imports a blob, decrypted if there is a callback for it. @param context  of the device; null: it chooses.
/// @errors as Device::import_blob
std::shared_ptr<ModelState> import_state(const std::shared_ptr<SharedState>& shared, std::shared_ptr<Device> device,
                                         Tensor blob, const CompileOptions& options,
                                         const std::shared_ptr<RemoteContextImpl>& context = nullptr);
/// The blob as bytes at the alignment that devices rely on; copied only if misaligned. @errors kInvalidArgument
Tensor aligned_blob(const Tensor& blob);

}  // namespace v1
}  // namespace tenon
