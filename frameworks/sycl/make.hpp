// SPDX-License-Identifier: Apache-2.0
// Makes contexts and tensors of SYCL's USM, and orders users' commands and Tenon's tensors.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/sycl/context.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {

namespace detail {
std::string short_name(const ::sycl::device& device);

/// Devices whose platform gives them USM. Empty where the runtime finds no platform.
std::vector<::sycl::device> usable_devices();

Context make_context(const ::sycl::queue& queue, const std::string& name, Ref<RefCounted> owner = {});

}  // namespace detail

/// Wraps the context and device of the user's queue.
/// @param owner  Kept as long as the context: what native objects below the queue need. Null: SYCL keeps all.
/// @errors kUnimplemented: a device without USM; those of native calls.
Context wrap(const ::sycl::queue& queue, Ref<RefCounted> owner = {});

/// A new context on a device. @errors as wrap().
Context make_context(const ::sycl::device& device);
/// On the first device with USM. @errors kUnavailable: there is none.
Context make_context();

/// @name What is behind a context; for native handles ask SYCL: sycl::get_native<backend>(sycl::handle(context)).
/// @errors kInvalidArgument: a context of another framework.
const ::sycl::context& handle(const Context& context);
const ::sycl::device& device(const Context& context);
/// The user's queue, or one of ours.
const ::sycl::queue& queue(const Context& context);

namespace detail {}  // namespace detail

/// Allocates USM of a type. @errors as UsmContext::allocate.
Tensor allocate(const Context& context, UsmType type, const TensorInfo& info);
/// The user's USM as a tensor; the user keeps it alive. SYCL does not tell how large an allocation is: `info` must fit.
/// @errors kInvalidArgument: null, no USM of this context.
Tensor wrap(const Context& context, void* data, const TensorInfo& info);
/// Takes ownership of the allocation, which begins at `data`: freed once, also when this fails, unless it is no USM of
/// this context. @errors as wrap().
Tensor adopt(const Context& context, void* data, const TensorInfo& info);
/// Refused: SYCL moves a buffer's bytes wherever its accessors want them, so there is no address that stays.
/// @errors kUnimplemented, always, with the way that there is.
template <typename T, int kDimensions, typename Allocator>
Tensor wrap(const Context& /*context*/, const ::sycl::buffer<T, kDimensions, Allocator>& buffer) {
  throw Error(Code::kUnimplemented,
              "sycl::wrap: a sycl::buffer of " + std::to_string(buffer.byte_size()) +
                  " bytes has no address that stays: SYCL moves it as accessors ask. Use USM (sycl::malloc_shared), or "
                  "cpu::wrap the pointer of a host_accessor as long as that lives");
}

/// The type of a tensor's memory. @errors kInvalidArgument: no sycl.usm.
UsmType usm_type(const Tensor& tensor);

/// Declares that a command writes the tensor's memory until `event`: uses of the memory then wait for it.
/// @errors kInvalidArgument: a tensor outside SYCL.
void wrote(const Tensor& tensor, const ::sycl::event& event);
/// Declares that a command reads the tensor's memory until `event`: writers wait for it. @errors as wrote().
void reads(const Tensor& tensor, const ::sycl::event& event);
/// What a command that accesses `tensor` must wait for, for handler::depends_on. For work of other APIs the host waits
/// here. @errors kDeadlineExceeded; the failure of a write that `access` would read.
std::vector<::sycl::event> depends_on(const Tensor& tensor, Access access);
/// `queue` as a stream; shares it. @errors kInvalidArgument: a queue of another sycl::context, a context of another
/// framework.
Ref<Stream> stream(const Context& context, const ::sycl::queue& queue);

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
