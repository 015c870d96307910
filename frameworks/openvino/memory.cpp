// SPDX-License-Identifier: Apache-2.0
// Headers of ov::Tensor that keep a tensor's memory, and what an ov::Tensor is as memory.
#include <tenon/frameworks/openvino/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>

#include <openvino/core/except.hpp>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

TENON_INLINE std::string why_not(ElementType type) {
  if (type == ElementType::kU1) {
    return "OpenVINO packs the bits of u1 from the highest down, this tensor from the lowest up: the bytes cannot be "
           "shared; use u8 or boolean";
  }
  if (type == ElementType::kString) return "a tensor of strings holds C++ objects, not bytes that could be shared";
  return "element type " + std::string(name(type)) + " has no counterpart in OpenVINO";
}
TENON_INLINE std::string why_not(const ov::element::Type& native) {
  if (native == ov::element::u1) {
    return "OpenVINO packs the bits of u1 from the highest down, Tenon from the lowest up: the bytes cannot be shared; "
           "use u8 or boolean";
  }
  if (native == ov::element::string) return "a tensor of strings holds C++ objects, not bytes that could be shared";
  return "OpenVINO's element type " + native.get_type_name() +
         " has no counterpart in Tenon; wrap its bytes as u8, or convert it first";
}

TENON_INLINE TensorMemory::~TensorMemory() { drop_views(); }

namespace detail {

TENON_INLINE void raise(const char* call, const std::string& what) {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(Code::kResourceExhausted, "openvino: " + what + ": out of memory", call, -1);
  } catch (const ov::NotImplemented& error) {
    throw Error(Code::kUnimplemented, "openvino: " + what + ": " + error.what(), call, -1);
  } catch (const ov::AssertFailure& error) {
    throw Error(Code::kInvalidArgument, "openvino: " + what + ": " + error.what(), call, -1);
  } catch (const std::exception& error) {
    throw Error(Code::kInternal, "openvino: " + what + ": " + error.what(), call, -1);
  }
}

TENON_INLINE Shape to_shape(const ov::Shape& native) {
  Shape shape;
  for (const std::size_t extent : native) shape.push_back(extent);
  return shape;
}
TENON_INLINE std::string to_text(const ov::Tensor& tensor) {
  return tensor.get_element_type().get_type_name() + " " + to_string(to_shape(tensor.get_shape()));
}

/// Type, extents and strides; strides are empty for packed tensors. @errors kUnimplemented: the type, or a region of a
/// sub-byte type.
TENON_INLINE TensorInfo info_of(const ov::Tensor& native) {
  const auto type = from_native(native.get_element_type());
  if (!type)
    throw Error(Code::kUnimplemented,
                "openvino::wrap of " + to_text(native) + ": " + why_not(native.get_element_type()));
  TensorInfo info{*type, to_shape(native.get_shape()), {}};
  try {
    if (native.is_continuous()) return info;
    for (const std::size_t stride : native.get_strides()) info.strides.push_back(static_cast<std::ptrdiff_t>(stride));
  } catch (...) {
    raise("ov::Tensor::get_strides", "wrapping " + to_text(native) + ", a region without byte strides");
  }
  return info;
}

/// Host address and whether it may be written; null for remote tensors.
struct HostAccess {
  void* data = nullptr;
  bool read_only = false, is_remote = false;
};
TENON_INLINE HostAccess host_access(ov::Tensor& native) {
  HostAccess access;
  try {
    access.data = const_cast<void*>(std::as_const(native).data());
  } catch (...) {
    access.is_remote = native.is<ov::RemoteTensor>();
    if (!access.is_remote) raise("ov::Tensor::data", "asking " + to_text(native) + " for its address");
    return access;
  }
  try {
    native.data();
  } catch (const std::exception&) {
    access.read_only = true;  // Made from a const pointer; there is no other way to find out.
  }
  return access;
}

/// Held by an ov::Tensor over our bytes to keep them alive.
struct Keeper {
  Keeper(const Ref<Memory>& of_memory, const Lease& of_lease) : memory(of_memory), lease(of_lease) {}
  Ref<Memory> memory;
  Lease lease;
};

/// Storage for the shared_ptr that holds a Keeper. Each thread keeps one block, so that a loop that creates and drops
/// tensors neither allocates nor pays for an atomic operation.
class KeeperBlocks {
 public:
  static constexpr std::size_t kBytes = 64;
  static void* take() {
    if (void* block = std::exchange(kept().block, nullptr)) return block;
    return ::operator new(kBytes);
  }
  static void give(void* block) noexcept {
    Kept& mine = kept();
    if (mine.block || mine.is_over) return ::operator delete(block);
    mine.block = block;
  }

 private:
  struct Kept {
    void* block = nullptr;
    bool is_over = false;  ///< The thread is ending: tensors held by its other thread-local objects are released later.
    ~Kept() {
      ::operator delete(std::exchange(block, nullptr));
      is_over = true;
    }
  };
  static Kept& kept() {
    thread_local Kept mine;
    return mine;
  }
};

