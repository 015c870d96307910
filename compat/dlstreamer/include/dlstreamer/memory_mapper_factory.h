// SPDX-License-Identifier: Apache-2.0
// Chains of mappers, mappers that remember, and create_mapper().
#pragma once

#include <initializer_list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dlstreamer/base/context.h"
#include "dlstreamer/memory_mapper.h"
#include "dlstreamer/utils.h"

namespace dlstreamer {

/// Maps by one mapper after the other. The result of each is the parent of the next one's, so all of them live as long.
class MemoryMapperChain final : public MemoryMapper, public detail::Remakes {
 public:
  MemoryMapperChain(std::initializer_list<MemoryMapperPtr> chain) : MemoryMapperChain(std::vector(chain)) {}
  /// @errors std::runtime_error: no mapper, or one that is null.
  MemoryMapperChain(const std::vector<MemoryMapperPtr>& chain) : _chain(chain) {
    DLS_CHECK(!_chain.empty());
    for (const MemoryMapperPtr& mapper : _chain) DLS_CHECK(mapper);
  }
  TensorPtr map(TensorPtr src, AccessMode mode) override {
    for (const MemoryMapperPtr& mapper : _chain) src = mapper->map(src, mode);
    return src;
  }
  FramePtr map(FramePtr src, AccessMode mode) override {
    for (const MemoryMapperPtr& mapper : _chain) src = mapper->map(src, mode);
    return src;
  }
  ContextPtr input_context() const override { return _chain.front()->input_context(); }
  ContextPtr output_context() const override { return _chain.back()->output_context(); }
  detail::MapperMaker maker() const override {
    std::vector<detail::MapperMaker> makers;
    std::vector<ContextPtr> between;
    for (const MemoryMapperPtr& mapper : _chain) {
      makers.push_back(detail::maker_of(mapper));
      if (mapper != _chain.back()) between.push_back(mapper->output_context());
    }
    return [makers, between](const ContextPtr& input, const ContextPtr& output) -> MemoryMapperPtr {
      std::vector<MemoryMapperPtr> chain;
      for (size_t i = 0; i < makers.size(); ++i)
        chain.push_back(makers[i](i ? between[i - 1] : input, i < between.size() ? between[i] : output));
      return std::make_shared<MemoryMapperChain>(chain);
    };
  }

 private:
  std::vector<MemoryMapperPtr> _chain;
};

namespace detail {

/// What was mapped and is still in use, by its source. Keeps neither: a buffer that is cached here returns to its pool, and an
/// address that is used anew is no hit.
template <typename Ptr, typename Object>
class MappedBefore {
 public:
  Ptr find(const Ptr& src, AccessMode mode) {
    const std::lock_guard lock(_mutex);
    const auto found = _entries.find(src.get());
    if (found == _entries.end() || found->second.source.lock() != src || found->second.mode != mode) return nullptr;
    return found->second.result.lock();
  }
  void add(const Ptr& src, const Ptr& result, AccessMode mode) {
    const std::lock_guard lock(_mutex);
    if (_entries.size() >= _limit) {
      std::erase_if(_entries, [](const auto& entry) { return entry.second.result.expired(); });
      _limit = 2 * _entries.size() + 16;
    }
    _entries.insert_or_assign(src.get(), Entry{src, result, mode});
  }

 private:
  struct Entry {
    std::weak_ptr<Object> source, result;
    AccessMode mode;
  };
  std::mutex _mutex;
  std::unordered_map<const Object*, Entry> _entries;
  size_t _limit = 16;
};

}  // namespace detail

/// Gives the same object again for a tensor or frame whose mapped one is still in use. What was mapped and let go is mapped
/// anew, which costs a look-up: views stay with the memory.
class MemoryMapperCache final : public MemoryMapper, public detail::Remakes {
 public:
  /// @errors std::runtime_error: null.
  MemoryMapperCache(MemoryMapperPtr mapper) : MemoryMapperCache(std::move(mapper), std::make_shared<Before>()) {}
  TensorPtr map(TensorPtr src, AccessMode mode) override { return map(src, mode, _before->tensors); }
  FramePtr map(FramePtr src, AccessMode mode) override { return map(src, mode, _before->frames); }
  ContextPtr input_context() const override { return _mapper->input_context(); }
  ContextPtr output_context() const override { return _mapper->output_context(); }
  detail::MapperMaker maker() const override {
    return [make = detail::maker_of(_mapper), before = _before](const ContextPtr& input,
                                                                const ContextPtr& output) -> MemoryMapperPtr {
      return MemoryMapperPtr(new MemoryMapperCache(make(input, output), before));
    };
  }

 private:
  struct Before {
    detail::MappedBefore<TensorPtr, Tensor> tensors;
    detail::MappedBefore<FramePtr, Frame> frames;
  };
  MemoryMapperCache(MemoryMapperPtr mapper, std::shared_ptr<Before> before)
      : _mapper(std::move(mapper)), _before(std::move(before)) {
    DLS_CHECK(_mapper);
  }
  template <typename Ptr, typename Known>
  Ptr map(const Ptr& src, AccessMode mode, Known& known) {
    if (Ptr before = known.find(src, mode)) return before;
    Ptr dst = _mapper->map(src, mode);
    known.add(src, dst, mode);
    return dst;
  }

  MemoryMapperPtr _mapper;
  std::shared_ptr<Before> _before;
};

/// The way over all contexts of the chain, from the first to the last, which know it from now on: frame.map(last) takes it.
/// A first context that is null stands for tensors without one.
/// @errors std::runtime_error: fewer than two contexts, one that is null between others, two without a way.
inline MemoryMapperPtr create_mapper(std::vector<ContextPtr> context_chain, bool use_cache = false) {
  DLS_CHECK(context_chain.size() >= 2);
  std::vector<MemoryMapperPtr> mappers;
  for (size_t i = 0; i + 1 < context_chain.size(); ++i) {
    DLS_CHECK(i == 0 || context_chain[i]);
    mappers.push_back(detail::mapper_between(context_chain[i], context_chain[i + 1]));
  }
  MemoryMapperPtr mapper = mappers.size() == 1 ? mappers.front() : std::make_shared<MemoryMapperChain>(mappers);
  if (use_cache) mapper = std::make_shared<MemoryMapperCache>(mapper);
  for (const ContextPtr& end : {context_chain.front(), context_chain.back()})
    if (auto* base = dynamic_cast<BaseContext*>(end.get())) base->attach_mapper(mapper);
  return mapper;
}

}  // namespace dlstreamer
