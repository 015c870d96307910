// SPDX-License-Identifier: Apache-2.0
// The readers of models by the names of their formats.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "openvino/frontend/frontend.hpp"

namespace ov {
namespace frontend {

using FrontEndFactory = std::function<FrontEnd::Ptr()>;

/// Tenon reads "ir" and "onnx"; a program may register front ends of its own.
class FRONTEND_API FrontEndManager final {
 public:
  FrontEndManager();
  FrontEndManager(FrontEndManager&& other) noexcept;
  FrontEndManager& operator=(FrontEndManager&& other) noexcept;
  ~FrontEndManager();
  /// @errors InitializationFailure: there is none of that name.
  FrontEnd::Ptr load_by_framework(const std::string& framework);
  /// Null: none takes it.
  template <typename... T>
  FrontEnd::Ptr load_by_model(const T&... variants) {
    return load_by_model(AnyVector{Any(variants)...});
  }
  FrontEnd::Ptr load_by_model(const AnyVector& variants);
  std::vector<std::string> get_available_front_ends();
  void register_front_end(const std::string& name, FrontEndFactory creator);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frontend
}  // namespace ov