template <typename T>
struct KeeperAllocator {
  using value_type = T;
  KeeperAllocator() = default;
  template <typename U>
  KeeperAllocator(const KeeperAllocator<U>&) {}
  T* allocate(std::size_t) {
    static_assert(sizeof(T) <= KeeperBlocks::kBytes && alignof(T) <= alignof(std::max_align_t));
    return static_cast<T*>(KeeperBlocks::take());
  }
  void deallocate(T* block, std::size_t) noexcept { KeeperBlocks::give(block); }
  template <typename U>
  bool operator==(const KeeperAllocator<U>&) const {
    return true;
  }
};

/// Gives an ov::Tensor an owner. OpenVINO copies `_so` with every copy and region, also into requests, and releases it
/// after the tensor itself. It is meant for the library that made a tensor, and does what we need.
class Ownership final : public ov::Tensor {
 public:
  static void give(ov::Tensor& tensor, std::shared_ptr<void> owner) { tensor.*& Ownership::_so = std::move(owner); }
};

TENON_INLINE std::optional<std::string> why_not_strides(const TensorInfo& info) {
  if (!to_native(info.type)) return why_not(info.type);
  if (info.strides.empty()) return std::nullopt;
  const auto element = static_cast<std::ptrdiff_t>(size_bytes(info.type));
  std::ptrdiff_t packed = element;
  for (std::size_t axis = info.shape.size(); axis-- > 0;) {
    if (info.shape[axis] > 1 && (info.strides[axis] < packed || info.strides[axis] % element != 0)) {
      return "byte stride " + std::to_string(info.strides[axis]) + " of axis " + std::to_string(axis) +
             ": ov::Tensor takes multiples of the element's " + std::to_string(element) + " bytes of at least " +
             std::to_string(packed) + " here";
    }
    packed *= static_cast<std::ptrdiff_t>(info.shape[axis]);
  }
  return std::nullopt;
}

/// Axes of one element may have any stride here; in OpenVINO it must be at least the packed one.
TENON_INLINE void to_native_strides(const TensorInfo& info, ov::Strides& strides) {
  strides.assign(info.shape.size(), 0);
  auto inner = static_cast<std::size_t>(size_bytes(info.type));
  for (std::size_t axis = info.shape.size(); axis-- > 0;) {
    strides[axis] = info.shape[axis] > 1 ? static_cast<std::size_t>(info.strides[axis]) : inner;
    inner = strides[axis] * std::max<std::size_t>(info.shape[axis], 1);
  }
}

TENON_INLINE ov::Tensor bare_tensor(const TensorInfo& info, void* data, bool packed, bool read_only) {
  struct Scratch {
    ov::Shape shape;
    ov::Strides strides, none;
  };
  thread_local Scratch scratch;  // Reused with its storage: OpenVINO copies its arguments.
  ov::Shape& shape = scratch.shape;
  shape.assign(info.shape.begin(), info.shape.end());
  if (!packed) to_native_strides(info, scratch.strides);
  const ov::Strides& used = packed ? scratch.none : scratch.strides;
  const ov::element::Type type(*to_native(info.type));
  if (read_only) return ov::Tensor(type, shape, static_cast<const void*>(data), used);
  return ov::Tensor(type, shape, data, used);
}

TENON_INLINE Found inspect(const ov::Tensor& native, bool want_remote) {
  if (!native) throw Error(Code::kInvalidArgument, "openvino::wrap of an ov::Tensor without memory");
  Found found{info_of(native), {}};
  ov::Tensor copy = native;
  const HostAccess access = host_access(copy);
  if (access.is_remote != want_remote) {
    throw Error(Code::kInvalidArgument, "openvino::wrap of " + to_text(native) +
                                            (access.is_remote ? ": a remote tensor; wrap it with its ov::RemoteContext"
                                                              : ": a host tensor; wrap it without a context"));
  }
  const auto extent = checked_extent_bytes(found.info);
  if (!extent) throw Error(Code::kInvalidArgument, "openvino::wrap of " + to_text(native) + ": a size past 63 bits");
  found.properties.size_bytes = *extent;
  found.properties.host = access.data;
  found.properties.read_only = access.read_only;
  return found;
}

/// Whether `tensor`, which lies in the memory of `native`, is all of it.
TENON_INLINE bool is_whole(const ov::Tensor& native, const Tensor& tensor) {
  const ov::Shape& shape = native.get_shape();
  if (tensor.offset() != 0 || to_native(tensor.element_type()) != native.get_element_type() ||
      !std::equal(shape.begin(), shape.end(), tensor.shape().begin(), tensor.shape().end()))
    return false;
  if (native.is_continuous()) return tensor.is_contiguous();
  const ov::Strides strides = native.get_strides();
  return std::equal(strides.begin(), strides.end(), tensor.byte_strides().begin(), tensor.byte_strides().end(),
                    [](std::size_t a, std::ptrdiff_t b) { return a == static_cast<std::size_t>(b); });
}

