// SPDX-License-Identifier: Apache-2.0
// The base of all contexts: the mappers attached to it, and Tenon's context with the routes to it.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>

#include "dlstreamer/base/memory_mapper.h"
#include "dlstreamer/context.h"

namespace dlstreamer {

class BaseContext : public Context {
 public:
  struct key {
    static constexpr auto va_display = "va_display";  // VADisplay
    static constexpr auto va_tile_id = "va_tile_id";  // int
    static constexpr auto cl_context = "cl_context";  // cl_context
    static constexpr auto cl_queue = "cl_queue";      // cl_command_queue
    static constexpr auto ze_context = "ze_context";  // ze_context_handle_t
    static constexpr auto ze_device = "ze_device";    // ze_device_handle_t
    static constexpr auto d3d_device = "d3d_device";  // ID3D11Device*
  };

  BaseContext(MemoryType memory_type) : _memory_type(memory_type) {}

  MemoryType memory_type() const override { return _memory_type; }
  handle_t handle(std::string_view /*key*/ = {}) const noexcept override { return nullptr; }
  virtual std::vector<std::string> keys() const { return {}; }
  /// The mapper that was attached, else one by Tenon's router where this context is one of the two.
  inline MemoryMapperPtr get_mapper(const ContextPtr& input_context, const ContextPtr& output_context) override;
  ContextPtr derive_context(MemoryType /*memory_type*/) noexcept override { return nullptr; }
  ContextPtr parent() noexcept override { return _parent; }
  void set_parent(ContextPtr parent) { _parent = std::move(parent); }
  void set_memory_type(MemoryType memory_type) { _memory_type = memory_type; }

  /// get_mapper() gives this one from now on between its two contexts. Neither keeps the other: a mapper of this library is
  /// made anew for each caller; one of the program's own class is kept as it is until remove_mapper().
  void attach_mapper(MemoryMapperPtr mapper) {
    if (!mapper) throw std::runtime_error("BaseContext::attach_mapper: the mapper is null");
    const std::lock_guard lock(_mutex);
    forget(mapper->input_context().get(), mapper->output_context().get());
    _mappers.push_back({mapper->input_context(), mapper->output_context(), !mapper->input_context(),
                        !mapper->output_context(), detail::maker_of(mapper)});
  }
  void remove_mapper(MemoryMapperPtr mapper) {
    const std::lock_guard lock(_mutex);
    if (mapper) forget(mapper->input_context().get(), mapper->output_context().get());
  }

  /// `another_context` where it is a T, else a T that it derives, else one that is made from it. Its parent is the other.
  template <typename T>
  static std::shared_ptr<T> create_from_another(const ContextPtr& another_context, MemoryType memory_type) {
    if (!another_context) throw std::runtime_error("create_from_another: the context is null");
    if (auto same = std::dynamic_pointer_cast<T>(another_context)) return same;
    if (auto derived = std::dynamic_pointer_cast<T>(another_context->derive_context(memory_type))) return derived;
    auto made = std::make_shared<T>(another_context);
    made->set_parent(another_context);
    return made;
  }

  /// Tenon's context; null where the class has none. @errors those of making it.
  virtual tenon::Context native() { return _memory_type == MemoryType::CPU ? tenon::host_context() : tenon::Context(); }
  /// Other contexts that ways to and from this one may go by.
  virtual std::vector<tenon::Context> neighbours() { return {}; }
  /// The host as the target of maps from this context to none. Ends with it.
  BaseContext& host() {
    const std::lock_guard lock(_mutex);
    if (!_host) _host = std::make_unique<BaseContext>(MemoryType::CPU);
    return *_host;
  }
  /// Whether frames come here only as a whole: pictures, not planes.
  virtual bool takes_whole_frames() const { return false; }
  /// Whether `native` needs no way: over() takes it as it is.
  virtual bool takes_in_place(const tenon::Tensor& /*native*/) const { return false; }
  /// A tensor of this context over `mapped`, which lies in native().
  virtual inline TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode mode);
  /// A frame of this context over `mapped`.
  virtual inline BaseFramePtr over(const tenon::Frame& mapped, const ContextPtr& self, AccessMode mode);
  /// By the router, to native(). AccessMode::ReadWrite, which is the default everywhere, becomes Read for memory that must not
  /// be written. @errors those of Router::map.
  /// @param input  The context of the source; may be null.
  template <typename Mapped>
  Mapped route(const Mapped& source, const tenon::Context& from, const ContextPtr& input, bool writable,
               AccessMode mode) {
    const tenon::Context to = native();
    if (!to)
      throw std::runtime_error(std::string("map: no way to a context of ") + memory_type_to_string(_memory_type) +
                               " memory; attach a mapper of your own");
    tenon::MapOptions options;
    options.access = mode == AccessMode::ReadWrite && !writable ? tenon::Access::kRead : detail::to_tenon(mode);
    options.host_ready = true;  // What is done with the result next is not known to Tenon.
    return router(from, to, input)->map(source, to, options);
  }

