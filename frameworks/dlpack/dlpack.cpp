// SPDX-License-Identifier: Apache-2.0
// Exports and imports of DLPack's structs, and the checks of foreign ones.
#include <tenon/frameworks/dlpack/dlpack.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/small_vector.hpp>
#include <tenon/frameworks/cpu/client.hpp>
#include <tenon/frameworks/dlpack/client.hpp>

namespace tenon {
inline namespace v1 {
namespace dlpack {
namespace detail {

/// Largest rank accepted on import: a hostile ndim must not make us read foreign memory.
inline constexpr std::int32_t kMaxRank = 64;

struct TypeRow {
  ElementType type;
  std::uint8_t code, bits;
};
inline constexpr TypeRow kTypes[] = {
    {ElementType::kBool, abi::kDLBool, 8},
    {ElementType::kF64, abi::kDLFloat, 64},
    {ElementType::kF32, abi::kDLFloat, 32},
    {ElementType::kF16, abi::kDLFloat, 16},
    {ElementType::kBf16, abi::kDLBfloat, 16},
    {ElementType::kI64, abi::kDLInt, 64},
    {ElementType::kI32, abi::kDLInt, 32},
    {ElementType::kI16, abi::kDLInt, 16},
    {ElementType::kI8, abi::kDLInt, 8},
    {ElementType::kI4, abi::kDLInt, 4},
    {ElementType::kU64, abi::kDLUInt, 64},
    {ElementType::kU32, abi::kDLUInt, 32},
    {ElementType::kU16, abi::kDLUInt, 16},
    {ElementType::kU8, abi::kDLUInt, 8},
    {ElementType::kU4, abi::kDLUInt, 4},
    {ElementType::kU1, abi::kDLUInt, 1},
    {ElementType::kF8E4M3, abi::kDLFloat8_e4m3fn, 8},
    {ElementType::kF8E5M2, abi::kDLFloat8_e5m2, 8},
    {ElementType::kF8E4M3Fnuz, abi::kDLFloat8_e4m3fnuz, 8},
    {ElementType::kF8E5M2Fnuz, abi::kDLFloat8_e5m2fnuz, 8},
    {ElementType::kF8E8M0, abi::kDLFloat8_e8m0fnu, 8},
    {ElementType::kF4E2M1, abi::kDLFloat4_e2m1fn, 4},
};

TENON_INLINE std::string type_name(abi::DLDataType type) {
  constexpr const char* names[] = {"int",
                                   "uint",
                                   "float",
                                   "opaque handle",
                                   "bfloat",
                                   "complex",
                                   "bool",
                                   "float8_e3m4",
                                   "float8_e4m3",
                                   "float8_e4m3b11fnuz",
                                   "float8_e4m3fn",
                                   "float8_e4m3fnuz",
                                   "float8_e5m2",
                                   "float8_e5m2fnuz",
                                   "float8_e8m0fnu",
                                   "float6_e2m3fn",
                                   "float6_e3m2fn",
                                   "float4_e2m1fn"};
  const std::string text = type.code < std::size(names) ? names[type.code] : "type code " + std::to_string(type.code);
  return text + " of " + std::to_string(type.bits) + " bits, " + std::to_string(type.lanes) + " lanes";
}

/// Whether an element of DLPack is several below a byte, in whole bytes: torch's float4_e2m1fn_x2 has two lanes of 4 bits.
TENON_INLINE bool is_packed_group(abi::DLDataType type) {
  return type.lanes > 1 && type.bits < 8 && type.bits * type.lanes % 8 == 0;
}

TENON_INLINE ElementType from_dl(abi::DLDataType type) {
  if (type.lanes == 1 || is_packed_group(type)) {
    for (const TypeRow& row : kTypes) {
      if (row.code == type.code && row.bits == type.bits) return row.type;
    }
  }
  throw Error(Code::kUnimplemented,
              "dlpack import: no element type for " + type_name(type) + "; convert it before exporting it");
}

/// GPU libraries' pinned host memory counts as host memory too.
TENON_INLINE bool is_host(std::int32_t device_type) {
  return device_type == abi::kDLCPU || device_type == abi::kDLCUDAHost || device_type == abi::kDLROCMHost;
}

TENON_INLINE EdgeId import_edge() {
  static const EdgeId id = register_edge("dlpack->cpu");
  return id;
}
TENON_INLINE EdgeId export_edge() {
  static const EdgeId id = register_edge("cpu->dlpack");
  return id;
}

}  // namespace detail

namespace client {

TENON_INLINE abi::DLDataType to_dl(ElementType type) {
  for (const detail::TypeRow& row : detail::kTypes) {
    if (row.type == type) return {row.code, row.bits, 1};
  }
  throw Error(Code::kInvalidArgument, "dlpack: element type " + std::string(name(type)) + " has no DLPack type");
}

TENON_INLINE const char* device_name(std::int32_t type) {
  switch (type) {
    case abi::kDLCPU:
      return "CPU";
    case abi::kDLCUDA:
      return "CUDA";
    case abi::kDLCUDAHost:
      return "CUDA host";
    case abi::kDLOpenCL:
      return "OpenCL";
    case abi::kDLVulkan:
      return "Vulkan";
    case abi::kDLMetal:
      return "Metal";
    case abi::kDLVPI:
      return "VPI";
    case abi::kDLROCM:
      return "ROCm";
    case abi::kDLROCMHost:
      return "ROCm host";
    case abi::kDLExtDev:
      return "extension";
    case abi::kDLCUDAManaged:
      return "CUDA managed";
    case abi::kDLOneAPI:
      return "oneAPI";
    case abi::kDLWebGPU:
      return "WebGPU";
    case abi::kDLHexagon:
      return "Hexagon";
    case abi::kDLMAIA:
      return "MAIA";
    case abi::kDLTrn:
      return "Trainium";
    default:
      return "unknown";
  }
}

TENON_INLINE TensorInfo checked_info(const abi::DLTensor& dl, bool may_lack_strides, bool legacy, std::uint64_t flags) {
  const std::string what = "dlpack import";
  if (dl.ndim < 0 || dl.ndim > detail::kMaxRank)
    throw Error(Code::kInvalidArgument,
                what + ": rank " + std::to_string(dl.ndim) + ", expected 0.." + std::to_string(detail::kMaxRank));
  if (dl.ndim > 0 && !dl.shape)
    throw Error(Code::kInvalidArgument, what + ": shape is NULL for rank " + std::to_string(dl.ndim));
  TensorInfo info;
  info.type = detail::from_dl(dl.dtype);
  for (std::int32_t axis = 0; axis < dl.ndim; ++axis) {
    if (dl.shape[axis] < 0)
      throw Error(Code::kInvalidArgument,
                  what + ": extent " + std::to_string(dl.shape[axis]) + " at axis " + std::to_string(axis));
    info.shape.push_back(static_cast<std::size_t>(dl.shape[axis]));
  }
  if (detail::is_packed_group(dl.dtype)) {  // The last axis counts groups.
    if (dl.ndim == 0) info.shape.push_back(1);
    std::size_t& last = info.shape[info.shape.size() - 1];
    if (__builtin_mul_overflow(last, std::size_t{dl.dtype.lanes}, &last)) last = SIZE_MAX;
  }
  const auto bytes = checked_size_bytes(info.type, info.shape);
  if (!bytes)
    throw Error(Code::kInvalidArgument, what + " " + to_string(info.shape) + ": its size does not fit 63 bits");
  const std::size_t item = size_bytes(info.type);
  const bool is_packed = !legacy || detail::is_packed_group(dl.dtype);
  if (item == 0 && (!is_packed || (flags & abi::kFlagSubbyteTypePadded))) {
    throw Error(Code::kUnimplemented,
                what + " of " + detail::type_name(dl.dtype) + ": elements below a byte are taken packed only, " +
                    (legacy ? "which legacy DLPack does not promise" : "these are padded to bytes"));
  }
  if (!dl.strides) {
    if (dl.ndim > 0 && !may_lack_strides) {
      throw Error(Code::kInvalidArgument,
                  what + " " + to_string(info.shape) + ": strides are NULL, which DLPack forbids since 1.2");
    }
    return info;
  }
  std::uint64_t packed = 1;  // Unsigned: may wrap, where an extent of 0 lets the others be of any size.
  bool compact = true;
  for (std::int32_t axis = dl.ndim; axis-- > 0;) {
    compact = compact && (dl.shape[axis] == 1 || dl.strides[axis] == static_cast<std::int64_t>(packed));
    packed *= static_cast<std::uint64_t>(dl.shape[axis]);
  }
  if (item == 0) {
    if (!compact && *bytes != 0)
      throw Error(Code::kUnimplemented,
                  what + " of " + detail::type_name(dl.dtype) + ": elements below a byte must be packed row by row");
    return info;
  }
  if (compact || *bytes == 0)
    return info;  // Strides of axes of one element, or of tensors without elements, may be anything.
  for (std::int32_t axis = 0; axis < dl.ndim; ++axis) {
    std::int64_t step = static_cast<std::int64_t>(item);
    if (dl.shape[axis] == 1) {  // Never stepped along: its stride may be anything.
      info.strides.push_back(step);
      continue;
    }
    if (dl.strides[axis] < 0 || __builtin_mul_overflow(dl.strides[axis], static_cast<std::int64_t>(item), &step)) {
      throw Error(Code::kInvalidArgument,
                  what + " " + to_string(info.shape) + ": stride " + std::to_string(dl.strides[axis]) + " of axis " +
                      std::to_string(axis) +
                      " is negative or overflows; make the tensor contiguous before exporting it");
    }
    info.strides.push_back(static_cast<std::ptrdiff_t>(step));
  }
  return info;
}

TENON_INLINE std::size_t checked_size(const abi::DLTensor& dl, const TensorInfo& info) {
  const auto extent = checked_extent_bytes(info);
  std::size_t size = 0, end = 0;
  if (!extent || __builtin_add_overflow(*extent, dl.byte_offset, &size) ||
      __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(dl.data), size, &end) || end > PTRDIFF_MAX) {
    throw Error(Code::kInvalidArgument, "dlpack import " + to_string(info.shape) + ": strides " +
                                            to_string(info.strides) + " bytes and byte offset " +
                                            std::to_string(dl.byte_offset) + " reach past the address space");
  }
  if (!dl.data && *extent != 0)
    throw Error(Code::kInvalidArgument, "dlpack import " + to_string(info.shape) + ": data is NULL");
  return size;
}

TENON_INLINE void check_version(const abi::DLPackVersion& version) {
  if (version.major == abi::kMajorVersion) return;
  throw Error(Code::kUnimplemented, "dlpack import: the tensor is of version " + std::to_string(version.major) + "." +
                                        std::to_string(version.minor) +
                                        ", versions 1.x are understood; ask the producer for max_version=(1, " +
                                        std::to_string(abi::kMinorVersion) + ")");
}

TENON_INLINE std::string element_strides(const Tensor& tensor, SmallVector<std::int64_t, 6>& strides) {
  const auto item = static_cast<std::ptrdiff_t>(size_bytes(tensor.element_type()));
  strides.clear();
  if (item == 0) {
    strides.resize(tensor.shape().size());
    std::uint64_t step = 1;
    for (std::size_t axis = strides.size(); axis-- > 0;) {
      strides[axis] = static_cast<std::int64_t>(step);
      step *= tensor.shape()[axis];
    }
    return {};
  }
  for (std::ptrdiff_t stride : tensor.byte_strides()) {
    if (stride % item != 0) {
      return "byte strides " + to_string(tensor.byte_strides()) + " are not multiples of the element's " +
             std::to_string(item) + " bytes, and DLPack counts strides in elements";
    }
    strides.push_back(stride / item);
  }
  return {};
}

}  // namespace client

namespace detail {

/// The common part of both imports. `release` calls the producer's deleter, once, also when this throws.
TENON_INLINE Tensor import_host(const abi::DLTensor& dl, bool may_lack_strides, bool legacy, std::uint64_t flags,
                                cpu::client::ReleaseGuard& guard, Ledger* ledger) {
  if (!is_host(dl.device.device_type)) {
    throw Error(Code::kUnimplemented,
                "dlpack import: the tensor lies on device type " + std::to_string(dl.device.device_type) + " (" +
                    client::device_name(dl.device.device_type) +
                    "), only host memory is taken here; export it with dl_device=(1, 0)" +
                    (dl.device.device_type == abi::kDLCUDA ? ", or import it by bridges/cuda_dlpack" : ""));
  }
  TensorInfo info = client::checked_info(dl, may_lack_strides, legacy, flags);
  const std::size_t size = client::checked_size(dl, info);
  // Without data the offset is ignored: producers of empty tensors may set any.
  const std::size_t offset = dl.data ? static_cast<std::size_t>(dl.byte_offset) : 0;
  Ref<HostMemory> memory =
      HostMemory::borrow(dl.data, dl.data ? size : 0, (flags & abi::kFlagReadOnly) != 0, guard.get());
  guard.disarm();
  Tensor tensor(info, std::move(memory), offset);
  Ledger& booked = ledger ? *ledger : Ledger::process();
  booked.book_map(import_edge(), false);
  if (flags & abi::kFlagIsCopied) booked.book_copied(import_edge(), tensor.size_bytes());
  return tensor;
}

template <typename Managed>
std::unique_ptr<client::Exported<Managed>> make_export(const Tensor& tensor, const ExportOptions& options,
                                                       bool& copied) {
  if (!tensor) throw Error(Code::kInvalidArgument, "dlpack export: the tensor is empty");
  if (!tensor.is_host_addressable() && tensor.size_bytes() != 0) {
    throw Error(Code::kFailedPrecondition,
                "dlpack export of " + to_string(tensor) +
                    ": the CPU cannot reach it; map it into host_context() with a Router first");
  }
  auto made = std::make_unique<client::Exported<Managed>>();
  const abi::DLDataType type = client::to_dl(tensor.element_type());
  const std::string refusal = client::element_strides(tensor, made->strides);
  if (!refusal.empty() && options.copy == Copy::kNever) {
    throw Error(Code::kFailedPrecondition, "dlpack export of " + to_string(tensor) + ": " + refusal +
                                               "; allow a copy, or pad rows to whole elements");
  }
  copied = !refusal.empty() || options.copy == Copy::kAlways;
  Ledger& booked = options.ledger ? *options.ledger : Ledger::process();
  // The consumer does not know our timelines: all work must be finished before it gets the pointer.
  const Deadline deadline = options.deadline == Deadline::max() ? default_deadline() : options.deadline;
  tensor.memory()->wait_for(!copied && tensor.is_writable() ? Access::kReadWrite : Access::kRead, deadline, &booked);
  if (copied) {
    Tensor copy(tensor.element_type(), tensor.shape());
    tensor.copy_to(copy);
    made->tensor = std::move(copy);
    client::element_strides(made->tensor, made->strides);
  } else {
    made->tensor = tensor;
  }
  for (std::size_t extent : tensor.shape()) made->shape.push_back(static_cast<std::int64_t>(extent));
  abi::DLTensor& dl = made->managed.dl_tensor;
  // Set for empty tensors too, though DLPack says it "should" be NULL: torch 1.13 never calls the deleter then.
  dl.data = made->tensor.data();
  dl.device = {abi::kDLCPU, 0};
  dl.ndim = static_cast<std::int32_t>(made->shape.size());
  dl.dtype = type;
  dl.shape = made->shape.data();
  dl.strides = made->strides.data();
  dl.byte_offset = 0;
  made->managed.manager_ctx = made.get();
  made->managed.deleter = &client::Exported<Managed>::destroy;
  booked.book_map(export_edge(), false);
  if (copied) booked.book_copied(export_edge(), tensor.size_bytes());
  return made;
}

}  // namespace detail

TENON_INLINE abi::DLManagedTensorVersioned* export_tensor(const Tensor& tensor, const ExportOptions& options) {
  bool copied = false;
  auto made = detail::make_export<abi::DLManagedTensorVersioned>(tensor, options, copied);
  made->managed.version = {abi::kMajorVersion, abi::kMinorVersion};
  made->managed.flags = (made->tensor.is_writable() ? 0 : abi::kFlagReadOnly) | (copied ? abi::kFlagIsCopied : 0);
  return &made.release()->managed;
}

TENON_INLINE abi::DLManagedTensor* export_legacy(const Tensor& tensor, const ExportOptions& options) {
  ExportOptions chosen = options;
  if (tensor && size_bytes(tensor.element_type()) == 0) {
    throw Error(Code::kUnimplemented, "dlpack export of " + to_string(tensor) +
                                          ": legacy DLPack cannot say how elements below a byte are packed; "
                                          "export the versioned struct");
  }
  if (tensor && !tensor.is_writable()) {
    if (options.copy == Copy::kNever) {
      throw Error(Code::kPermissionDenied, "dlpack export of " + to_string(tensor) +
                                               ": it is read-only, which legacy DLPack cannot say; export the "
                                               "versioned struct, or allow a copy");
    }
    chosen.copy = Copy::kAlways;
  }
  bool copied = false;
  return &detail::make_export<abi::DLManagedTensor>(tensor, chosen, copied).release()->managed;
}

TENON_INLINE Tensor import_tensor(abi::DLManagedTensorVersioned* managed, Ledger* ledger) {
  if (!managed) throw Error(Code::kInvalidArgument, "dlpack import: a null pointer");
  // version, manager_ctx and deleter keep their place in every version.
  cpu::client::ReleaseGuard guard([managed] {
    if (managed->deleter) managed->deleter(managed);
  });
  client::check_version(managed->version);
  return detail::import_host(managed->dl_tensor, managed->version.minor < 2, false, managed->flags, guard, ledger);
}

TENON_INLINE Tensor import_tensor(abi::DLManagedTensor* managed, Ledger* ledger) {
  if (!managed) throw Error(Code::kInvalidArgument, "dlpack import: a null pointer");
  cpu::client::ReleaseGuard guard([managed] {
    if (managed->deleter) managed->deleter(managed);
  });
  return detail::import_host(managed->dl_tensor, true, true, 0, guard, ledger);
}

}  // namespace dlpack
}  // namespace v1
}  // namespace tenon
