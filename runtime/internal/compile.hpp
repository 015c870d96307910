// SPDX-License-Identifier: Apache-2.0
// Compiling and importing once the device is known: what Core does with its options.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenon/core/frame.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/runtime/cache/cache.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

struct FrameOption {
  FrameInfo info;
  std::string input;
};

/// What of a compile call is the runtime's own.
struct CompileOptions {
  AnyMap device;
  ZeroCopy policy = ZeroCopy::kPrefer;
  std::optional<FrameOption> frames;
  cache::Settings cache;
};

/// From the cache, from the blob of COMPILED_BLOB, or by compiling. @errors as Core::compile_model
std::shared_ptr<ModelState> compile_state(const std::shared_ptr<SharedState>& shared, std::shared_ptr<Device> device,
                                          ModelSource source, CompileOptions options);
/// Decrypts where a callback was given. @errors as Device::import_blob
std::shared_ptr<ModelState> import_state(const std::shared_ptr<SharedState>& shared, std::shared_ptr<Device> device,
                                         Tensor blob, const CompileOptions& options);
/// Blobs are used where they lie, at an alignment that devices may count on. @errors kInvalidArgument
Tensor aligned_blob(const Tensor& blob);

}  // namespace v1
}  // namespace tenon