 protected:
  MemoryType _memory_type;
  ContextPtr _parent;

 private:
  struct Known {
    std::weak_ptr<Context> input;
    bool has_input;
    tenon::Context from;
    std::shared_ptr<const tenon::Router> router;
  };
  struct Attached {
    std::weak_ptr<Context> input, output;
    bool input_is_null, output_is_null;
    detail::MapperMaker make;
    bool is_between(const Context* in, const Context* out) const {
      const auto matches = [](const std::weak_ptr<Context>& kept, bool is_null, const Context* wanted) {
        return is_null ? !wanted : wanted && kept.lock().get() == wanted;
      };
      return matches(input, input_is_null, in) && matches(output, output_is_null, out);
    }
    bool is_gone() const { return (!input_is_null && input.expired()) || (!output_is_null && output.expired()); }
  };
  void forget(const Context* input, const Context* output) {
    std::erase_if(_mappers, [&](const Attached& kept) { return kept.is_gone() || kept.is_between(input, output); });
  }
  /// A router keeps the contexts that it knows, and so what they are made of: it goes when the source's context is gone.
  std::shared_ptr<const tenon::Router> router(const tenon::Context& from, const tenon::Context& to,
                                              const ContextPtr& input) {
    const std::lock_guard lock(_mutex);
    std::erase_if(_routers, [](const Known& known) { return known.has_input && known.input.expired(); });
    for (const Known& known : _routers)
      if (known.from == from) return known.router;
    auto made = std::make_shared<tenon::Router>();
    for (const tenon::Context& each : {from, to, tenon::host_context(), tenon::dmabuf::context()}) made->add(each);
    for (const tenon::Context& each : neighbours()) made->add(each);
    if (auto* base = dynamic_cast<BaseContext*>(input.get()))
      for (const tenon::Context& each : base->neighbours()) made->add(each);
    _routers.push_back({input, input != nullptr, from, made});
    return made;
  }

  std::mutex _mutex;
  std::vector<Attached> _mappers;
  std::vector<Known> _routers;
  std::unique_ptr<BaseContext> _host;
};

/// Host memory that Tenon has mapped or allocated, as a tensor.
class CPUTensor : public BaseTensor {
 public:
  CPUTensor(const TensorInfo& info, void* data) : BaseTensor(MemoryType::CPU, info, tensor::key::data), _data(data) {
    set_handle(tensor::key::data, reinterpret_cast<handle_t>(data));
  }
  CPUTensor(const tenon::Tensor& native, ContextPtr context)
      : CPUTensor(detail::from_tenon(native.info()), native.data()) {
    _context = std::move(context);
    set_native(native);
  }
  void* data() const override { return _data; }

 protected:
  void* _data;
};
using CPUTensorPtr = std::shared_ptr<CPUTensor>;

class CPUContext : public BaseContext {
 public:
  CPUContext() : BaseContext(MemoryType::CPU) {}
};
using CPUContextPtr = std::shared_ptr<CPUContext>;

namespace detail {

/// Mappers for pairs of memory types that need more than a route; their headers add them.
struct SpecialMapper {
  MemoryType from, to;
  MapperMaker make;
};
inline std::vector<SpecialMapper>& special_mappers() {
  static std::vector<SpecialMapper> all;
  return all;
}
template <typename Mapper>
bool add_special_mapper(MemoryType from, MemoryType to) {
  special_mappers().push_back({from, to, [](const ContextPtr& input, const ContextPtr& output) -> MemoryMapperPtr {
                                 return std::make_shared<Mapper>(input, output);
                               }});
  return true;
}

/// Tenon's frame over the tensors of an image that is none itself.
inline tenon::Frame assemble(Frame& frame) {
  FrameInfo info(frame.media_type(), frame.memory_type());
  info.format = frame.format();
  std::vector<tenon::Tensor> natives;
  for (const TensorPtr& tensor : frame) {
    info.tensors.push_back(tensor->info());
    natives.push_back(native_of(*tensor));
  }
  return frame_of(to_tenon(info), natives);
}

/// Maps by Tenon's router: in place where an edge shares the memory, else by a copy that the ledger has.
class RoutedMapper : public BaseMemoryMapper, public Remakes {
 public:
  using BaseMemoryMapper::BaseMemoryMapper;
  using BaseMemoryMapper::map;

