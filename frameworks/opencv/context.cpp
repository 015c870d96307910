// SPDX-License-Identifier: Apache-2.0
// The memory of cv::Mat, the edges, and OpenCV's own copies for proofs.
#include <tenon/frameworks/opencv/context.hpp>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/shape.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {

TENON_INLINE MatMemory::MatMemory(const Properties& properties, const cv::Mat& mat)
    : Memory(opencv::context(), kMatMemory, properties), mat_(mat) {}

TENON_INLINE MatMemory::~MatMemory() { drop_views(); }  // Before the Mat releases the bytes that they refer to.

TENON_INLINE Ref<MatMemory> MatMemory::over(const cv::Mat& mat, bool read_only) {
  return over(mat, read_only, 0, static_cast<std::size_t>(mat.datalimit - mat.datastart));
}
TENON_INLINE Ref<MatMemory> MatMemory::over(const cv::Mat& mat, bool read_only, std::size_t skip,
                                            std::size_t size_bytes) {
  Properties properties;
  properties.size_bytes = size_bytes;
  properties.host = const_cast<uchar*>(mat.datastart) + skip;
  properties.read_only = read_only;
  return Ref<MatMemory>(new MatMemory(properties, mat));
}

namespace detail {

/// Host memory as seen by cv::Mat; mat() makes the header.
class CpuToMat final : public HostEdge {
 public:
  std::string_view name() const override { return "cpu->opencv.mat"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kMatMemory; }

 private:
  std::optional<Refusal> refuses(const Description& from) const override {
    auto layout = lay_out(from.info);
    if (auto* refusal = std::get_if<Refusal>(&layout)) return *refusal;
    return std::nullopt;
  }
};

/// A cv::Mat's bytes are host memory.
class MatToCpu final : public HostEdge {
 public:
  std::string_view name() const override { return "opencv.mat->cpu"; }
  MemoryKind from() const override { return kMatMemory; }
  MemoryKind to() const override { return kCpuMemory; }
};

/// A tensor's bytes as u8, even if its element type has no depth.
TENON_INLINE TensorInfo as_bytes(const Tensor& tensor) {
  TensorInfo bytes{ElementType::kU8, {tensor.size_bytes()}, {}};
  if (const std::size_t item = size_bytes(tensor.element_type()); item != 0) {
    bytes.shape = tensor.shape();
    bytes.strides = tensor.byte_strides();
    bytes.shape.push_back(item);
    bytes.strides.push_back(1);
  }
  return bytes;
}

/// Copies by cv::Mat::copyTo between a tensor and packed bytes. @return false if OpenCV cannot express the tensor.
TENON_INLINE bool copy_by_opencv(const Tensor& tensor, std::byte* packed, bool to_packed) {
  const TensorInfo strided = as_bytes(tensor);
  const TensorInfo dense{ElementType::kU8, strided.shape, packed_strides(ElementType::kU8, strided.shape)};
  auto inside_layout = lay_out(strided), outside_layout = lay_out(dense);
  auto *inside = std::get_if<MatLayout>(&inside_layout), *outside = std::get_if<MatLayout>(&outside_layout);
  if (!inside || !outside) return false;
  // Pixels padded on one side only would be channels on the other, and copyTo would see different types.
  if (inside->dims != outside->dims) *outside = *inside;
  checked(
      "cv::Mat::copyTo", [&] { return "copying " + to_string(tensor); },
      [&] {
        cv::Mat in = header_of(*inside, strided, tensor.data()), out = header_of(*outside, dense, packed);
        (to_packed ? in : out).copyTo(to_packed ? out : in);
        return 0;
      });
  return true;
}

/// Kept by process_wide(): each binary has this code, and the process one context.
struct TheContext {
  Context context{make_ref<MatContext>()};
};

}  // namespace detail

TENON_INLINE DeviceIdentity MatContext::device() const { return host_context()->device(); }

TENON_INLINE std::span<const Edge* const> MatContext::edges() const {
  static const detail::CpuToMat from_cpu;
  static const detail::MatToCpu to_cpu;
  static const Edge* const all[] = {&from_cpu, &to_cpu};
  return all;
}

TENON_INLINE Requirements MatContext::requirements() const {
  Requirements wanted;
  wanted.host_access = true;
  return wanted;
}

TENON_INLINE std::variant<Offer, Refusal> MatContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone)
    return Refusal{"a cv::Mat has no descriptor; allocate in cpu or dmabuf and map that here"};
  return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
}

TENON_INLINE Ref<Memory> MatContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  constexpr std::size_t kOpenCvAlignment = 64, kRow = 1 << 20;
  const std::size_t slack = wanted.alignment > kOpenCvAlignment ? wanted.alignment : 0;
  std::size_t bytes = 0;
  if (__builtin_add_overflow(wanted.size_bytes, wanted.tail_padding + slack, &bytes) || bytes > kRow * INT_MAX) {
    throw Error(Code::kResourceExhausted,
                "opencv: " + std::to_string(wanted.size_bytes) + " bytes are more than a cv::Mat can have");
  }
  bytes = std::max<std::size_t>(bytes, 1);
  // Sizes are ints: larger buffers have several rows.
  const bool one_row = bytes <= INT_MAX;
  cv::Mat mat;
  detail::checked(
      "cv::Mat::create", [&] { return "allocating " + std::to_string(bytes) + " bytes"; },
      [&] {
        mat.create(one_row ? 1 : static_cast<int>((bytes + kRow - 1) / kRow), static_cast<int>(one_row ? bytes : kRow),
                   CV_8U);
        return 0;
      });
  const auto start = reinterpret_cast<std::uintptr_t>(mat.datastart);
  // Not what is left behind an aligned beginning: a consumer of whole pages gets whole pages.
  return MatMemory::over(mat, false, slack ? (slack - start % slack) % slack : 0, bytes - slack);
}

TENON_INLINE void MatContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  if (tensor.size_bytes() != 0 && !detail::copy_by_opencv(tensor, out.data(), true)) ContextImpl::read(tensor, out);
}
TENON_INLINE void MatContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  if (tensor.size_bytes() != 0 && !detail::copy_by_opencv(tensor, const_cast<std::byte*>(in.data()), false))
    ContextImpl::write(tensor, in);
}

TENON_INLINE Context context() {
  static const auto& the = process_wide<detail::TheContext>("tenon.opencv.Context.1");
  return the.context;
}
TENON_INLINE std::vector<Context> contexts() { return {context()}; }

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
