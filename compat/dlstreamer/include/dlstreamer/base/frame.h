// SPDX-License-Identifier: Apache-2.0
// The base of all classes of frames.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "dlstreamer/base/metadata.h"
#include "dlstreamer/base/tensor.h"
#include "dlstreamer/frame.h"

namespace dlstreamer {

class BaseFrame : public Frame {
 public:
  /// @errors std::runtime_error: no tensors, of which the memory type would be that of the frame.
  BaseFrame(MediaType media_type, Format format, TensorVector tensors)
      : _media_type(media_type), _format(format), _tensors(std::move(tensors)) {
    if (_tensors.empty()) throw std::runtime_error("BaseFrame: no tensors; give the memory type instead");
    _memory_type = _tensors.front()->memory_type();
  }
  BaseFrame(MediaType media_type, Format format, MemoryType memory_type)
      : _media_type(media_type), _memory_type(memory_type), _format(format) {}

  MediaType media_type() const override { return _media_type; }
  Format format() const override { return _format; }
  MemoryType memory_type() const override { return _memory_type; }
  iterator begin() noexcept override { return _tensors.begin(); }
  iterator end() noexcept override { return _tensors.end(); }
  TensorPtr tensor(int index = -1) override {
    if (index < 0 && _tensors.size() != 1)
      throw std::runtime_error("BaseFrame::tensor: a frame of " + std::to_string(_tensors.size()) +
                               " tensors needs the index of one");
    if (index >= 0 && static_cast<size_t>(index) >= _tensors.size())
      throw std::runtime_error("BaseFrame::tensor: no tensor " + std::to_string(index) + " in a frame of " +
                               std::to_string(_tensors.size()));
    return _tensors[index < 0 ? 0 : static_cast<size_t>(index)];
  }
  size_t num_tensors() const override { return _tensors.size(); }
  /// A frame that was mapped has the metadata of the one that it was mapped from.
  Metadata& metadata() override { return _shares_metadata && _parent ? _parent->metadata() : _metadata; }
  FramePtr parent() const override { return _parent; }
  std::vector<FramePtr> regions() const override { return _regions; }

  void add_region(FramePtr frame) { _regions.push_back(std::move(frame)); }
  /// The frame is kept, and its tensors become the parents of this one's, where there are as many. Null: no parent.
  void set_parent(FramePtr parent) {
    _parent = std::move(parent);
    const bool matches = _parent && _parent->num_tensors() == _tensors.size();
    for (size_t i = 0; i < _tensors.size(); ++i)
      if (auto* tensor = dynamic_cast<BaseTensor*>(_tensors[i].get()))
        tensor->set_parent(matches ? _parent->tensor(static_cast<int>(i)) : TensorPtr());
  }

  /// Tenon's frame over the same memory, for ways that take all planes together; null where the tensors stand alone.
  virtual const tenon::Frame* native_frame() const { return nullptr; }
  /// For mappers: the parent's metadata is this frame's.
  void share_metadata_of_parent() { _shares_metadata = true; }

 protected:
  MediaType _media_type = MediaType::Any;
  MemoryType _memory_type = MemoryType::Any;
  Format _format = 0;
  TensorVector _tensors;
  BaseMetadata _metadata;
  FramePtr _parent;
  std::vector<FramePtr> _regions;

 private:
  bool _shares_metadata = false;
};

using BaseFramePtr = std::shared_ptr<BaseFrame>;

namespace detail {

/// Tenon's frame, made when it is first asked for. A frame and its tensors share it, so each may outlive the other.
class LazyFrame {
 public:
  /// @param make  Keeps what the frame is made of.
  explicit LazyFrame(std::function<tenon::Frame()> make) : _make(std::move(make)) {}
  const tenon::Frame& get() {
    std::call_once(_once, [this] { _frame = _make(); });
    return _frame;
  }

 private:
  std::function<tenon::Frame()> _make;
  std::once_flag _once;
  tenon::Frame _frame;  // Goes before what it was made of.
};
using LazyFramePtr = std::shared_ptr<LazyFrame>;

}  // namespace detail

}  // namespace dlstreamer