  TensorPtr map(TensorPtr src, AccessMode mode) override {
    if (!src) throw std::runtime_error("MemoryMapper::map: the tensor is null");
    if (_output_context && src->context() == _output_context) return src;
    const tenon::Tensor native = native_of(*src);
    const tenon::Tensor routed =
        target().takes_in_place(native)
            ? native
            : target().route(native, native.context(), src->context(), native.is_writable(), mode);
    TensorPtr dst = target().over(routed, _output_context, mode);
    if (auto* base = dynamic_cast<BaseTensor*>(dst.get())) base->set_parent(src);
    return dst;
  }
  FramePtr map(FramePtr src, AccessMode mode) override {
    if (!src) throw std::runtime_error("MemoryMapper::map: the frame is null");
    const auto* base = dynamic_cast<const BaseFrame*>(src.get());
    const tenon::Frame* native = base ? base->native_frame() : nullptr;
    tenon::Frame assembled;
    if (!native && target().takes_whole_frames()) native = &(assembled = assemble(*src));
    if (!native) return BaseMemoryMapper::map(src, mode);
    const tenon::Tensor& first = native->plane(0);
    const tenon::Frame routed =
        target().takes_in_place(first)
            ? *native
            : target().route(*native, first.context(), src->tensor(0)->context(), first.is_writable(), mode);
    return mapped(target().over(routed, _output_context, mode), src, mode);
  }
  MapperMaker maker() const override {
    return
        [](const ContextPtr& input, const ContextPtr& output) { return std::make_shared<RoutedMapper>(input, output); };
  }

 protected:
  /// The output's context; that of the host where it is null.
  BaseContext& target() const {
    if (!_output_context) {
      if (auto* input = dynamic_cast<BaseContext*>(_input_context.get())) return input->host();
      static auto* const host = new CPUContext;  // For tensors without a context. Outlives static destructors.
      return *host;
    }
    return *ptr_cast<BaseContext>(_output_context);
  }
};

/// A route as a class of its own name, from the memory of Input to that of Output.
template <MemoryType kFrom, MemoryType kTo>
class NamedMapper : public RoutedMapper {
 public:
  /// @errors std::runtime_error: a context of another memory type; none at all where the output has to be one.
  NamedMapper(const ContextPtr& input_context, const ContextPtr& output_context)
      : RoutedMapper(input_context, output_context) {
    check(input_context, kFrom, true, "input");
    check(output_context, kTo, kTo == MemoryType::CPU, "output");
  }

 private:
  static void check(const ContextPtr& context, MemoryType wanted, bool may_be_null, const char* which) {
    if (context ? context->memory_type() == wanted : may_be_null) return;
    throw std::runtime_error(std::string("MemoryMapper: the ") + which + " context is " +
                             (context ? memory_type_to_string(context->memory_type()) : "null") +
                             ", and has to be one of " + memory_type_to_string(wanted));
  }
};

}  // namespace detail

MemoryMapperPtr BaseContext::get_mapper(const ContextPtr& input_context, const ContextPtr& output_context) {
  detail::MapperMaker attached;
  {
    const std::lock_guard lock(_mutex);
    for (const Attached& kept : _mappers)
      if (kept.is_between(input_context.get(), output_context.get())) attached = kept.make;
  }
  if (attached) return attached(input_context, output_context);
  if (output_context ? output_context.get() != this : input_context.get() != this) return nullptr;
  if (output_context && !native()) return nullptr;
  if (input_context && output_context)
    for (const detail::SpecialMapper& each : detail::special_mappers())
      if (each.from == input_context->memory_type() && each.to == output_context->memory_type())
        return each.make(input_context, output_context);
  return std::make_shared<detail::RoutedMapper>(input_context, output_context);
}

TensorPtr BaseContext::over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) {
  if (_memory_type != MemoryType::CPU)
    throw std::runtime_error(std::string("BaseContext::over: a context of ") + memory_type_to_string(_memory_type) +
                             " memory has no tensors of its own");
  return std::make_shared<CPUTensor>(mapped, self);
}

BaseFramePtr BaseContext::over(const tenon::Frame& mapped, const ContextPtr& self, AccessMode mode) {
  TensorVector tensors;
  for (const tenon::Tensor& tensor : detail::tensors_of(mapped)) tensors.push_back(over(tensor, self, mode));
  return std::make_shared<BaseFrame>(MediaType::Image, static_cast<Format>(detail::from_tenon(mapped.info().format)),
                                     std::move(tensors));
}

}  // namespace dlstreamer
