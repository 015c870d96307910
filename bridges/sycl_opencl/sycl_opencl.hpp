// SPDX-License-Identifier: Apache-2.0
// SYCL and OpenCL over one cl_context: contexts of one made of the other, and USM that passes between them in place.
//
//   sycl_opencl::make_context(opencl)      SYCL over your cl_context, device and queue
//   sycl_opencl::opencl_context(sycl)      OpenCL over SYCL's cl_context
//   router.add(sycl_opencl::edges());      sycl.usm <-> opencl.usm, the same pointers
#pragma once

#include <sycl/backend.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/frameworks/opencl/usm.hpp>
#include <tenon/frameworks/sycl/client.hpp>
#include <tenon/frameworks/sycl/sycl.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl_opencl {
namespace detail {

inline constexpr auto kBackend = ::sycl::backend::opencl;
inline constexpr const char* kNotOurs = "source or target is not a context of SYCL and of OpenCL's USM";

/// SYCL's cl_context, with a reference; empty where SYCL runs on another backend (Level Zero).
inline opencl::client::Handle<cl_context> native_context(const ::sycl::context& context) {
  if (context.get_backend() != kBackend) return {};
  return opencl::client::Handle<cl_context>(sycl::client::checked(
      "sycl::get_native", "asking for a context's cl_context", [&] { return ::sycl::get_native<kBackend>(context); }));
}

/// Both sides of an edge; null where a context is another framework's.
struct Sides {
  const sycl::UsmContext* sycl;
  const opencl::UsmContext* opencl;
  Sides(const Context& one, const Context& other)
      : sycl(one.as<sycl::UsmContext>()), opencl(other.as<opencl::UsmContext>()) {}
};

inline Step judge(const Sides& sides, const Description& from, const Context& to, MemoryKind kind, Access access) {
  if (!sides.sycl || !sides.opencl) return Refusal{kNotOurs};
  const ::sycl::context& context = sides.sycl->native().context;
  if (context.get_backend() != kBackend)
    return Refusal{"SYCL does not run on OpenCL here: choose such a device (ONEAPI_DEVICE_SELECTOR=opencl:*)"};
  if (native_context(context).get() != sides.opencl->native().context.get())
    return Refusal{
        "the two work in different cl_contexts: make one context of the other (sycl_opencl::make_context, "
        "opencl_context)"};
  if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
  return shared_in_place(from, to, kind, 100);
}

class SyclToOpencl final : public Edge {
 public:
  std::string_view name() const override { return "sycl.usm->opencl.usm"; }
  MemoryKind from() const override { return sycl::kUsmMemory; }
  MemoryKind to() const override { return opencl::kUsmMemory; }
  Step step(const Description& from, const Context& to, Access access) const override {
    return judge(Sides(from.context, to), from, to, opencl::kUsmMemory, access);
  }
  bool makes_standing_views(const Context&) const override { return true; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    const View* view = memory.find_view(*to, opencl::kUsmMemory, options.access);
    if (!view) {
      auto made = std::make_unique<opencl::UsmView>(
          to, widest_access(source), source.view() ? source.view()->host() : memory.host(),
          static_cast<std::byte*>(sycl::usm_pointer(source)) - source.offset());
      made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

class OpenclToSycl final : public Edge {
 public:
  std::string_view name() const override { return "opencl.usm->sycl.usm"; }
  MemoryKind from() const override { return opencl::kUsmMemory; }
  MemoryKind to() const override { return sycl::kUsmMemory; }
  Step step(const Description& from, const Context& to, Access access) const override {
    return judge(Sides(to, from.context), from, to, sycl::kUsmMemory, access);
  }
  bool makes_standing_views(const Context&) const override { return true; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    const View* view = memory.find_view(*to, sycl::kUsmMemory, options.access);
    if (!view) {
      auto made = std::make_unique<sycl::UsmView>(
          to, widest_access(source), source.view() ? source.view()->host() : memory.host(),
          static_cast<std::byte*>(opencl::usm_pointer(source)) - source.offset());
      made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

inline const SyclToOpencl sycl_to_opencl;
inline const OpenclToSycl opencl_to_sycl;
inline constexpr const Edge* kEdges[] = {&sycl_to_opencl, &opencl_to_sycl};

}  // namespace detail

/// The edges between the two, for Router::add.
inline std::span<const Edge* const> edges() { return detail::kEdges; }

/// SYCL over the cl_context and queue of an OpenCL context, which is kept: SYCL takes no references of its own.
/// @errors kInvalidArgument: no context of OpenCL; kUnimplemented: a device without USM; those of native calls.
inline Context make_context(const Context& opencl) {
  const cl_context context = opencl::handle(opencl);
  const ::sycl::queue queue = sycl::client::checked("sycl::make_queue", "making SYCL's queue of an OpenCL queue", [&] {
    return ::sycl::make_queue<detail::kBackend>(opencl.as<opencl::FacetContext>()->native().queue.get(),
                                                ::sycl::make_context<detail::kBackend>(context));
  });
  return sycl::wrap(queue, opencl.impl());
}

/// OpenCL over SYCL's cl_context and device; for its USM: opencl::usm(of the result).
/// @errors kInvalidArgument: no context of SYCL; kUnimplemented: SYCL runs on another backend; those of native calls.
inline Context opencl_context(const Context& sycl) {
  const opencl::client::Handle<cl_context> context = detail::native_context(sycl::handle(sycl));
  if (!context.get())
    throw Error(Code::kUnimplemented, "sycl_opencl::opencl_context: " + std::string(sycl->name()) +
                                          " does not run on OpenCL; choose such a device "
                                          "(ONEAPI_DEVICE_SELECTOR=opencl:*)");
  const cl_device_id device = sycl::client::checked("sycl::get_native", "asking for a device's cl_device_id", [&] {
    return ::sycl::get_native<detail::kBackend>(sycl::device(sycl));
  });
  return opencl::wrap_device(context.get(), device);
}

}  // namespace sycl_opencl
}  // namespace v1
}  // namespace tenon
