// SPDX-License-Identifier: Apache-2.0
// Contexts of SYCL and OpenCL made of one another, and the edges of their USM.
#include <tenon/bridges/sycl_opencl/sycl_opencl.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <sycl/backend.hpp>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/usm.hpp>
#include <tenon/frameworks/sycl/client.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl_opencl {
namespace detail {

inline constexpr auto kBackend = ::sycl::backend::opencl;
inline constexpr const char* kNotOurs = "source or target is not a context of SYCL and of OpenCL's USM";

/// SYCL's cl_context, with a reference; empty where SYCL runs on another backend (Level Zero).
TENON_INLINE opencl::client::Handle<cl_context> native_context(const ::sycl::context& context) {
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

TENON_INLINE Step judge(const Sides& sides, const Description& from, const Context& to, MemoryKind kind,
                        Access access) {
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

class SyclToOpencl final : public StandingEdge {
 public:
  SyclToOpencl() : StandingEdge("sycl.usm->opencl.usm", sycl::kUsmMemory, opencl::kUsmMemory) {}
  Step step(const Description& from, const Context& to, Access access) const override {
    return judge(Sides(from.context, to), from, to, opencl::kUsmMemory, access);
  }

 private:
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    return std::make_unique<opencl::UsmView>(to, widest_access(source), host_base(source),
                                             static_cast<std::byte*>(sycl::usm_pointer(source)) - source.offset());
  }
};

class OpenclToSycl final : public StandingEdge {
 public:
  OpenclToSycl() : StandingEdge("opencl.usm->sycl.usm", opencl::kUsmMemory, sycl::kUsmMemory) {}
  Step step(const Description& from, const Context& to, Access access) const override {
    return judge(Sides(to, from.context), from, to, sycl::kUsmMemory, access);
  }

 private:
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override {
    return std::make_unique<sycl::UsmView>(to, widest_access(source), host_base(source),
                                           static_cast<std::byte*>(opencl::usm_pointer(source)) - source.offset());
  }
};

struct Edges {
  SyclToOpencl sycl_to_opencl;
  OpenclToSycl opencl_to_sycl;
  const Edge* const all[2] = {&sycl_to_opencl, &opencl_to_sycl};
};

}  // namespace detail

TENON_INLINE std::span<const Edge* const> edges() {
  static const auto* const made = new detail::Edges;  // Outlives static destructors.
  return made->all;
}

TENON_INLINE Context make_context(const Context& opencl) {
  const cl_context context = opencl::handle(opencl);
  const ::sycl::queue queue = sycl::client::checked("sycl::make_queue", "making SYCL's queue of an OpenCL queue", [&] {
    return ::sycl::make_queue<detail::kBackend>(opencl.as<opencl::FacetContext>()->native().queue.get(),
                                                ::sycl::make_context<detail::kBackend>(context));
  });
  return sycl::wrap(queue, opencl.impl());
}

TENON_INLINE Context opencl_context(const Context& sycl) {
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