/// The region of `native` that is `tensor`. @errors kUnimplemented: it is not a region of it.
TENON_INLINE ov::Tensor region_of(const ov::Tensor& native, const Tensor& tensor) {
  const TensorInfo whole = info_of(native);
  if (tensor.offset() == 0 && tensor.shape() == whole.shape && tensor.element_type() == whole.type) return native;
  const ByteStrides strides = whole.strides.empty() ? packed_strides(whole.type, whole.shape) : whole.strides;
  bool fits = tensor.element_type() == whole.type && tensor.byte_strides() == strides;
  ov::Coordinate begin, end;
  std::size_t rest = tensor.offset();
  for (std::size_t axis = 0; fits && axis < strides.size(); ++axis) {
    const auto stride = static_cast<std::size_t>(strides[axis]);
    begin.push_back(stride ? rest / stride : 0);
    rest -= begin.back() * stride;
    end.push_back(begin.back() + tensor.shape()[axis]);
    fits = end.back() <= whole.shape[axis];
  }
  if (!fits || rest != 0) {
    throw Error(Code::kUnimplemented, "openvino::tensor of " + tenon::v1::to_string(tensor) +
                                          ": a remote tensor can be seen as a whole or by regions of its own axes, "
                                          "not as another type or shape");
  }
  try {
    if (native.is<ov::RemoteTensor>()) return ov::RemoteTensor(native.as<ov::RemoteTensor>(), begin, end);
    return ov::Tensor(native, begin, end);
  } catch (...) {
    raise("ov::RemoteTensor", "taking a region of " + to_text(native));
  }
}

/// The original ov::Tensor of `tensor`, or a region of it if it has no address; empty if a new header is
/// needed.
TENON_INLINE ov::Tensor existing(const Tensor& tensor) {
  const auto* holder = dynamic_cast<const NativeTensor*>(tensor.memory().get());
  if (!holder) return {};
  if (!tensor.memory()->host()) return region_of(holder->native_tensor(), tensor);
  return !tensor.lease() && is_whole(holder->native_tensor(), tensor) ? holder->native_tensor() : ov::Tensor();
}

/// Throws the reason why no header can be made over the tensor. Kept out of the hot path.
[[noreturn, gnu::cold]] TENON_INLINE void refuse_header(const Tensor& tensor) {
  const std::string what = "openvino::tensor of " + tenon::v1::to_string(tensor) + ": ";
  if (const auto why = tensor.is_host_addressable() ? why_not_strides(tensor.info()) : std::nullopt)
    throw Error(Code::kUnimplemented, what + *why);
  throw Error(Code::kInvalidArgument,
              what + "it lies in no memory that OpenVINO sees; map it to openvino::context() with a Router first");
}

/// A new header, without an owner yet, over a host-addressable tensor.
TENON_INLINE ov::Tensor header_over(const Tensor& tensor) {
  const MemoryKind kind = tensor.kind();
  if (!(kind == kOpenVinoMemory || kind == kCpuMemory) || !tensor.is_host_addressable()) refuse_header(tensor);
  const bool packed = tensor.is_contiguous();
  if (packed ? !to_native(tensor.element_type()) : why_not_strides(tensor.info()).has_value()) refuse_header(tensor);
  return bare_tensor(tensor.info(), tensor.data(), packed, !tensor.is_writable());
}

}  // namespace detail

TENON_INLINE ov::Tensor pending_tensor(const Tensor& tensor) {
  if (!tensor) throw Error(Code::kInvalidArgument, "openvino::tensor of an empty tensor");
  try {
    if (!tensor.view() && tensor.memory()->kind() == kOpenVinoMemory) {
      if (ov::Tensor known = detail::existing(tensor)) return known;
    }
    ov::Tensor native = detail::header_over(tensor);
    detail::Ownership::give(native, std::allocate_shared<detail::Keeper>(detail::KeeperAllocator<detail::Keeper>(),
                                                                         tensor.memory(), tensor.lease()));
    return native;
  } catch (...) {
    detail::raise("ov::Tensor", "making a tensor over " + tenon::v1::to_string(tensor));
  }
}

TENON_INLINE ov::Tensor tensor(const Tensor& tensor, const TensorOptions& options) {
  ov::Tensor native = pending_tensor(tensor);
  if (tensor.memory()->has_hazards()) {
    const Deadline deadline = options.deadline == Deadline::max() ? default_deadline() : options.deadline;
    tensor.memory()->wait_for(tensor.is_writable() ? options.access : Access::kRead, deadline,
                              options.ledger ? options.ledger : &Ledger::process());
  }
  return native;
}

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
