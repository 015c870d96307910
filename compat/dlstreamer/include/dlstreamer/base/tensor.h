// SPDX-License-Identifier: Apache-2.0
// The base of all classes of tensors: info, handles by key, the parent, and Tenon's tensor over the same memory.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/frameworks/cpu/cpu.hpp>

#include "dlstreamer/base/native.h"
#include "dlstreamer/tensor.h"

namespace dlstreamer {
namespace tensor::key {

static constexpr auto offset = "offset";            // (size_t)
static constexpr auto plane_index = "plane_index";  // int
static constexpr auto offset_x = "offset_x";        // int
static constexpr auto offset_y = "offset_y";        // int
static constexpr auto data = "data";                // void*

}  // namespace tensor::key

class BaseTensor : public Tensor {
 public:
  BaseTensor(MemoryType memory_type, const TensorInfo& info, std::string_view primary_key = {},
             ContextPtr context = nullptr)
      : _memory_type(memory_type), _info(info), _primary_key(primary_key), _context(std::move(context)) {}

  const TensorInfo& info() const override { return _info; }
  MemoryType memory_type() const override { return _memory_type; }
  ContextPtr context() const override { return _context; }
  TensorPtr parent() const override { return _parent; }
  void* data() const override {
    throw std::runtime_error(std::string("BaseTensor::data: memory of ") + memory_type_to_string(_memory_type) +
                             " has no address of the host; map the tensor to the CPU first");
  }
  handle_t handle(std::string_view key = {}) const override {
    const auto found = _handles.find(key.empty() ? std::string_view(_primary_key) : key);
    if (found == _handles.end())
      throw std::runtime_error("BaseTensor::handle: a tensor of " + std::string(memory_type_to_string(_memory_type)) +
                               " memory has no handle '" +
                               std::string(key.empty() ? std::string_view(_primary_key) : key) + "'");
    return found->second;
  }
  handle_t handle(std::string_view key, handle_t default_value) const noexcept override {
    const auto found = _handles.find(key.empty() ? std::string_view(_primary_key) : key);
    return found == _handles.end() ? default_value : found->second;
  }

  void set_parent(TensorPtr parent) { _parent = std::move(parent); }
  void set_handle(const std::string& key, handle_t handle) { _handles[key] = handle; }

  /// Tenon's tensor over the same memory, made when it is first asked for: routes start from it. @errors those of making it.
  const tenon::Tensor& native() const {
    std::call_once(_native_once, [this] {
      if (!_native) _native = make_native();
    });
    before_map(_native);
    return _native;
  }

 protected:
  /// Called before each way out: what the library that has the memory has to be told first.
  virtual void before_map(const tenon::Tensor& /*native*/) const {}
  /// For classes that are made from Tenon's tensor.
  void set_native(tenon::Tensor native) { _native = std::move(native); }
  virtual tenon::Tensor make_native() const {
    if (_memory_type == MemoryType::CPU) return tenon::cpu::wrap(data(), detail::to_tenon(_info));
    throw std::runtime_error(std::string("BaseTensor: this class of ") + memory_type_to_string(_memory_type) +
                             " tensors does not say what its memory is; override make_native()");
  }

  MemoryType _memory_type;
  TensorInfo _info;
  std::string _primary_key;
  ContextPtr _context;
  std::map<std::string, handle_t, std::less<void>> _handles;
  TensorPtr _parent;

 private:
  mutable std::once_flag _native_once;
  mutable tenon::Tensor _native;
};

namespace detail {

/// Tenon's tensor of any tensor. Classes that are not derived from BaseTensor need memory of the host.
inline tenon::Tensor native_of(const Tensor& tensor) {
  if (const auto* base = dynamic_cast<const BaseTensor*>(&tensor)) return base->native();
  return tenon::cpu::wrap(tensor.data(), to_tenon(tensor.info()));
}

}  // namespace detail
}  // namespace dlstreamer
