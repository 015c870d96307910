// SPDX-License-Identifier: Apache-2.0
// The way from one context to another.
#pragma once

#include <memory>

#include "dlstreamer/context.h"

namespace dlstreamer {

enum class AccessMode { Read = 1, Write = 2, ReadWrite = 3 };

class TensorPtr;
class FramePtr;

class MemoryMapper {
 public:
  virtual ~MemoryMapper() = default;
  virtual TensorPtr map(TensorPtr src, AccessMode mode = AccessMode::ReadWrite) = 0;
  virtual FramePtr map(FramePtr src, AccessMode mode = AccessMode::ReadWrite) = 0;
  virtual ContextPtr input_context() const = 0;
  virtual ContextPtr output_context() const = 0;
};

namespace detail {

/// The mapper that the output's context, or else the input's, has for both. @errors std::runtime_error: neither has one.
inline MemoryMapperPtr mapper_between(const ContextPtr& input, const ContextPtr& output) {
  MemoryMapperPtr mapper;
  if (output) mapper = output->get_mapper(input, output);
  if (!mapper && input) mapper = input->get_mapper(input, output);
  if (mapper) return mapper;
  const auto name = [](const ContextPtr& context) {
    return std::string(context ? memory_type_to_string(context->memory_type()) : "no context");
  };
  throw std::runtime_error("map: no mapper from " + name(input) + " to " + name(output) +
                           "; attach one with create_mapper()");
}

}  // namespace detail
}  // namespace dlstreamer
