// SPDX-License-Identifier: Apache-2.0
// The base of all mappers, and the one that goes by Tenon's router.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "dlstreamer/base/frame.h"
#include "dlstreamer/memory_mapper.h"

namespace dlstreamer {

/// Passes frames on tensor by tensor; a class derived from it says how a tensor is mapped.
class BaseMemoryMapper : public MemoryMapper {
 public:
  using MemoryMapper::map;

  BaseMemoryMapper(const ContextPtr& input_context, const ContextPtr& output_context)
      : _input_context(input_context), _output_context(output_context) {}

  TensorPtr map(TensorPtr /*src*/, AccessMode /*mode*/) override {
    throw std::runtime_error("BaseMemoryMapper::map: this mapper takes no single tensors; map the whole frame");
  }
  FramePtr map(FramePtr src, AccessMode mode) override {
    if (!src) throw std::runtime_error("MemoryMapper::map: the frame is null");
    TensorVector tensors;
    for (const TensorPtr& tensor : src) tensors.push_back(map(tensor, mode));
    return mapped(std::make_shared<BaseFrame>(src->media_type(), src->format(), std::move(tensors)), src, mode);
  }
  ContextPtr input_context() const override { return _input_context; }
  ContextPtr output_context() const override { return _output_context; }

 protected:
  /// Makes `dst` a frame that was mapped from `src`: its parent, its metadata, its regions.
  FramePtr mapped(const BaseFramePtr& dst, const FramePtr& src, AccessMode mode) {
    dst->set_parent(src);
    dst->share_metadata_of_parent();
    for (const FramePtr& region : src->regions()) dst->add_region(map(region, mode));
    return dst;
  }

  ContextPtr _input_context;
  ContextPtr _output_context;
};

namespace detail {

/// Makes a mapper anew between two contexts. What a context keeps of its mappers: a mapper itself would keep the context.
using MapperMaker = std::function<MemoryMapperPtr(const ContextPtr& input, const ContextPtr& output)>;

/// A mapper that can be made anew between other contexts.
class Remakes {
 public:
  virtual ~Remakes() = default;
  virtual MapperMaker maker() const = 0;
};

inline MapperMaker maker_of(const MemoryMapperPtr& mapper) {
  if (const auto* remakes = dynamic_cast<const Remakes*>(mapper.get())) return remakes->maker();
  return [mapper](const ContextPtr&, const ContextPtr&) { return mapper; };
}

}  // namespace detail
}  // namespace dlstreamer
