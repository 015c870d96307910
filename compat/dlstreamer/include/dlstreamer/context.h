// SPDX-License-Identifier: Apache-2.0
// A device or library that memory belongs to.
#pragma once

#include <memory>
#include <string_view>

#include "dlstreamer/memory_type.h"

namespace dlstreamer {

class Context;
class MemoryMapper;
using ContextPtr = std::shared_ptr<Context>;
using MemoryMapperPtr = std::shared_ptr<MemoryMapper>;

class Context {
 public:
  using handle_t = void*;

  virtual ~Context() = default;
  virtual MemoryType memory_type() const = 0;
  /// A native handle; null where there is none of this key. An empty key: the main one.
  virtual handle_t handle(std::string_view key = {}) const noexcept = 0;
  /// The mapper from one context to another; null where this context knows none.
  virtual MemoryMapperPtr get_mapper(const ContextPtr& input_context, const ContextPtr& output_context) = 0;
  /// A context of another memory type over the same device; null where there is none.
  virtual ContextPtr derive_context(MemoryType memory_type) noexcept = 0;
  virtual ContextPtr parent() noexcept = 0;
};

}  // namespace dlstreamer
